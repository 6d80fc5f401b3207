"""Do judges have the same majorities? Agreement beyond chance of every pair, and Krippendorff's α of them all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesjudge.baselines.common.bootstrap import draw_counts
from bayesjudge.baselines.common.columns import Column
from bayesjudge.baselines.common.moments import Array
from bayesjudge.baselines.reliability.means import bootstrap_column, summed_within
from bayesjudge.baselines.reliability.outcomes import Outcomes, majority
from bayesjudge.errors import UsageError
from bayesjudge.maths.agreement import cohen_kappa, folded, gwet_ac1, half_turned, raw_agreement

#: Scales of `krippendorff_alpha`.
METRICS = ("nominal", "ordinal", "interval", "ratio")
#: Statistics of two judges' majorities, in the order of `judge_agreement`.
AGREEMENTS = ("agreement", "kappa", "kappa[linear]", "ac1")
#: Place of the outcomes a, b, tie on the scale a < tie < b of weighted κ.
_SCALE = np.array([0, 2, 1])
#: Note of what is not the textbook's figure: which response is called a is arbitrary.
TURNED = "of the table averaged with its half-turn (a and b exchanged), since no one order of presentation is recorded"
_ALIKE = "both judges have one and the same majority on every item: chance would agree as well"


def krippendorff_alpha(
    ratings: ArrayLike, *, metric: Literal["nominal", "ordinal", "interval", "ratio"] = "nominal"
) -> float:
    """Krippendorff's α of any number of judges (2019, Content Analysis, 4th edition, chapter 12)."""
    if metric not in METRICS:
        raise UsageError(f"no metric {metric!r}; there are {', '.join(METRICS)}")
    ratings = np.asarray(ratings, dtype=np.float64)
    values = ratings[:, (~np.isnan(ratings)).sum(axis=0) >= 2]
    levels, code = np.unique(values[~np.isnan(values)], return_inverse=True)
    if len(levels) < 2:
        return float("nan")
    if metric == "ratio" and levels[0] < 0:
        raise UsageError("the ratio scale has no negative values; use metric='interval'")
    if metric == "interval":
        return _interval_alpha(values)
    counts = np.zeros((values.shape[1], len(levels)))
    np.add.at(counts, (np.nonzero(~np.isnan(values))[1], code), 1.0)
    distance = _DISTANCES[metric](levels, counts.sum(axis=0))
    disagreement = ((counts @ distance * counts).sum(axis=1) / (counts.sum(axis=1) - 1.0)).sum()
    total = counts.sum(axis=0)
    return float(1.0 - (total.sum() - 1.0) * disagreement / (total @ distance @ total))


def _interval_alpha(values: Array) -> float:
    """The same for squared differences, whose sums are variances and need no table of all pairs."""
    size = (~np.isnan(values)).sum(axis=0)
    within = size * np.nanvar(values, axis=0)
    everything = values[~np.isnan(values)]
    disagreement = (size * within / (size - 1.0)).sum() / len(everything)
    return float(1.0 - disagreement * (len(everything) - 1.0) / (len(everything) * everything.var()))


def _ordinal(_: Array, total: Array) -> Array:
    middle = np.cumsum(total) - total / 2.0
    return np.asarray(np.subtract.outer(middle, middle) ** 2)


def _ratio_scale(levels: Array, _: Array) -> Array:
    total = np.add.outer(levels, levels)
    return np.divide(np.subtract.outer(levels, levels), total, out=np.zeros_like(total), where=total != 0) ** 2


_DISTANCES: Mapping[str, Callable[[Array, Array], Array]] = {
    "nominal": lambda levels, _: 1.0 - np.eye(len(levels)),
    "ordinal": _ordinal,
    "ratio": _ratio_scale,
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Agreement:
    """Two judges under one condition: `AGREEMENTS` with intervals, and the table (3, 3) of majorities.

    Rows of the table are the first judge's majority a, tie, b. Which response is called a is arbitrary unless every
    trial showed the same one first, or verdicts are of one answer each; elsewhere the statistics are those of
    `half_turned`.
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
    fixed = all(one.single for one in outcomes) or _one_order(outcomes)
    for left, right in pairs:
        table = _table(left, right)
        if table.sum():
            # Cells in an order that depends on the data, and one stream for all: names change no limit.
            sides = (table, table.T) if fixed else (folded(table), folded(table.T))
            cells = max(sides, key=lambda side: side.tolist()).reshape(-1)
            drawn = _drawn(left, right, cells, replicates=bootstrap, rng=np.random.default_rng(seed))
            point = _statistics(cells[None, :], fixed=fixed)[0]
            reasons = [_ALIKE if np.isnan(value) else "" for value in point]
            size = np.full(len(point), float(table.sum()))
            cautions = ["" if fixed or name == "agreement" else TURNED for name in AGREEMENTS]
            shape: dict[str, Any] = {"n": size, "prob": prob, "bounds": (-1.0, 1.0)}
            statistics = _statistics(drawn, fixed=fixed)
            column = bootstrap_column(point, statistics, reasons=reasons, cautions=cautions, **shape)
            yield Agreement(judges=(left.judge, right.judge), group=left.group, column=column, table=table)


def _one_order(outcomes: Sequence[Outcomes]) -> bool:
    """Whether every trial is known to have shown the same response first, so that a and b mean something."""
    shown = np.sum([one.ordered.sum(axis=(0, 2)) for one in outcomes], axis=0)
    total = sum(int(one.n.sum()) for one in outcomes)
    return bool(max(shown) == total)


def alpha_of_majorities(outcomes: Sequence[Outcomes], items: int) -> float:
    """Krippendorff's nominal α of all judges' majorities under one condition."""
    ratings = np.full((len(outcomes), items), np.nan)
    for row, one in zip(ratings, outcomes, strict=True):
        row[one.item] = majority(one.n)[0]
    return krippendorff_alpha(ratings) if len(outcomes) > 1 else float("nan")


def _table(left: Outcomes, right: Outcomes) -> NDArray[np.int64]:
    """Common items by the majority of both judges, (3, 3)."""
    return np.bincount(_cells(left, right)[0], minlength=9).reshape(3, 3)


def _cells(left: Outcomes, right: Outcomes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cell of each common item in the table of majorities, and its place among the first judge's items."""
    _, ours, theirs = np.intersect1d(left.item, right.item, return_indices=True)
    first, second = _SCALE[majority(left.n[ours])[0]], _SCALE[majority(right.n[theirs])[0]]
    return 3 * first + second, ours


def _drawn(
    left: Outcomes, right: Outcomes, cells: NDArray[np.int64], *, replicates: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Bootstrap tables (B, 9), of items or of clusters of them; of one cluster there are none."""
    if left.cluster is None:
        return draw_counts(cells, replicates, rng)
    cell, ours = _cells(left, right)
    tables = summed_within(np.eye(9, dtype=np.int64)[cell], left.cluster[ours])
    drawn = draw_counts(np.ones(len(tables), dtype=np.int64), replicates if len(tables) > 1 else 0, rng)
    return np.asarray(drawn @ tables)


def _statistics(cells: NDArray[np.int64], *, fixed: bool) -> Array:
    """`AGREEMENTS` (B, 4) of tables (B, 9)."""
    tables = cells.reshape(-1, 3, 3).astype(np.float64)
    tables = tables if fixed else half_turned(tables)
    return np.stack(
        [raw_agreement(tables), cohen_kappa(tables), cohen_kappa(tables, weights="linear"), gwet_ac1(tables)], axis=1
    )
