"""Variances from influence values: one routine for accuracies, paired differences and clusters.

An estimator's influence value of an item says how much the item moved it: the estimate minus its
target is about the sum of the influences. Squares of the sum over independent units then give every
variance, and the difference of two estimators has the difference of their influences, so pairing and
shared labels need no formula of their own.
"""

from __future__ import annotations

import numpy as np

from bayesjudge.baselines.moments import Array, Codes, Evidence

__all__ = ["correlation", "covariance", "difference_variance", "effective_size", "per_item"]


def per_item(n: Array, ddof: int) -> Array:
    """Scale of a mean's influence, ``1/√(n(n − ddof))``: its squares sum to a variance with that divisor.

    Examples
    --------
    >>> per_item(np.array([4.0, 1.0, 0.0]), 0).tolist()
    [0.25, nan, 0.0]
    """
    # One item has no variance: whatever needs it turns NaN here and says so, instead of passing as exact.
    inside = np.where(n > 1, n * (n - ddof), np.nan)
    return np.where(n > 0, 1.0 / np.sqrt(inside), 0.0)


def covariance(influence: Array, evidence: Evidence) -> Array:
    """Covariance matrix (M, M) of the estimates of M models from their influences (R, M).

    Without clusters, ``Σ_i φ_ia φ_ib`` over items. With G clusters the influences are summed within
    clusters first and the result carries the factor ``G/(G − 1)`` (the CR1 sandwich of a mean); one cluster
    gives NaN. Sums of differences ``(φ_a − φ_b)²`` follow as ``C_aa + C_bb − 2 C_ab``.
    """
    if not evidence.clusters:
        return np.asarray((influence * evidence.n[:, None]).T @ influence)
    sums = np.zeros((evidence.clusters, influence.shape[1]))
    np.add.at(sums, evidence.cluster, influence * evidence.n[:, None])
    correction = evidence.clusters / (evidence.clusters - 1) if evidence.clusters > 1 else np.nan
    return np.asarray(correction * (sums.T @ sums))


def difference_variance(cov: Array, first: Codes, second: Codes) -> Array:
    """Variance of estimate[first] − estimate[second]; rounding below zero is cut off."""
    variance = cov[first, first] + cov[second, second] - 2.0 * cov[first, second]
    floor = 1e-14 * (cov[first, first] + cov[second, second])
    return np.asarray(np.where(variance <= floor, 0.0, variance))


def correlation(cov: Array, first: Codes, second: Codes) -> Array:
    """Correlation of two estimates; 0 where one has no variance (nothing is known of it)."""
    scale = np.sqrt(cov[first, first] * cov[second, second])
    known = scale > 0
    value = np.divide(cov[first, second], scale, out=np.zeros_like(scale), where=known)
    return np.clip(value, -1.0, 1.0)


def effective_size(mean: Array, variance: Array, units: Array) -> Array:
    """Number of independent binary items that would give a mean this variance, ``p(1 − p)/Var``.

    Exactly n for n independent binary items; smaller under clustering, larger for means over repeated
    runs. Where the variance is 0 nothing can be learnt about dependence and the number of ``units``
    (items, or clusters) is used. It makes binomial intervals (Wilson, Lang–Reiczigel) valid for both
    (Kish 1965; Korn & Graubard 1998).

    Examples
    --------
    >>> effective_size(np.array([0.5]), np.array([0.0025]), np.array([100.0])).tolist()
    [100.0]
    """
    spread = mean * (1.0 - mean)
    usable = (variance > 0) & (spread > 0)
    return np.asarray(np.divide(spread, variance, out=np.array(units, dtype=float), where=usable))
