"""The likelihood of `judge_elo` in PyMC, part by part, judge by judge."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from bayesjudge.model import Data
from bayesjudge.models.common.davidson import LOG_TIE, pytensor_log_outcomes
from bayesjudge.models.judge_elo.battle_links import outcomes_of
from bayesjudge.models.judge_elo.likelihood import FLOOR, nodes

__all__ = ["pymc_effects", "pymc_links", "pymc_scores", "pymc_tastes", "pymc_verdicts", "pymc_votes"]


def pymc_tastes(z: Any, data: Data) -> Any:
    """Tastes in standard deviations (J, M): each judge's regress on those of the judges before it."""
    judges = data.size("judge")
    if judges == 1:
        return z
    pairs = [(i, k) for k in range(judges) for i in range(k + 1, judges)]
    shape = np.array([(judges - k) / 2 for _, k in pairs])
    partial = np.float64(2) * pm.Beta("taste_partial", shape, shape, dims="judge_pair") - np.float64(1)
    rows = []
    for i in range(judges):
        taste, left = pt.zeros_like(z[i]), np.float64(1)
        for k in range(i):
            p = partial[pairs.index((i, k))]
            taste, left = taste + p * pt.sqrt(left) * z[k], left * (1 - p**2)
        rows.append(taste + pt.sqrt(left) * z[i])
    return pt.stack(rows)


def pymc_votes(theta: Any, data: Data) -> Any:
    """People's votes; gives the log probabilities of their outcomes, (V, 3)."""
    log_tie = pm.Normal("vote_log_tie", *map(np.float64, LOG_TIE))
    d = theta[data["vote_first"]] - theta[data["vote_second"]]
    log_p = pytensor_log_outcomes(d, log_tie)
    pm.Potential("vote_n", data["vote_n"].astype(float) * log_p)
    return log_p


def pymc_effects(data: Data) -> Any:
    """Coefficients of order, length and family for each judge, (J, effects)."""
    if not data.coords["effect"]:
        return np.zeros((data.size("judge"), 0))
    return pm.Normal("effects", np.float64(0), np.float64(1), dims=("judge", "effect"))


def pymc_verdicts(eye: Any, effects: Any, data: Data) -> list[Any]:
    """Verdicts, on the scale of each judge's own eye (J, M); log probabilities of each judge's (W_j, 3)."""
    if not data.facts["verdicts"]:
        return []
    log_tie = pm.Normal("verdict_log_tie", *map(np.float64, LOG_TIE), dims="verdict_judge")
    every = []
    for k, judge in enumerate(data.facts["verdicts"]):
        rows = data["verdict_judge"] == k
        log_p = pytensor_log_outcomes(
            _differences("verdict", rows, eye[judge], effects[judge], data), log_tie[k]
        )
        every.append(log_p)
        if "verdict_n" in data.arrays:
            pm.Potential(f"verdict_n_{k}", data["verdict_n"][rows].astype(float) * log_p)
    return every


def pymc_scores(eye: Any, effects: Any, data: Data) -> None:
    """Score gaps."""
    noise = pm.HalfNormal("noise", np.float64(1), dims="score_judge")
    freedom = pm.Gamma("freedom", np.float64(2), np.float64(0.1), dims="score_judge")
    for k, judge in enumerate(data.facts["graded"]):
        rows = (data["score_judge"] == k) & (data["score_seen"] > 0)
        d = _differences("score", rows, eye[judge], effects[judge], data)
        gaps = pm.StudentT.dist(nu=freedom[k], mu=d, sigma=noise[k])
        log_p: Any = pm.logp(gaps, data["score"][rows])
        pm.Potential(f"score_{k}", log_p)


def _differences(kind: str, rows: Any, eye: Any, effects: Any, data: Data) -> Any:
    apart = eye[data[f"{kind}_first"][rows]] - eye[data[f"{kind}_second"][rows]]
    x = data[f"{kind}_x"][rows]
    return apart + pt.dot(pt.as_tensor(x), pt.as_tensor(effects)) if x.shape[1] else apart


_ROOT = np.float64(math.sqrt(2))


def pymc_links(votes: Any, verdicts: list[Any], data: Data) -> None:
    """Joint outcomes, from log probabilities of votes (V, 3) and of each judge's verdicts (W_j, 3)."""
    raters = data.size("rater")
    loading = pm.Uniform("loading", np.float64(0), np.float64(1), shape=raters)
    # Verdict patterns of all judges stand one after the other.
    start = np.cumsum([0, *(int(np.sum(data["verdict_judge"] == k)) for k in range(len(verdicts)))])
    said, given = outcomes_of(raters), np.float64(1)
    for rater, log_p in enumerate([votes, *verdicts]):
        place = data["linked_place"][:, rater] - (start[rater - 1] if rater else 0)
        own = _outcomes(log_p[np.maximum(place, 0)], loading[rater])
        seen = data["linked_seen"][:, rater, None, None] > 0
        known: Any = pt.switch(seen, own, np.array([1.0, 0.0, 0.0]))
        given = given * known[:, :, said[:, rater]]
    joint = (nodes()[1][:, None] * given).sum(axis=1)
    pm.Potential("linked_n", data["linked_n"].astype(float) * pt.log(pt.maximum(joint, np.float64(FLOOR))))


def _outcomes(log_p: Any, loading: Any) -> Any:
    """Probabilities (D, Q, 3) at the values of the battle effect."""
    p: Any = pt.exp(log_p)
    shift, apart = loading * nodes()[0], (np.float64(1) - loading**2) ** np.float64(0.5)
    low = (_quantile(p[:, 0], p[:, 1] + p[:, 2])[:, None] + shift) / apart
    high = (shift - _quantile(p[:, 2], p[:, 0] + p[:, 1])[:, None]) / apart
    first, second = _normal(low), _normal(-high)
    tie: Any = pt.maximum(np.float64(1) - first - second, np.float64(0))
    return pt.stack([first, tie, second], axis=-1)


def _normal(x: Any) -> Any:
    tail: Any = pt.erfc(-x / _ROOT)
    return np.float64(0.5) * tail


def _quantile(p: Any, rest: Any) -> Any:
    """Normal quantile of p, from the nearer tail."""
    side: Any = pt.switch(p < rest, np.float64(-1), np.float64(1))
    smaller: Any = pt.minimum(p, rest)
    at: Any = pt.erfcinv(np.float64(2) * smaller)
    return side * _ROOT * at
