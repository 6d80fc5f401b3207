"""Variances from influence values, and limits from them: Wilson, Wald, logit and MOVER, over models or pairs.

An estimator's influence value of an item says how much the item moved it: the estimate minus its
target is about the sum of the influences. Squares of the sum over independent units then give every
variance, and the difference of two estimators has the difference of their influences, so pairing and
shared labels need no formula of their own.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from bayesjudge.baselines.common.moments import Array, Codes, Evidence
from bayesjudge.counts.arrays import sums_within
from bayesjudge.errors import UsageError

type Limits = tuple[Array, Array]


def require_options(prob: float, bootstrap: int = 0) -> None:
    """Refuse a level outside (0, 1) and a negative number of replicates."""
    if not 0.0 < prob < 1.0:
        raise UsageError(f"prob must lie between 0 and 1, for instance 0.95, not {prob!r}")
    if bootstrap < 0:
        raise UsageError(f"bootstrap must be 0 (none) or a number of replicates, not {bootstrap!r}")


def normal_quantile(prob: float) -> float:
    """Normal quantile z of a two-sided interval with probability ``prob``."""
    return NormalDist().inv_cdf(0.5 + prob / 2.0)


def quantiles(evidence: Evidence, items: Array, prob: float) -> Array:
    """Quantile (M,) of an interval that rests on the items marked (R, M).

    Of items in G clusters Student's t with G − 1 degrees of freedom (Cameron & Miller 2015), else the normal one.
    """
    if not evidence.clusters:
        return np.full(items.shape[1], normal_quantile(prob))
    units = independent_units(evidence, items)
    return np.array([t_quantile(prob, df) for df in np.maximum(units - 1.0, 1.0).tolist()])


def t_quantile(prob: float, df: float) -> float:
    """The same of Student's t; infinite degrees of freedom are the normal distribution's."""
    from scipy.special import stdtrit

    return normal_quantile(prob) if np.isinf(df) else float(stdtrit(df, 0.5 + prob / 2.0))


def wilson(mean: Array, n: Array, z: float | Array) -> Limits:
    """Wilson score interval of a binomial proportion (Wilson 1927); n may be an effective number."""
    shrink = 1.0 + z * z / n
    centre = (mean + z * z / (2.0 * n)) / shrink
    half = z / shrink * np.sqrt(np.maximum(mean * (1.0 - mean), 0.0) / n + z * z / (4.0 * n * n))
    # At an observed 0 or 1 the limit is exactly there; rounding would leave it a hair outside.
    lower = np.where(mean <= 0, 0.0, np.maximum(centre - half, 0.0))
    upper = np.where(mean >= 1, 1.0, np.minimum(centre + half, 1.0))
    return np.where(np.isnan(mean), np.nan, lower), np.where(np.isnan(mean), np.nan, upper)


def wald(point: Array, variance: Array, z: float | Array) -> Limits:
    """Normal interval ``point ± z·se``."""
    half = z * np.sqrt(variance)
    return point - half, point + half


def logit(point: Array, variance: Array, n_labelled: Array, z: float | Array) -> Limits:
    """Normal interval on the logit scale, which stays inside [0, 1].

    Within half a labelled item of 0 or 1 the logit has no usable standard error; there the Wilson
    interval of the labelled items at that boundary is given, which is what the labels alone say.
    """
    from scipy.special import expit

    edge = 0.5 / np.maximum(n_labelled, 1.0)
    inner = np.clip(point, edge, 1.0 - edge)
    at_edge = (point < edge) | (point > 1.0 - edge) | (variance == 0)
    spread = inner * (1.0 - inner)
    step = z * np.sqrt(variance) / np.where(spread > 0, spread, 1.0)
    centre = np.log(np.where(spread > 0, inner, 0.5)) - np.log1p(-np.where(spread > 0, inner, 0.5))
    rounded = np.where(point < edge, 0.0, np.where(point > 1.0 - edge, 1.0, point))
    low, high = wilson(rounded, np.maximum(n_labelled, 1.0), z)
    known = ~np.isnan(variance)
    lower, upper = (np.where(at_edge, low, expit(centre - step)), np.where(at_edge, high, expit(centre + step)))
    return np.where(known, lower, np.nan), np.where(known, upper, np.nan)


def mover(first: tuple[Array, Array, Array], second: tuple[Array, Array, Array], correlation: Array) -> Limits:
    """Limits of a difference from the limits of its terms (MOVER: Zou & Donner 2008, eq. 7 with correlation).

    Each term is ``(point, lower, upper)``. With Wilson limits this is Newcombe's paired interval; it
    recovers the variance each limit implies, so skewed intervals give a skewed difference.
    """
    point_a, low_a, high_a = first
    point_b, low_b, high_b = second
    down = _combined(point_a - low_a, high_b - point_b, correlation)
    up = _combined(high_a - point_a, point_b - low_b, correlation)
    return point_a - point_b - down, point_a - point_b + up


def _combined(one: Array, other: Array, correlation: Array) -> Array:
    one, other = np.maximum(one, 0.0), np.maximum(other, 0.0)
    return np.asarray(np.sqrt(np.maximum(one**2 + other**2 - 2.0 * correlation * one * other, 0.0)))


def clopper_pearson(successes: float, trials: float, *, prob: float = 0.95) -> tuple[float, float]:
    """Exact interval of a binomial proportion (Clopper & Pearson 1934).

    Parameters
    ----------
    successes, trials : float
        Counts, or what they are worth; no trials give the whole of [0, 1].
    prob : float
        Probability of the interval.

    Raises
    ------
    UsageError
        Counts that are not those of a binomial.
    """
    from scipy.special import betaincinv

    if not 0 <= successes <= trials:
        raise UsageError(f"successes={successes} must lie between 0 and trials={trials}")
    tail = (1 - prob) / 2
    lower = betaincinv(successes, trials - successes + 1, tail) if successes else 0.0
    upper = betaincinv(successes + 1, trials - successes, 1 - tail) if successes < trials else 1.0
    return float(lower), float(upper)


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
