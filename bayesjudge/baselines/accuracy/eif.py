"""The efficient estimator: predict each item's label from its verdict, average over all items (METHODS 1.4).

``θ̂ = Σ_v P̂(v) μ̂(v)`` with P̂ over labelled and unlabelled items. μ̂ is the least-squares line of y on v.
For a binary verdict a line through two points is the pair of means ``μ̂(0), μ̂(1)``, so nothing is assumed.
For the mean of several runs, where a mean at each value would ask too much of few labels, it is the best
linear prediction, and the estimate stays consistent whatever the truth, because the residuals average to
zero over the labelled items.

Reference: Chen et al. 2026, arXiv 2601.05420.
"""

from __future__ import annotations

import numpy as np

from bayesjudge.baselines.accuracy.estimator import Estimator, observed, texts
from bayesjudge.baselines.accuracy.finite_population import Finite, residual_covariance
from bayesjudge.baselines.common.moments import Array, Evidence, Moments, ratio
from bayesjudge.baselines.common.variance import mean_scale

__all__ = ["ESTIMATOR", "point", "reasons", "residual_influence", "slope"]


def slope(moments: Moments) -> Array:
    """Least-squares slope of y on v (B, M); NaN where labelled verdicts are constant and others differ."""
    found = ratio(moments.covariance, moments.variance_labelled)
    # Nothing to extrapolate when the unlabelled verdicts equal that same constant.
    flat = (moments.variance_labelled == 0) & (np.abs(moments.mean_v - moments.mean_v_labelled) < 1e-12)
    return np.where(flat, 0.0, found)


def point(moments: Moments) -> Array:
    """``ȳ_L + β̂(v̄ − v̄_L)`` (B, M), which for binary verdicts is ``Σ_v P̂(v) μ̂(v)``."""
    return moments.mean_y + slope(moments) * (moments.mean_v - moments.mean_v_labelled)


def influence(evidence: Evidence, ddof: int) -> Array:
    """``(μ̂(v) − θ̂)/n`` on all items plus ``(y − μ̂(v))/n_L`` on the labelled; the two are orthogonal."""
    beta, seen = slope(evidence.plain), observed(evidence)
    predicted = seen * beta * (evidence.v - evidence.plain.mean_v) * mean_scale(evidence, seen, ddof)
    return predicted + residual_influence(evidence, ddof, beta)


def residual_influence(evidence: Evidence, ddof: int, beta: Array) -> Array:
    """``(r − r̄_L)/n_L`` (R, M) on the labelled items, for ``r = y − βv``."""
    moments = evidence.plain
    residual = evidence.y - moments.mean_y - beta * (evidence.v - moments.mean_v_labelled)
    return evidence.labelled * residual * mean_scale(evidence, evidence.labelled, ddof)


def _finite_covariance(evidence: Evidence, ddof: int) -> Array:
    return residual_covariance(residual_influence(evidence, ddof, slope(evidence.plain)), evidence)


def reasons(moments: Moments) -> list[str]:
    """Undefined without labels, or where a verdict occurs that no labelled item has."""
    constant = np.isnan(slope(moments)[0])
    value = [
        f"every labelled item has mean verdict {v:.3g}, others differ" for v in moments.mean_v_labelled[0]
    ]
    return texts(len(constant), [(moments.labelled[0] == 0, "no labelled item"), (constant, value)])


ESTIMATOR = Estimator(
    point=point, influence=influence, reasons=reasons,
    finite=Finite(point=lambda evidence: point(evidence.plain)[0], covariance=_finite_covariance),
)  # fmt: skip
