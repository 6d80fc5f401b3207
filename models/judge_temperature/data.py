"""From counts of battles to what `judge_temperature` sees: votes with and against each gap.

Hundreds of votes on one judge fix log β but not how it is made of μ and τ z: in units of τ that is a curved
ridge, where chains diverge. The votes on a judge's gaps are summed up by a normal guess at log β.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from bayesjudge.counts.battles.clusters import BattleClusters, clustered_variance
from bayesjudge.counts.battles.counts import BattleCounts
from bayesjudge.errors import UsageError
from bayesjudge.maths.battle_sums import BattleSums
from bayesjudge.maths.definite import nearest_definite
from bayesjudge.maths.prompt_effects import shared_meat
from bayesjudge.maths.strengths import fit_strengths
from bayesjudge.model import Data
from bayesjudge.models.common.units import Guess, Units

#: What votes that are not independent add to the variance of log β, (judge, group); 0 in replicated data.
ADDED = "added"
#: What battles that share prompts add to the covariance of a judge's soft strengths, (judge, system, system); ditto.
SOFT_ADDED = "strength_added"


def prepare(counts: BattleCounts, *, by_group: bool) -> Data:
    """Distinct gaps of each judge (and group) with their votes, and all gaps by pair for soft targets.

    A battle is turned so that its gap is positive: outcome 0 is a vote with the judge, outcome 1 one
    against. A gap of 0 says nothing about β and stays out of the votes.
    """
    rows = counts.judged.keep(np.isfinite(counts.judged.gap))
    if not len(rows):
        raise UsageError(
            "no judge gave scores, and a temperature is about score gaps; use bradley_terry or judge_elo for verdicts"
        )
    scoring = np.unique(rows.judge)
    judge = np.searchsorted(scoring, rows.judge)
    group = rows.group if by_group else np.zeros_like(rows.group)
    groups = counts.groups if by_group else ("all",)
    scale = np.array(
        [np.sqrt(np.average(rows.gap[judge == j] ** 2, weights=rows.n[judge == j])) for j in range(len(scoring))]
    )
    names = tuple(counts.judges[j] for j in scoring)
    if not np.all(scale > 0):
        raise UsageError(f"judge {names[int(np.argmin(scale))]!r} scored every battle even; leave it out")
    n = np.stack([rows.votes[:, 0] * rows.n, rows.votes[:, 2] * rows.n], axis=1)
    votes = _votes(judge, group, rows.gap / scale[judge], n)
    guess = _guess(votes, judges=len(names), groups=len(groups))
    log_beta = guess["pull"] / np.where(guess["information"] > 0, guess["information"], 1.0)
    rate = np.exp(log_beta) / scale[:, None]
    added, df = _shared_errors(counts, scoring, guess["information"], rate, by_group=by_group)
    soft_added, soft_df = _shared_by_targets(counts, scoring, rate, by_group=by_group)
    arrays = (
        votes
        | guess
        | {
            ADDED: added,
            "cluster_df": df,
            SOFT_ADDED: soft_added,
            "strength_df": soft_df,
            "scale": scale,
            "soft_first": rows.first,
            "soft_second": rows.second,
            "soft_judge": judge,
            "soft_group": group,
            "soft_gap": rows.gap,
            "soft_n": rows.n,
        }
    )
    dims = {name: ("pattern",) if name.startswith("soft") else ("outcome",) for name in arrays}
    return Data(
        arrays=arrays,
        dims={
            **dims,
            "total": ("strata",),
            "scale": ("judge",),
            **dict.fromkeys([*guess, ADDED, "cluster_df"], ("judge", "group")),
            SOFT_ADDED: ("judge", "system", "other_system"),
            "strength_df": ("judge",),
        },
        coords={
            "judge": names,
            "group": groups,
            "system": counts.models,
            "other_system": counts.models,
            "outcome": tuple(range(len(votes["n"]))),
            "strata": tuple(range(len(votes["total"]))),
            "pattern": tuple(range(len(rows))),
        },
        observed="n",
        weights="n",
        ragged=("outcome", "strata", "pattern"),
        facts={},
        units=_units(counts, rows, judge, names),
    )


def _votes(judge: Any, group: Any, gap: Any, n: Any) -> dict[str, Any]:
    """Outcomes (2 a stratum): a vote with the judge, one against; strata are distinct |gaps|."""
    n = np.where(gap[:, None] < 0, n[:, ::-1], n)
    voted = (n.sum(axis=1) > 0) & (gap != 0)
    if not voted.any():
        raise UsageError("no human vote that is not a tie has a score gap; β is estimated from those")
    keys = np.column_stack([judge, group, np.abs(gap)])[voted]
    strata, place = np.unique(keys, axis=0, return_inverse=True)
    counted = np.zeros((len(strata), 2), dtype=np.int64)
    np.add.at(counted, place.reshape(-1), n[voted])
    code = np.repeat(np.arange(len(strata)), 2)
    return {
        "judge": strata[code, 0].astype(np.int64),
        "group": strata[code, 1].astype(np.int64),
        "signed_gap": strata[code, 2] * np.tile([1.0, -1.0], len(strata)),
        "n": counted.reshape(-1),
        "stratum": code,
        "total": counted.sum(axis=1),
    }


def _guess(votes: dict[str, Any], *, judges: int, groups: int) -> dict[str, Any]:
    """What the votes say of every judge's log β in every group, (judges, groups)."""
    gap, cell = votes["signed_gap"][::2], (votes["judge"] * groups + votes["group"])[::2]
    found = guessed(gap, votes["n"].reshape(-1, 2), cell, judges * groups)
    return {"information": found.information.reshape(judges, groups), "pull": found.pull.reshape(judges, groups)}


