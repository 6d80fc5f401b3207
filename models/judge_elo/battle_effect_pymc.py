"""The shared battle effect in PyMC: joint outcome by joint outcome, without the product in two halves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from bayesjudge.model import Data
from bayesjudge.models.judge_elo.battle_effect import FLOOR, nodes
from bayesjudge.models.judge_elo.battle_links import outcomes_of

__all__ = ["pymc_links"]

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
