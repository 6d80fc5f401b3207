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

from bayesjudge.baselines.estimator import Estimator, observed, texts
from bayesjudge.baselines.moments import Array, Evidence, Moments, ratio
from bayesjudge.baselines.variance import mean_scale

__all__ = ["ESTIMATOR", "point", "reasons", "slope"]


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
    moments = evidence.plain
    beta = slope(moments)
    seen = observed(evidence)
    predicted = seen * beta * (evidence.v - moments.mean_v) * mean_scale(evidence, seen, ddof)
    residual = evidence.y - moments.mean_y - beta * (evidence.v - moments.mean_v_labelled)
    return predicted + evidence.labelled * residual * mean_scale(evidence, evidence.labelled, ddof)


def reasons(moments: Moments) -> list[str]:
    """Undefined without labels, or where a verdict occurs that no labelled item has."""
    constant = np.isnan(slope(moments)[0])
    value = [
        f"every labelled item has mean verdict {v:.3g}, others differ" for v in moments.mean_v_labelled[0]
    ]
    return texts(len(constant), [(moments.labelled[0] == 0, "no labelled item"), (constant, value)])


ESTIMATOR = Estimator(point=point, influence=influence, reasons=reasons)
