"""Agreement between judges beyond chance: Cohen's κ, Gwet's AC1, Krippendorff's α.

κ and AC1 are functions of a table of two judges' verdicts and are written for stacks of tables, so that a
bootstrap is one call; α takes any number of judges with values missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesjudge.errors import UsageError

__all__ = ["METRICS", "cohen_kappa", "gwet_ac1", "krippendorff_alpha", "raw_agreement"]

type Array = NDArray[np.float64]

#: Scales of `krippendorff_alpha`.
METRICS = ("nominal", "ordinal", "interval", "ratio")


def raw_agreement(tables: ArrayLike) -> Array:
    """Share of items (…,) on which two judges agree, from tables (…, C, C) of counts or weights.

    Examples
    --------
    >>> float(raw_agreement([[20, 5], [10, 15]]))
    0.7
    """
    tables = np.asarray(tables, dtype=np.float64)
    return _ratio(np.trace(tables, axis1=-2, axis2=-1), tables.sum(axis=(-2, -1)))


def cohen_kappa(tables: ArrayLike, *, weights: Literal["linear", "quadratic"] | None = None) -> Array:
    """Cohen's κ (…,) of tables (…, C, C) of two judges' verdicts.

    Parameters
    ----------
    tables : array (…, C, C)
        Counts or weights of items; categories in the order of the scale where weighted.
    weights : "linear" or "quadratic", optional
        Penalty that grows with the distance of two categories.

    Returns
    -------
    float array
        NaN where chance alone would agree always (all verdicts in one category).

    References
    ----------
    Cohen 1960, Educational and Psychological Measurement 20; Cohen 1968, Psychological Bulletin 70.

    Examples
    --------
    >>> float(cohen_kappa([[20, 5], [10, 15]]).round(6))
    0.4
    """
    tables = np.asarray(tables, dtype=np.float64)
    distance = np.abs(np.subtract.outer(*[np.arange(tables.shape[-1])] * 2)).astype(np.float64)
    penalty = {None: np.sign(distance), "linear": distance, "quadratic": distance**2}
    if weights not in penalty:
        raise UsageError(f"no weights {weights!r}; there are 'linear' and 'quadratic', and None for none")
    share = _ratio(tables, tables.sum(axis=(-2, -1))[..., None, None])
    chance = share.sum(axis=-1)[..., :, None] * share.sum(axis=-2)[..., None, :]
    seen, expected = ((penalty[weights] * part).sum(axis=(-2, -1)) for part in (share, chance))
    return 1.0 - _ratio(seen, expected)


def gwet_ac1(tables: ArrayLike) -> Array:
    """Gwet's AC1 (…,) of tables (…, C, C): agreement beyond chance that high prevalence does not ruin.

    References
    ----------
    Gwet 2008, British Journal of Mathematical and Statistical Psychology 61.

    Examples
    --------
    >>> float(gwet_ac1([[118, 5], [2, 0]]).round(4))
    0.9408
    """
    tables = np.asarray(tables, dtype=np.float64)
    share = _ratio(tables, tables.sum(axis=(-2, -1))[..., None, None])
    seen = np.trace(share, axis1=-2, axis2=-1)
    prevalence = (share.sum(axis=-1) + share.sum(axis=-2)) / 2.0
    chance = (prevalence * (1.0 - prevalence)).sum(axis=-1) / (tables.shape[-1] - 1)
    return _ratio(seen - chance, 1.0 - chance)


def krippendorff_alpha(
    ratings: ArrayLike, *, metric: Literal["nominal", "ordinal", "interval", "ratio"] = "nominal"
) -> float:
    """Krippendorff's α of any number of judges.

    Parameters
    ----------
    ratings : array (J, I)
        Each judge's value of each item, NaN where there is none. Nominal values are codes.
    metric : str
        How far apart two values are, one of `METRICS`.

    Returns
    -------
    float
        NaN where no item has two values, or all values are equal.

    Raises
    ------
    UsageError
        An unknown metric, or negative values on the ratio scale.

    References
    ----------
    Krippendorff 2019, Content Analysis, 4th edition, chapter 12.

    Examples
    --------
    >>> round(krippendorff_alpha([[1, 2, 3, 3], [1, 2, 3, np.nan]]), 3)
    1.0
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
    seen = ((counts @ distance * counts).sum(axis=1) / (counts.sum(axis=1) - 1.0)).sum()
    total = counts.sum(axis=0)
    return float(1.0 - (total.sum() - 1.0) * seen / (total @ distance @ total))


def _interval_alpha(values: Array) -> float:
    """The same for squared differences, whose sums are variances and need no table of all pairs."""
    size = (~np.isnan(values)).sum(axis=0)
    within = size * np.nanvar(values, axis=0)
    everything = values[~np.isnan(values)]
    seen = (size * within / (size - 1.0)).sum() / len(everything)
    return float(1.0 - seen * (len(everything) - 1.0) / (len(everything) * everything.var()))


def _nominal(levels: Array, _: Array) -> Array:
    return 1.0 - np.eye(len(levels))


def _ordinal(_: Array, total: Array) -> Array:
    middle = np.cumsum(total) - total / 2.0
    return np.asarray(np.subtract.outer(middle, middle) ** 2)


def _interval(levels: Array, _: Array) -> Array:
    return np.asarray(np.subtract.outer(levels, levels) ** 2)


def _ratio_scale(levels: Array, _: Array) -> Array:
    total = np.add.outer(levels, levels)
    return np.divide(
        np.subtract.outer(levels, levels), total, out=np.zeros_like(total), where=total != 0
    ) ** 2  # fmt: skip


_DISTANCES: Mapping[str, Callable[[Array, Array], Array]] = {
    "nominal": _nominal, "ordinal": _ordinal, "interval": _interval, "ratio": _ratio_scale,
}  # fmt: skip


def _ratio(part: Array, whole: Array) -> Array:
    shape = np.broadcast_shapes(np.shape(part), np.shape(whole))
    return np.asarray(np.divide(part, whole, out=np.full(shape, np.nan), where=np.asarray(whole) != 0))
