"""Do two judges have the same majorities? Agreement and chance-corrected agreement of every pair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from bayesjudge.baselines.common.columns import Column
from bayesjudge.baselines.reliability.agreement import (
    cohen_kappa,
    gwet_ac1,
    krippendorff_alpha,
    raw_agreement,
)
from bayesjudge.baselines.reliability.outcomes import Outcomes, bootstrap_column, bootstrap_sums, majority

__all__ = ["AGREEMENTS", "Agreement", "alpha_of_majorities", "judge_agreement"]

type Array = NDArray[np.float64]

#: Statistics of two judges' majorities, in the order of `judge_agreement`.
AGREEMENTS = ("agreement", "kappa", "kappa[linear]", "ac1")
#: Place of the outcomes a, b, tie on the scale a < tie < b of weighted κ.
_SCALE = np.array([0, 2, 1])
_ALIKE = "both judges have one and the same majority on every item: chance would agree as well"


@dataclass(frozen=True, eq=False, kw_only=True)
class Agreement:
    """Two judges under one condition: `AGREEMENTS` with intervals, and the table (3, 3) of majorities.

    Rows of the table are the first judge's majority a, tie, b.
    """

    judges: tuple[str, str]
    group: str
    column: Column
    table: NDArray[np.int64]


def judge_agreement(
    outcomes: Sequence[Outcomes], *, prob: float, bootstrap: int, seed: np.random.SeedSequence
) -> Iterator[Agreement]:
    """Agreement of every two judges under every condition that both were asked under, on common items."""
    pairs = [(left, right) for left, right in combinations(outcomes, 2) if left.condition == right.condition]
    for (left, right), stream in zip(pairs, seed.spawn(len(pairs)), strict=True):
        cells = _cells(left, right)
        if len(cells):
            rng = np.random.default_rng(stream)
            replicates = bootstrap_sums(cells, replicates=bootstrap, rng=rng)
            point = _statistics(cells.sum(axis=0)[None, :])[0]
            reasons = [_ALIKE if np.isnan(value) else "" for value in point]
            size = np.full(len(point), float(len(cells)))
            column = bootstrap_column(point, _statistics(replicates), n=size, prob=prob, bounds=(-1.0, 1.0),
                                      reasons=reasons)  # fmt: skip
            yield Agreement(judges=(left.judge, right.judge), group=left.group, column=column,
                            table=cells.sum(axis=0).reshape(3, 3).astype(np.int64))  # fmt: skip


def alpha_of_majorities(outcomes: Sequence[Outcomes], items: int) -> float:
    """Krippendorff's nominal α of all judges' majorities under one condition."""
    ratings = np.full((len(outcomes), items), np.nan)
    for row, one in zip(ratings, outcomes, strict=True):
        row[one.item] = majority(one.n)[0]
    return krippendorff_alpha(ratings) if len(outcomes) > 1 else float("nan")


def _cells(left: Outcomes, right: Outcomes) -> Array:
    """Which of the nine combinations of majorities each common item shows: (I, 9), one 1 in each row."""
    _, ours, theirs = np.intersect1d(left.item, right.item, return_indices=True)
    first, second = _SCALE[majority(left.n[ours])[0]], _SCALE[majority(right.n[theirs])[0]]
    return np.asarray(np.eye(9)[3 * first + second])


def _statistics(cells: Array) -> Array:
    """`AGREEMENTS` (B, 4) of tables (B, 9)."""
    tables = cells.reshape(-1, 3, 3)
    return np.stack(
        [raw_agreement(tables), cohen_kappa(tables), cohen_kappa(tables, weights="linear"), gwet_ac1(tables)],
        axis=1,
    )
