"""Outcomes of one judge under one condition: what flip rates, majorities and position bias are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesjudge.baselines.common.bootstrap import draw_counts, percentile
from bayesjudge.baselines.common.columns import Column, Context, finished
from bayesjudge.counts.conditions import Condition, group_names
from bayesjudge.counts.trials import TrialCounts

type Counts = NDArray[np.int64]
type Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcomes:
    """Trials of one judge under one condition on I items.

    group: The condition in words; empty where the table has only one.
    item: Codes into `TrialCounts.items`.
    n: Trials that ended a, b, tie, whatever the order.
    ordered: The same of the trials whose order is known: a shown first, b shown first.
    """

    judge: str
    condition: Condition
    group: str
    item: Counts
    n: Counts
    ordered: Counts

    @property
    def trials(self) -> Counts:
        """Trials (I,) of each item."""
        return np.asarray(self.n.sum(axis=1))

    @property
    def position(self) -> Counts:
        """Trials (I, 3) with known order that the first response won, the second won, or that tied."""
        first, second = self.ordered[:, 0], self.ordered[:, 1]
        return np.asarray(first + second[:, [1, 0, 2]])


def judge_outcomes(counts: TrialCounts) -> Iterator[Outcomes]:
    """Outcomes of every judge under every condition that it was asked under, in the order of the codes."""
    groups = group_names(counts.conditions)
    for j, judge in enumerate(counts.judges):
        for c, condition in enumerate(counts.conditions):
            rows = (counts.judge == j) & (counts.condition == c)
            if rows.any():
                item, place = np.unique(counts.item[rows], return_inverse=True)
                n = np.zeros((len(item), 3), dtype=np.int64)
                np.add.at(n, place, counts.n[rows])
                ordered = np.zeros((len(item), 2, 3), dtype=np.int64)
                known = counts.order[rows] != 0
                side = (counts.order[rows][known] < 0).astype(np.int64)
                np.add.at(ordered, (place[known], side), counts.n[rows][known])
                yield Outcomes(judge=judge, condition=condition, group=groups[c], item=item, n=n, ordered=ordered)


def flip_rate(n: Counts) -> Array:
    """Share (I,) of an item's trials outside its most frequent outcome, ``1 − max/N``; NaN without trials.

    Zero by definition for a single trial, and too low for few: the most frequent outcome of a sample is
    chosen to fit it. `disagreement` has no such bias.
    """
    return 1.0 - _share(n.max(axis=1), n.sum(axis=1))


def disagreement(n: Counts) -> Array:
    """Probability (I,) that two of an item's trials differ, ``1 − Σ n_o(n_o − 1)/(N(N − 1))``, unbiased.

    NaN for fewer than two trials.
    """
    total = n.sum(axis=1)
    return 1.0 - _share((n * (n - 1)).sum(axis=1), total * (total - 1))


def within_order(statistic: Callable[[Counts], Array], ordered: Counts) -> Array:
    """Mean over an item's orders (I,) of a statistic of the trials in one order; NaN where none has it.

    What differs between trials in the same order is the judge's own chance; over all trials, its position
    bias adds to that.
    """
    sides = np.stack([statistic(ordered[:, 0]), statistic(ordered[:, 1])], axis=1)
    known = ~np.isnan(sides)
    return np.asarray(
        np.divide(
            np.where(known, sides, 0.0).sum(axis=1),
            known.sum(axis=1),
            out=np.full(len(sides), np.nan),
            where=known.any(axis=1),
        )
    )


def entropy(n: Counts) -> Array:
    """Shannon entropy (I,) of the observed outcomes, in bits: 0 to log2(3)."""
    share = _share(n, n.sum(axis=1)[:, None])
    return np.asarray(-(share * np.log2(np.where(share > 0, share, 1.0))).sum(axis=1) + 0.0)


def majority(n: Counts) -> tuple[Counts, NDArray[np.bool_]]:
    """Most frequent outcome (I,) as a code, and where several are equally frequent: a tie (the last code)."""
    shared = (n == n.max(axis=1, keepdims=True)).sum(axis=1) > 1
    return np.where(shared, n.shape[1] - 1, n.argmax(axis=1)), shared


def _share(part: NDArray[np.int64], whole: NDArray[np.int64]) -> Array:
    shape = np.broadcast_shapes(part.shape, whole.shape)
    return np.asarray(np.divide(part, whole, out=np.full(shape, np.nan), where=whole > 0))


#: Numbers in the largest temporary array.
_LARGEST = 4_000_000


def bootstrap_sums(values: Array, *, replicates: int, rng: np.random.Generator) -> Array:
    """Sums (B, S) of values (I, S) over items drawn with replacement, B times."""
    blocks = [weights @ values for weights in _weights(len(values), replicates, rng)]
    return np.concatenate(blocks) if blocks else np.zeros((0, values.shape[1]))


def item_means(values: Array) -> Array:
    """Means (S,) of values (I, S) over the items that have one; NaN where none has."""
    known = (~np.isnan(values)).sum(axis=0)
    out = np.full(values.shape[1], np.nan)
    return np.asarray(np.divide(np.nansum(values, axis=0), known, out=out, where=known > 0))


def resampled_means(values: Array, *, replicates: int, rng: np.random.Generator) -> Array:
    """Bootstrap means (B, S) of values (I, S), each over the drawn items that have one."""
    known = ~np.isnan(values)
    # Where no value is missing the sizes are known; drawing them again would double the work.
    whole = known.all(axis=0)
    stacked = np.hstack([np.where(known, values, 0.0), known[:, ~whole].astype(np.float64)])
    sums = bootstrap_sums(stacked, replicates=replicates, rng=rng)
    sizes = np.full((len(sums), values.shape[1]), float(len(values)))
    sizes[:, ~whole] = sums[:, values.shape[1] :]
    top = sums[:, : values.shape[1]]
    return np.asarray(np.divide(top, sizes, out=np.full_like(top, np.nan), where=sizes > 0))


def bootstrap_column(
    point: Array,
    replicates: Array,
    *,
    n: Array,
    prob: float,
    bounds: tuple[float, float],
    reasons: list[str] | None = None,
    cautions: list[str] | None = None,
) -> Column:
    """Percentile intervals of C statistics from replicates (B, C), in the shape that tables are made of.

    A single item has no interval: its resamples are all equal.
    """
    empty = [""] * len(point)
    lower, upper = np.full(len(point), np.nan), np.full(len(point), np.nan)
    if len(replicates):
        _, lower, upper, _ = percentile(np.ascontiguousarray(replicates.T), prob=prob)
    lower, upper = (np.where(np.isfinite(limit) & (n > 1), limit, np.nan) for limit in (lower, upper))
    context = Context(
        n=n,
        reasons=reasons or empty,
        cautions=cautions or empty,
        bounds=bounds,
        bounded=False,
        no_error="no interval: too few items",
    )
    return finished(point, lower, upper, context=context)


def _weights(items: int, replicates: int, rng: np.random.Generator) -> Iterator[Array]:
    step = max(1, _LARGEST // max(items, 1))
    for start in range(0, replicates, step):
        size = min(step, replicates - start)
        yield draw_counts(np.ones(items, dtype=np.int64), size, rng).astype(np.float64)
