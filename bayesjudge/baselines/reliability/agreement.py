"""Krippendorff's α: agreement beyond chance of any number of judges, with values missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesjudge.errors import UsageError

type Array = NDArray[np.float64]

#: Scales of `krippendorff_alpha`.
METRICS = ("nominal", "ordinal", "interval", "ratio")


def krippendorff_alpha(
    ratings: ArrayLike, *, metric: Literal["nominal", "ordinal", "interval", "ratio"] = "nominal"
) -> float:
    """Krippendorff's α of any number of judges.

    References
    ----------
    Krippendorff 2019, Content Analysis, 4th edition, chapter 12.
    """
    if metric not in _DISTANCES:
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


def _nominal(levels: Array, _: Array) -> Array:
    return 1.0 - np.eye(len(levels))


def _ordinal(_: Array, total: Array) -> Array:
    middle = np.cumsum(total) - total / 2.0
    return np.asarray(np.subtract.outer(middle, middle) ** 2)


def _interval(levels: Array, _: Array) -> Array:
    return np.asarray(np.subtract.outer(levels, levels) ** 2)


def _ratio_scale(levels: Array, _: Array) -> Array:
    total = np.add.outer(levels, levels)
    return np.divide(np.subtract.outer(levels, levels), total, out=np.zeros_like(total), where=total != 0) ** 2


_DISTANCES: Mapping[str, Callable[[Array, Array], Array]] = {
    "nominal": _nominal,
    "ordinal": _ordinal,
    "interval": _interval,
    "ratio": _ratio_scale,
}
