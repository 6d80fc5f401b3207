"""What each battle tells Bradley–Terry: a target between 0 and 1 for the first model (METHODS 4.1)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.counts.battles.counts import BattleCounts
from bayesjudge.counts.battles.patterns import JudgedBattles
from bayesjudge.errors import UsageError
from bayesjudge.maths.battle_sums import BattleSums
from bayesjudge.maths.temperature import soft_probability

HARD, SOFT = "hard-elo", "soft-elo"
_SMOOTHING = re.compile(r"label-smoothing\[(0?\.\d+)\]")

type Ints = NDArray[np.int64]
type Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Targets:
    """Battles by pair and target; R patterns sorted by pair, P pairs.

    first, second: Codes of the models of each pair that met.
    pair: Pair of each pattern, ascending.
    target: Target for the pair's first model.
    n: Battles that show the pattern.
    """

    first: Ints
    second: Ints
    pair: Ints
    target: Floats
    n: Ints

    @classmethod
    def of(cls, first: Ints, second: Ints, target: Floats, n: Ints) -> Targets:
        """Merge rows of the same pair and target; rows without battles go."""
        keep = n > 0
        first, second, target, n = first[keep], second[keep], target[keep], n[keep]
        pairs, pair = np.unique(np.stack([first, second]), axis=1, return_inverse=True)
        values, value = np.unique(target, return_inverse=True)
        codes, place = np.unique(pair.reshape(-1) * max(len(values), 1) + value, return_inverse=True)
        return cls(
            first=pairs[0],
            second=pairs[1],
            pair=codes // max(len(values), 1),
            target=values[codes % max(len(values), 1)],
            n=np.bincount(place.reshape(-1), weights=n, minlength=len(codes)).astype(np.int64),
        )

    def by_pair(self, weight: NDArray[Any]) -> tuple[Floats, Floats]:
        """Battles and sums of targets (..., P) for weights (..., R) of the patterns."""
        starts = np.searchsorted(self.pair, np.arange(len(self.first)))
        weight = np.asarray(weight, dtype=np.float64)
        if not len(self.first):
            return np.zeros((*weight.shape[:-1], 0)), np.zeros((*weight.shape[:-1], 0))
        return (np.add.reduceat(weight, starts, axis=-1), np.add.reduceat(weight * self.target, starts, axis=-1))

    def spread(self) -> Floats:
        """Sum of squared targets of each pair (P,)."""
        return self.by_pair(self.n * self.target)[1]

    def battles(self, models: int) -> Ints:
        """Battles of each model (M,)."""
        n = self.by_pair(self.n)[0]
        both = np.bincount(self.first, n, models) + np.bincount(self.second, n, models)
        return both.astype(np.int64)


def human_targets(counts: BattleCounts) -> Targets:
    """People's votes: 1, ½ for a tie, 0."""
    rows = counts.human
    if not rows.votes.sum():
        raise UsageError("there are no human votes; human Elo needs some")
    outcome = np.tile([1.0, 0.5, 0.0], len(rows))
    return Targets.of(np.repeat(rows.first, 3), np.repeat(rows.second, 3), outcome, rows.votes.reshape(-1))


def judge_targets(counts: BattleCounts, judge: str, method: str, *, beta: float = np.nan) -> Targets:
    """One judge's targets under a method's name.

    method: ``hard-elo``, ``soft-elo`` or ``label-smoothing[c]`` with ½ < c < 1.
    beta: Temperature of ``soft-elo``; infinite gives the sign of the gap.
    """
    rows = counts.judged_by(judge)
    rows = graded(rows, judge) if method == SOFT else rows
    target = row_targets(rows.label, rows.gap, method, beta)
    return Targets.of(rows.first, rows.second, target, rows.n)


def row_targets(label: Floats, gap: Floats, method: str, beta: float) -> Floats:
    """Targets of labels and gaps (R,) under a method's name; see `judge_targets`."""
    c = smoothing(method)
    if method == HARD:
        return label
    if method == SOFT:
        return soft_probability(gap, beta)
    return np.where(label == 1, c, np.where(label == 0, 1 - c, 0.5))


def clustered_targets(
    counts: BattleCounts, judge: str | None, method: str = HARD, *, beta: float = np.nan
) -> tuple[BattleSums, ...]:
    """The same targets by cluster: single battles first, then one table for each column that clusters.

    judge: None for people's votes.
    """
    if not counts.clusters:
        return ()
    tables = [rows.of(counts.rater(judge)) for rows in (counts.battles, *counts.clusters)]
    if method == SOFT:
        tables = [rows.keep(~np.isnan(rows.gap)) for rows in tables]
    return tuple(
        rows.sums(models=len(counts.models), target=row_targets(rows.label, rows.gap, method, beta)) for rows in tables
    )


def graded(rows: JudgedBattles, judge: str) -> JudgedBattles:
    """Rows with a gap; refuses a judge that gave none."""
    kept = rows.keep(~np.isnan(rows.gap))
    if not len(kept):
        raise UsageError(
            f"judge {judge!r} gave verdicts but no scores: soft-elo and β need score gaps; "
            "use hard-elo or label-smoothing[0.75]"
        )
    return kept


def smoothing(method: str) -> float:
    """The constant c in ``label-smoothing[c]``, NaN for the other two methods."""
    if method in {HARD, SOFT}:
        return float("nan")
    found = _SMOOTHING.fullmatch(method)
    if found is None or not 0.5 < float(found[1]) < 1:
        raise UsageError(
            f"no method {method!r}; there are hard-elo, soft-elo and label-smoothing[c] with c "
            "between 0.5 and 1, for instance label-smoothing[0.75]"
        )
    return float(found[1])
