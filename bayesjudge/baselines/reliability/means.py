"""Means over items and their bootstrap: each goes over the drawn items, or clusters of them, that have a value.

Mean scores over responses like these have intervals for new items: those of one item are summed before squaring.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.baselines.common.bootstrap import draw_counts, percentile
from bayesjudge.baselines.common.columns import Column, Context, finished, rows
from bayesjudge.baselines.common.intervals import t_quantile
from bayesjudge.baselines.common.moments import Array, ratio
from bayesjudge.counts.arrays import sums_within
from bayesjudge.counts.conditions import group_names
from bayesjudge.counts.scores import ScoreCounts
from bayesjudge.estimates import Estimates

#: Numbers in the largest temporary array.
_LARGEST = 4_000_000


@dataclass(frozen=True, eq=False)
class ItemMean:
    """Values (I,) whose mean is an estimate, its range, why there may be none, and what to know of it."""

    by_item: Array
    bounds: tuple[float, float]
    reason: str
    caution: str = ""


def mean_rows(means: Mapping[str, ItemMean], replicates: Array, *, prob: float, **fixed: Any) -> list[dict[str, Any]]:
    """A row for each estimand from its values and the column of its bootstrap means (B, S)."""
    found = []
    for place, (name, mean) in enumerate(means.items()):
        known = int((~np.isnan(mean.by_item)).sum())
        column = bootstrap_column(
            item_means(mean.by_item[:, None]),
            replicates[:, [place]],
            n=np.array([float(known)]),
            prob=prob,
            bounds=mean.bounds,
            reasons=["" if known else mean.reason],
            cautions=[mean.caution],
        )
        found += estimand_rows(column, [name], **fixed)
    return found


def estimand_rows(column: Column, estimands: Sequence[str], **fixed: Any) -> list[dict[str, Any]]:
    """Rows of several estimands of one unit, where a column's units are the estimands."""
    return [{**row, "estimand": row["unit"], "method": "bootstrap", **fixed} for row in rows(column, list(estimands))]


def resampled_column(
    values: Array,
    *,
    prob: float,
    bootstrap: int,
    rng: np.random.Generator,
    bounds: tuple[float, float],
    cluster: NDArray[np.int64] | None = None,
) -> Column:
    """Means of values (I, S), none of them missing, with percentile intervals."""
    replicates = resampled_means(values, replicates=bootstrap, rng=rng, cluster=cluster)
    n = np.full(values.shape[1], float(len(values)))
    return bootstrap_column(item_means(values), replicates, n=n, prob=prob, bounds=bounds)


def item_means(values: Array) -> Array:
    """Means (S,) of values (I, S) over the items that have one; NaN where none has."""
    return ratio(np.nansum(values, axis=0), (~np.isnan(values)).sum(axis=0))


def resampled_means(
    values: Array, *, replicates: int, rng: np.random.Generator, cluster: NDArray[np.int64] | None = None
) -> Array:
    """Bootstrap means (B, S) of values (I, S), each over the drawn items that have one.

    cluster: Code of each item's cluster (I,), where clusters are drawn; of one alone there are no replicates.
    """
    known = ~np.isnan(values)
    if cluster is not None:
        both = summed_within(np.hstack([np.where(known, values, 0.0), known.astype(np.float64)]), cluster)
        sums = _resampled_sums(both, replicates if len(both) > 1 else 0, rng)
        return ratio(*np.hsplit(sums, 2))
    # Where no value is missing the sizes are known; drawing them again would double the work.
    complete = known.all(axis=0)
    stacked = np.hstack([np.where(known, values, 0.0), known[:, ~complete].astype(np.float64)])
    sums = _resampled_sums(stacked, replicates, rng)
    sizes = np.full((len(sums), values.shape[1]), float(len(values)))
    sizes[:, ~complete] = sums[:, values.shape[1] :]
    return ratio(sums[:, : values.shape[1]], sizes)


def summed_within(values: NDArray[Any], cluster: NDArray[np.int64]) -> NDArray[Any]:
    """Sums of rows (I, ...) within each cluster that has some."""
    found, place = np.unique(cluster, return_inverse=True)
    return sums_within(values, place, len(found))


def _resampled_sums(values: Array, replicates: int, rng: np.random.Generator) -> Array:
    """Sums (B, S) of values (I, S) over items drawn with replacement, B times, a block of replicates at a time."""
    items, step = len(values), max(1, _LARGEST // max(len(values), 1))
    blocks = [np.zeros((0, values.shape[1]))]
    for start in range(0, replicates, step):
        drawn = draw_counts(np.ones(items, dtype=np.int64), min(step, replicates - start), rng)
        blocks.append(drawn.astype(np.float64) @ values)
    return np.concatenate(blocks)


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
    lower, upper = np.full(len(point), np.nan), np.full(len(point), np.nan)
    if len(replicates):
        _, lower, upper, _ = percentile(np.ascontiguousarray(replicates.T), prob=prob)
    lower, upper = (np.where(np.isfinite(limit) & (n > 1), limit, np.nan) for limit in (lower, upper))
    context = Context(
        n=n,
        reasons=reasons or [""] * len(point),
        cautions=cautions or [""] * len(point),
        bounds=bounds,
        bounded=False,
        no_error="no interval: too few items",
    )
    return finished(point, lower, upper, context=context)


def score_means(
    counts: ScoreCounts, *, prob: float = 0.95, estimand: str = "mean_score", among: NDArray[np.bool_] | None = None
) -> Estimates:
    """Mean over responses of each response's mean score, by judge (``unit``) and condition (``group``).

    among: Cells that count; by default all.
    """
    kept = np.ones(len(counts.cells.n), dtype=bool) if among is None else among
    return Estimates.from_rows(
        [{**row, "estimand": estimand, "method": "t", "prob": prob} for row in _score_rows(counts, kept, prob)]
    )


def _score_rows(counts: ScoreCounts, kept: NDArray[np.bool_], prob: float) -> Iterator[dict[str, Any]]:
    cells = counts.cells
    for j, judge in enumerate(counts.judges):
        for c, group in enumerate(group_names(counts.conditions)):
            mine = kept & (cells.judge == j) & (cells.condition == c)
            if not mine.any():
                continue
            score, item = cells.mean[mine], np.unique(cells.item[mine], return_inverse=True)[1]
            point, items = float(score.mean()), int(item.max()) + 1
            found = {"unit": judge, "judge": judge, "group": group, "point": point, "n": len(score)}
            if items < 2:
                yield {**found, "lower": np.nan, "upper": np.nan, "note": "no interval: one item"}
                continue
            sums = np.bincount(item, weights=score - point)
            error = float(np.sqrt((sums**2).sum() * items / (items - 1))) / len(score)
            half = t_quantile(prob, items - 1) * error
            yield {**found, "lower": point - half, "upper": point + half}
