"""One family of tests: p-values that may be compared with one level however many there are."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def holm(p_values: NDArray[np.float64]) -> NDArray[np.float64]:
    """P-values adjusted for their number, valid whatever their dependence.

    Holm (1979). A simple sequentially rejective multiple test procedure. *Scandinavian Journal of
    Statistics* 6.
    """
    order = np.argsort(p_values)
    stepped = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return adjusted


def both_sides(below: ArrayLike, above: ArrayLike) -> NDArray[np.float64]:
    """Adjusted p-values of two-sided tests: twice the smaller tail of each, corrected for their number."""
    # As arrays: a column of a table is indexed by its labels, which need not be 0, 1, 2.
    smaller = np.minimum(np.asarray(below, float), np.asarray(above, float))
    return holm(np.minimum(2 * smaller, 1.0))
