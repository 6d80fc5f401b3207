"""The labelled-only estimator: the accuracy among the human labels, judge ignored."""

from __future__ import annotations

from bayesjudge.baselines.accuracy.estimator import Estimator, texts
from bayesjudge.baselines.accuracy.finite_population import Finite, residual_covariance
from bayesjudge.baselines.common.moments import Array, Evidence, Moments
from bayesjudge.baselines.common.variance import mean_scale

__all__ = ["ESTIMATOR", "point"]


def point(moments: Moments) -> Array:
    """Mean label (B, M)."""
    return moments.mean_y


def influence(evidence: Evidence, ddof: int) -> Array:
    """``(y − ȳ)/n_L`` on the labelled items."""
    scale = mean_scale(evidence, evidence.labelled, ddof)
    return evidence.labelled * (evidence.y - evidence.plain.mean_y) * scale


def reasons(moments: Moments) -> list[str]:
    """Undefined without a label."""
    return texts(moments.labelled.shape[1], [(moments.labelled[0] == 0, "no labelled item")])


def items(evidence: Evidence) -> Array:
    """Labelled items."""
    return evidence.labelled


#: On these items the finite-population correction of a sample mean (Cochran 1977, eq. 2.14).
FINITE = Finite(
    point=lambda evidence: point(evidence.plain)[0],
    covariance=lambda evidence, ddof: residual_covariance(influence(evidence, ddof), evidence),
)
ESTIMATOR = Estimator(point=point, influence=influence, reasons=reasons, items=items, finite=FINITE)