def _shared_errors(
    counts: BattleCounts, judges: Any, information: Any, rate: Any, *, by_group: bool
) -> tuple[Any, Any]:
    """What votes that share prompts, or answers, add to each log β, in variances of independent votes; and its df."""
    added, freedom = np.zeros(information.shape), np.full(information.shape, np.inf)
    for j, g in zip(*np.nonzero(information), strict=True):
        battles, *columns = (
            _voted(rows.of(int(judges[j]) + 1), g if by_group else None) for rows in (counts.battles, *counts.clusters)
        )
        if not columns or min(rows.count() for rows in columns) < 2:
            continue

        def score(rows: BattleClusters, beta: float = rate[j, g]) -> NDArray[np.float64]:
            won, lost = rows.votes[:, 0], rows.votes[:, 2]
            return np.asarray(beta * rows.gap * (won - (won + lost) * expit(beta * rows.gap)))

        _, variance, freedom[j, g] = clustered_variance(battles, columns, score)
        added[j, g] = max(variance / information[j, g] - 1, 0.0)
    return added, freedom


def _shared_by_targets(counts: BattleCounts, judges: Any, rate: Any, *, by_group: bool) -> tuple[Any, Any]:
    """What clusters add to the covariance of each judge's soft strengths, in squared logits, 0 or more; and its df.

    That of hard labels, with σ(βs) for the label (`bradley_terry/clusters.py`).
    """
    models = len(counts.models)
    added, freedom = np.zeros((len(judges), models, models)), np.full(len(judges), np.inf)
    for j, code in enumerate(judges):
        battles, *columns = (rows.of(int(code) + 1) for rows in (counts.battles, *counts.clusters))
        battles, *columns = (rows.keep(np.isfinite(rows.gap)) for rows in (battles, *columns))
        if not columns or min(rows.count() for rows in columns) < 2:
            continue
        graded = np.union1d(battles.first, battles.second)

        def sums(rows: BattleClusters, own: Any = rate[j], graded: Any = graded) -> BattleSums:
            target = expit(own[rows.group if by_group else np.zeros_like(rows.group)] * rows.gap)
            first, second = (np.searchsorted(graded, side) for side in (rows.first, rows.second))
            return replace(rows, first=first, second=second).sums(models=len(graded), target=target)

        at = fit_strengths(sums(battles))
        single = at.grouped(sums(battles.single())).meat
        more = shared_meat(at, [sums(rows) for rows in columns], single) - single
        added[j][np.ix_(graded, graded)] = nearest_definite(at.covariance(more))
        freedom[j] = min(rows.count() for rows in columns) - 1
    return added, freedom


def _voted(rows: BattleClusters, group: int | None) -> BattleClusters:
    """Rows of a judge with a gap and a vote that is no tie, of one group or of all."""
    there = (rows.votes[:, 0] + rows.votes[:, 2] > 0) & np.isfinite(rows.gap)
    return rows.keep(there if group is None else there & (rows.group == group))


def _units(counts: BattleCounts, rows: Any, judge: Any, names: tuple[str, ...]) -> dict[str, int]:
    """Votes without ties next to each judge's gaps, and battles of each model under each judge."""
    voted = (rows.votes[:, 0] + rows.votes[:, 2]) * rows.n
    found = {name: int(voted[judge == j].sum()) for j, name in enumerate(names)}
    for j, name in enumerate(names):
        for m, model in enumerate(counts.models):
            mine = (judge == j) & ((rows.first == m) | (rows.second == m))
            found[f"{name} | {model}"] = int(rows.n[mine].sum())
    return found


#: Steps of Fisher scoring, and how far one may go: the prior N(0, 1) keeps a few votes from infinity.
STEPS, FURTHEST = 50, 1.0


def guessed(gap: NDArray[np.float64], n: NDArray[np.int64], cell: Any, cells: int) -> Guess:
    """What votes say of log β in each cell, a normal at the mode under log β ~ N(0, 1).

    cell: Judge (and group) of each, below ``cells``.

    Examples
    --------
    >>> found = guessed(np.array([1.0, 1.0]), np.array([[800, 200], [0, 0]]), np.array([0, 1]), 2)
    >>> (found.pull[0] / found.information[0]).round(3), np.log(np.log(4)).round(3), found.information[1]
    (np.float64(0.327), np.float64(0.327), np.float64(0.0))
    """
    total, log_beta = n.sum(axis=1), np.zeros(cells)
    for _ in range(STEPS):
        score, information = _derivatives(gap, n[:, 0], total, cell, log_beta)
        step = (score - log_beta) / (information + 1)
        log_beta = log_beta + np.clip(step, -FURTHEST, FURTHEST)
    score, information = _derivatives(gap, n[:, 0], total, cell, log_beta)
    return Guess(information=information, pull=information * log_beta + score)


def _derivatives(gap: Any, votes: Any, total: Any, cell: Any, log_beta: Any) -> tuple[Any, Any]:
    """Score and expected information of log β in each cell."""
    logit = np.exp(log_beta[cell]) * gap
    p = expit(logit)
    parts = logit * (votes - total * p), total * p * (1 - p) * logit**2
    score, information = (np.bincount(cell, part, minlength=len(log_beta)) for part in parts)
    return score, information


def judge_units(guess: Guess, mu: Any, tau: Any, omega: Any) -> Units:
    """Of what each judge adds to μ, (..., judges, 1); groups that differ by ω blur the guess."""
    return guess.around(mu).blurred(omega).over(-1, keepdims=True).units(tau)


def group_units(guess: Guess, log_beta: Any, omega: Any) -> Units:
    """Of what each group adds to its judge's log β, (..., judges, groups)."""
    return guess.around(log_beta).units(omega)
