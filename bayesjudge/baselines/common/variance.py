"""Variances from influence values: one routine for accuracies, paired differences and clusters.

An estimator's influence value of an item says how much the item moved it: the estimate minus its
target is about the sum of the influences. Squares of the sum over independent units then give every
variance, and the difference of two estimators has the difference of their influences, so pairing and
shared labels need no formula of their own.
"""

from __future__ import annotations

import numpy as np

from bayesjudge.baselines.common.moments import Array, Codes, Evidence
from bayesjudge.counts.arrays import sums_within


def independent_units(evidence: Evidence, items: Array) -> Array:
    """Number (M,) of independent units among the items marked (R, M): items, or clusters that hold one."""
    marked = items > 0
    if not evidence.clusters:
        return np.asarray(evidence.n @ marked)
    held = np.zeros((evidence.clusters, marked.shape[1]), dtype=bool)
    np.logical_or.at(held, evidence.cluster, marked)
    return held.sum(axis=0).astype(float)


def mean_scale(evidence: Evidence, items: Array, ddof: int) -> Array:
    """Scale (M,) of the influence of a mean over the items marked (R, M), weighted by the marks.

    For n independent items ``1/√(n(n − ddof))``, whose squares sum to a variance with divisor ``n − ddof``.
    For items in G clusters ``√(G/(G − 1))/n``, the CR1 factor of a mean in place of ``n − 1``. A single item
    or cluster has no variance: whatever needs it turns NaN here and says so, instead of passing as exact.
    """
    n, total = evidence.n @ (items > 0), evidence.n @ items
    units = independent_units(evidence, items)
    several = np.where(units > 1, units, np.nan)
    lost = 1.0 if evidence.clusters else ddof
    inside = total * total * (several - lost) / several
    return np.where(n > 0, 1.0 / np.sqrt(inside), 0.0)


def covariance(influence: Array, evidence: Evidence) -> Array:
    """Covariance matrix (M, M) of the estimates of M models from their influences (R, M).

    Without clusters, ``Σ_i φ_ia φ_ib`` over items; with clusters the influences are summed within clusters
    first. The variance of a difference, ``Σ(φ_a − φ_b)²``, follows as ``C_aa + C_bb − 2 C_ab``.
    """
    weighted = influence * evidence.n[:, None]
    if not evidence.clusters:
        return np.asarray(weighted.T @ influence)
    sums = sums_within(weighted, evidence.cluster, evidence.clusters)
    return np.asarray(sums.T @ sums)


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
