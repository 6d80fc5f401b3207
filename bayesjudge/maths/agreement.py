"""Agreement of two raters beyond chance: Cohen's κ and Gwet's AC1 of tables of their outcomes.

Both are functions of a table and are written for stacks of tables, so that a bootstrap is one call. Where
outcomes are a, tie and b, which of two answers is called a is arbitrary, and κ depends on it through the
margins: `half_turned` gives the table that no naming of the answers changes.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesjudge.errors import UsageError

type Array = NDArray[np.float64]


def raw_agreement(tables: ArrayLike) -> Array:
    """Share of items (…,) on which two judges agree, from tables (…, C, C) of counts or weights."""
    tables = np.asarray(tables, dtype=np.float64)
    return _ratio(np.trace(tables, axis1=-2, axis2=-1), tables.sum(axis=(-2, -1)))


def cohen_kappa(tables: ArrayLike, *, weights: Literal["linear", "quadratic"] | None = None) -> Array:
    """Cohen's κ (…,) of tables (…, C, C) of two judges' verdicts.

    Returns: NaN where chance alone would agree always (all verdicts in one category).

    Cohen 1960, Educational and Psychological Measurement 20; Cohen 1968, Psychological Bulletin 70.
    """
    tables = np.asarray(tables, dtype=np.float64)
    distance = np.abs(np.subtract.outer(*[np.arange(tables.shape[-1])] * 2)).astype(np.float64)
    penalty = {None: np.sign(distance), "linear": distance, "quadratic": distance**2}
    if weights not in penalty:
        raise UsageError(f"no weights {weights!r}; there are 'linear' and 'quadratic', and None for none")
    share = _ratio(tables, tables.sum(axis=(-2, -1))[..., None, None])
    chance = share.sum(axis=-1)[..., :, None] * share.sum(axis=-2)[..., None, :]
    observed, expected = ((penalty[weights] * part).sum(axis=(-2, -1)) for part in (share, chance))
    return 1.0 - _ratio(observed, expected)


def gwet_ac1(tables: ArrayLike) -> Array:
    """Gwet's AC1 (…,) of tables (…, C, C): agreement beyond chance that high prevalence does not ruin.

    Gwet 2008, British Journal of Mathematical and Statistical Psychology 61.
    """
    tables = np.asarray(tables, dtype=np.float64)
    share = _ratio(tables, tables.sum(axis=(-2, -1))[..., None, None])
    observed = np.trace(share, axis1=-2, axis2=-1)
    prevalence = (share.sum(axis=-1) + share.sum(axis=-2)) / 2.0
    chance = (prevalence * (1.0 - prevalence)).sum(axis=-1) / (tables.shape[-1] - 1)
    return _ratio(observed - chance, 1.0 - chance)


def folded(table: NDArray[np.int64]) -> NDArray[np.int64]:
    """Counts (C, C) of each cell and the one half a turn away, in the first of the two; the others are 0.

    `half_turned` of them is that of the table, and no naming of the answers changes them: what a bootstrap
    draws from.
    """
    flat = np.asarray(table).reshape(-1)
    place = np.arange(len(flat))
    both = np.where(place < place[::-1], flat + flat[::-1], np.where(place == place[::-1], flat, 0))
    return np.asarray(both.reshape(np.shape(table)))


def half_turned(tables: ArrayLike) -> Array:
    """Mean of tables (…, C, C) and their half-turns: what they would be with a and b called at random."""
    tables = np.asarray(tables, dtype=np.float64)
    return np.asarray((tables + tables[..., ::-1, ::-1]) / 2)


def kappa_gradient(table: ArrayLike) -> Array:
    """Derivative of Cohen's κ by the count of each cell (C, C), for errors of clustered counts.

    Examples
    --------
    >>> table = np.array([[20.0, 5.0], [10.0, 15.0]])
    >>> step = np.array([[1e-6, 0], [0, 0]])
    >>> numeric = (cohen_kappa(table + step) - cohen_kappa(table - step)) / 2e-6
    >>> bool(np.isclose(kappa_gradient(table)[0, 0], numeric))
    True
    """
    table = np.asarray(table, dtype=np.float64)
    share = table / table.sum()
    rows, columns = share.sum(axis=1), share.sum(axis=0)
    met, chance = np.trace(share), rows @ columns
    by_share = (np.eye(len(share)) * (1 - chance) - (1 - met) * (columns[:, None] + rows)) / (1 - chance) ** 2
    return np.asarray((by_share - (by_share * share).sum()) / table.sum())


def _ratio(part: Array, whole: Array) -> Array:
    shape = np.broadcast_shapes(np.shape(part), np.shape(whole))
    return np.asarray(np.divide(part, whole, out=np.full(shape, np.nan), where=np.asarray(whole) != 0))
