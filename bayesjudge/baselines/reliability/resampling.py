"""Bootstrap over items of anything that is a mean over items, or a function of such means."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bayesjudge.baselines.common.bootstrap import draw_counts, percentile
from bayesjudge.baselines.common.columns import Column, Context, finished

__all__ = ["bootstrap_column", "bootstrap_sums", "item_means", "resampled_means"]

type Array = NDArray[np.float64]

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
    """Bootstrap means (B, S) of values (I, S), each over the drawn items that have one.

    Examples
    --------
    >>> values = np.array([[0.0, 1.0], [1.0, np.nan]])
    >>> means = resampled_means(values, replicates=1000, rng=np.random.default_rng(0))
    >>> means.shape, sorted(set(means[:, 0].tolist()))
    ((1000, 2), [0.0, 0.5, 1.0])
    """
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
    point: Array, replicates: Array, *, n: Array, prob: float, bounds: tuple[float, float],
    reasons: list[str] | None = None, cautions: list[str] | None = None,
) -> Column:  # fmt: skip
    """Percentile intervals of C statistics from replicates (B, C), in the shape that tables are made of.

    A single item has no interval: its resamples are all alike.
    """
    empty = [""] * len(point)
    lower, upper = np.full(len(point), np.nan), np.full(len(point), np.nan)
    if len(replicates):
        _, lower, upper, _ = percentile(np.ascontiguousarray(replicates.T), prob=prob)
    lower, upper = (np.where(np.isfinite(limit) & (n > 1), limit, np.nan) for limit in (lower, upper))
    context = Context(n=n, reasons=reasons or empty, cautions=cautions or empty, bounds=bounds, bounded=False,
                      no_error="no interval: too few items")  # fmt: skip
    return finished(point, lower, upper, context=context)


def _weights(items: int, replicates: int, rng: np.random.Generator) -> Iterator[Array]:
    step = max(1, _LARGEST // max(items, 1))
    for start in range(0, replicates, step):
        size = min(step, replicates - start)
        yield draw_counts(np.ones(items, dtype=np.int64), size, rng).astype(np.float64)
