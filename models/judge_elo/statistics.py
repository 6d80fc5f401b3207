"""Test quantities of `judge_elo`: of people's votes, of each judge's verdicts, and of score gaps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.model import Data, Statistic
from bayesjudge.models.common import battle_statistics
from bayesjudge.models.common.battle_rows import resampled
from bayesjudge.models.common.battle_statistics import Patterns
from bayesjudge.models.judge_elo.battle_links import agreement, margin
from bayesjudge.models.judge_elo.results import votes_of

__all__ = ["STATISTICS", "bootstrap"]

type Seen = Mapping[str, Any]
type PatternStatistic = Callable[[Any, Patterns], dict[str, Any]]

#: Shares of gaps that lie below these quantiles' values are compared: the shape of their distribution.
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def bootstrap(data: Data, *, replicates: int, seed: int) -> dict[str, Any]:
    """Votes and verdicts resampled within their patterns, gaps within judge and pair; (replicates, ...)."""
    found: dict[str, Any] = {
        name: resampled(np.asarray(data[name]), replicates=replicates, seed=seed + k)
        for k, name in enumerate(("vote_n", "verdict_n", "linked_n")) if name in data.arrays
    }  # fmt: skip
    if "score" in data.arrays:
        found["score"] = _resampled_gaps(data, replicates, np.random.default_rng(seed + 2))
    return found


def _resampled_gaps(data: Data, replicates: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Battles of one judge and pair change places with replacement."""
    keys = np.column_stack([data["score_judge"], data["score_first"], data["score_second"]])
    _, group, size = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    group = group.reshape(-1)
    order = np.argsort(group, kind="stable")
    start = np.cumsum(size) - size
    pick = (rng.random((replicates, len(order))) * size[group[order]]).astype(np.int64)
    drawn = np.empty((replicates, len(order)))
    drawn[:, order] = np.asarray(data["score"])[order][start[group[order]] + pick]
    return drawn


def _of_votes(statistic: PatternStatistic) -> Statistic:
    def voted(seen: Seen, data: Data) -> dict[str, Any]:
        design, n = Patterns.of(data, "vote_"), seen["vote_n"]
        if "linked_n" in seen:
            n = n + margin(seen["linked_n"], data, 0)
            design = replace(design, total=votes_of(data).sum(axis=1))
        return statistic(n, design)

    return voted


def _of_verdicts(statistic: PatternStatistic) -> Statistic:
    def judged(seen: Seen, data: Data) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for k, judge in enumerate(data.coords["verdict_judge"]):
            rows = np.asarray(data["verdict_judge"]) == k
            n = margin(seen["linked_n"], data, k + 1) if "linked_n" in seen else seen["verdict_n"]
            own = statistic(n[..., rows, :], Patterns.of(data, "verdict_").keep(rows))
            found |= {f"{judge}: {unit}": value for unit, value in own.items()}
        return found

    return judged


def _agreement(seen: Seen, data: Data) -> dict[str, Any]:
    """Battles on which two raters say the same, where battles are kept apart."""
    return agreement(seen["linked_n"], data) if "linked_n" in seen else {}


def _gaps(seen: Seen, data: Data) -> dict[str, Any]:
    """Quantiles of each judge's score gaps, in standard deviations."""
    if "score" not in seen:
        return {}
    found: dict[str, Any] = {}
    for k, judge in enumerate(data.coords["score_judge"]):
        own = seen["score"][..., np.asarray(data["score_judge"]) == k]
        at = np.quantile(own, QUANTILES, axis=-1)
        found |= {f"{judge}: {share:.0%} quantile": value for share, value in zip(QUANTILES, at, strict=True)}
    return found


def _gap_of_first_shown(seen: Seen, data: Data) -> dict[str, Any]:
    """Mean gap in favour of the answer that was shown first."""
    if "score" not in seen:
        return {}
    found: dict[str, Any] = {}
    order = np.asarray(data["score_order"])
    for k, judge in enumerate(data.coords["score_judge"]):
        rows = (np.asarray(data["score_judge"]) == k) & (order != 0)
        if rows.any():
            found[str(judge)] = (seen["score"][..., rows] * order[rows]).mean(axis=-1)
    return found


STATISTICS: Mapping[str, Statistic] = {
    "votes: score of a model": _of_votes(battle_statistics.model_scores),
    "votes: win matrix": _of_votes(battle_statistics.pair_scores),
    "votes: ties": _of_votes(battle_statistics.tie_rate),
    "votes: cycles": _of_votes(battle_statistics.cycle_rate),
    "verdicts: score of a model": _of_verdicts(battle_statistics.model_scores),
    "verdicts: win matrix": _of_verdicts(battle_statistics.pair_scores),
    "verdicts: ties": _of_verdicts(battle_statistics.tie_rate),
    "verdicts: cycles": _of_verdicts(battle_statistics.cycle_rate),
    "verdicts: shown first": _of_verdicts(battle_statistics.shown_first),
    "battles: agreement of two raters": _agreement,
    "scores: distribution of gaps": _gaps,
    "scores: gap of the answer shown first": _gap_of_first_shown,
}
