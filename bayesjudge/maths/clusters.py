"""What clusters do to the variance of a sum over rows that belong to them (Kish 1965)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

type Array = NDArray[np.float64]


def sum_variances(values: Array, cluster: NDArray[np.int64]) -> tuple[float, float]:
    """Variance of the sum of values (I,), were clusters independent of one another, and were rows; 0, 0 of one cluster.

    Examples
    --------
    >>> sum_variances(np.array([0.0, 0.0, 1.0, 1.0]), np.array([0, 0, 1, 1]))
    (4.0, 1.3333333333333333)
    """
    apart = values - values.mean()
    _, place = np.unique(cluster, return_inverse=True)
    sums = np.bincount(place.reshape(-1), weights=apart)
    if len(sums) < 2:
        return 0.0, 0.0
    together, alone = (float((part**2).sum()) * len(part) / (len(part) - 1) for part in (sums, apart))
    return together, alone


def design_effect(values: Array, cluster: NDArray[np.int64]) -> float:
    """How many times as much a sum of values (I,) varies by cluster as it would of independent rows; at least 1."""
    together, alone = sum_variances(values, cluster)
    return max(1.0, together / alone) if alone > 0 else 1.0


def shared_variance(values: Array, cluster: NDArray[np.int64]) -> float:
    """What clusters add to the variance of a mean of values (I,), be it less than 0."""
    together, alone = sum_variances(values, cluster)
    return (together - alone) / len(values) ** 2
