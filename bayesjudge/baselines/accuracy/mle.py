r"""Joint maximum likelihood of ``(θ, q0, q1)`` with its profile-likelihood interval (METHODS 1.4).

The likelihood of labelled and unlabelled items together is, with ``p = P(v=1)`` and ``μ_v = P(y=1 | v)``,

.. math:: p^{N_1}(1-p)^{N_0} \prod_v μ_v^{a_v} (1-μ_v)^{n_v-a_v},

``N_v`` counting all items with verdict v, ``n_v`` the labelled and ``a_v`` the correct among them.
``(p, μ_1, μ_0)`` and ``(θ, q0, q1)`` are one-to-one, so the maximum is explicit, ``θ̂ = p̂μ̂_1 + (1 − p̂)μ̂_0``:
the efficient estimator, and no EM or Newton iteration is needed. The profile likelihood of θ needs one,
below. Repeated runs have no single binary verdict, so the likelihood does not describe them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bayesjudge.baselines.accuracy import estimators
from bayesjudge.baselines.accuracy.estimator import Estimator, texts
from bayesjudge.baselines.common.intervals import covariance
from bayesjudge.baselines.common.moments import Array, Evidence, Moments

#: Largest Lagrange multiplier tried: beyond it the profile is flat up to the boundary of θ.
_STEEPEST = 1e12


def point(moments: Moments) -> Array:
    """``p̂μ̂_1 + (1 − p̂)μ̂_0`` (B, M); NaN for models with repeated runs."""
    return np.where(moments.repeated, np.nan, estimators.EIF.point(moments))


def reasons(moments: Moments) -> list[str]:
    """As the efficient estimator, and repeated runs."""
    repeated = texts(len(moments.repeated), [(moments.repeated, "repeated runs: no likelihood of one verdict")])
    return [one or other for one, other in zip(repeated, estimators.eif_reasons(moments), strict=True)]


ESTIMATOR = Estimator(point=point, influence=estimators.EIF.influence, reasons=reasons)


@dataclass(frozen=True, kw_only=True)
class VerdictTable:
    """Counts of one model: all items by verdict, labelled items and correct ones by verdict."""

    all1: float
    all0: float
    labelled1: float
    labelled0: float
    correct1: float
    correct0: float

    def log_likelihood(self, p: float, mu1: float, mu0: float) -> float:
        """Log-likelihood of ``(p, μ_1, μ_0)``."""
        from scipy.special import xlogy

        return float(
            xlogy(self.all1, p)
            + xlogy(self.all0, 1 - p)
            + xlogy(self.correct1, mu1)
            + xlogy(self.labelled1 - self.correct1, 1 - mu1)
            + xlogy(self.correct0, mu0)
            + xlogy(self.labelled0 - self.correct0, 1 - mu0)
        )


def profile_limits(evidence: Evidence, *, z: Array) -> tuple[Array, Array]:
    """Profile-likelihood limits (M,); NaN without labels or with repeated runs.

    With clusters the deviance is divided by the design effect of the estimate, the ratio of its
    cluster-robust to its independent variance (Rao & Scott 1984).
    """
    moments = evidence.plain
    effect = _design_effect(evidence)
    limits = np.full((2, len(moments.repeated)), np.nan)
    usable = ~moments.repeated & (moments.labelled[0] > 0) & ~np.isnan(effect)
    for m in np.flatnonzero(usable):
        limits[:, m] = profile_interval(_table(moments, int(m)), critical=float(z[m] ** 2 * effect[m]))
    return limits[0], limits[1]


def profile_interval(table: VerdictTable, *, critical: float) -> tuple[float, float]:
    """Accuracies whose profile deviance is at most ``critical`` (a χ² quantile with one degree of freedom).

    In the four cell probabilities of (y, v) the log-likelihood is concave and θ is linear, so for every
    multiplier ``t`` the maximum of ``ℓ − tθ`` is unique and traces the profile curve; the deviance grows
    with ``|t|``, and each limit is one root in t.
    """
    return _limit(table, critical, sign=1.0), _limit(table, critical, sign=-1.0)


def _limit(table: VerdictTable, critical: float, *, sign: float) -> float:
    from scipy.optimize import brentq

    best = _maximum(table)

    def excess(log_t: float) -> float:
        return 2.0 * (best - table.log_likelihood(*_tilted(table, sign * math.exp(log_t)))) - critical

    low, high = math.log(1e-6), 0.0
    while excess(high) < 0:
        if math.exp(high) > _STEEPEST:
            return 0.0 if sign > 0 else 1.0
        low, high = high, high + 2.0
    p, mu1, mu0 = _tilted(table, sign * math.exp(brentq(excess, low, high, xtol=1e-12)))
    return p * mu1 + (1.0 - p) * mu0


def _maximum(table: VerdictTable) -> float:
    share = [_share(table.correct1, table.labelled1), _share(table.correct0, table.labelled0)]
    return table.log_likelihood(_share(table.all1, table.all1 + table.all0), *share)


def _tilted(table: VerdictTable, t: float) -> tuple[float, float, float]:
    """The ``(p, μ_1, μ_0)`` maximising ``ℓ − tθ``: μ explicit given p, p the root of a monotone function."""
    from scipy.optimize import brentq

    def rates(p: float) -> tuple[float, float]:
        mu1 = _tilted_share(table.correct1, table.labelled1, t * p)
        return mu1, _tilted_share(table.correct0, table.labelled0, t * (1.0 - p))

    def slope(p: float) -> float:
        mu1, mu0 = rates(p)
        return table.all1 * (1.0 - p) - table.all0 * p - t * p * (1.0 - p) * (mu1 - mu0)

    # Where one verdict never occurs the slope vanishes at that end without being the maximum.
    low, high = (0.0 if table.all1 else 1e-12), (1.0 if table.all0 else 1.0 - 1e-12)
    if slope(low) <= 0:
        p = 0.0
    elif slope(high) >= 0:
        p = 1.0
    else:
        p = float(brentq(slope, low, high, xtol=1e-15))
    return p, *rates(p)


def _tilted_share(correct: float, n: float, t: float) -> float:
    """Maximum over μ of ``a log μ + (n − a) log(1 − μ) − tμ``: root in [0, 1] of ``tμ² − (n + t)μ + a``."""
    if t == 0:
        return _share(correct, n)
    middle = n + t
    root = math.sqrt(max(middle * middle - 4.0 * t * correct, 0.0))
    # Of the two algebraically equal forms, the one without cancellation.
    return 2.0 * correct / (middle + root) if middle > 0 else (middle - root) / (2.0 * t)


def _table(moments: Moments, m: int) -> VerdictTable:
    labelled1, correct1 = moments.v_labelled[0, m], moments.vy[0, m]
    labelled0, correct0 = moments.labelled[0, m] - labelled1, moments.positives[0, m] - correct1
    all1 = labelled1 + moments.v_unlabelled[0, m]
    values = (all1, moments.total[0, m] - all1, labelled1, labelled0, correct1, correct0)
    names = ("all1", "all0", "labelled1", "labelled0", "correct1", "correct0")
    return VerdictTable(**{name: float(value) for name, value in zip(names, values, strict=True)})


def _design_effect(evidence: Evidence) -> Array:
    influence = estimators.EIF.influence(evidence, 0)
    if not evidence.clusters:
        return np.ones(influence.shape[1])
    independent = np.asarray(evidence.n @ influence**2)
    clustered = np.diag(covariance(influence, evidence))
    return np.divide(clustered, independent, out=np.ones_like(clustered), where=independent > 0)


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.5
