"""The naive estimator: the share of verdicts 1, biased by ``(1 − q0) + (J − 1)θ`` (METHODS 1.1)."""

from __future__ import annotations

import numpy as np

from bayesjudge.baselines.accuracy.estimator import Estimator, texts
from bayesjudge.baselines.accuracy.finite_population import Finite
from bayesjudge.baselines.common.moments import Array, Evidence, Moments
from bayesjudge.baselines.common.variance import mean_scale

__all__ = ["ESTIMATOR", "point"]


def point(moments: Moments) -> Array:
    """Mean verdict (B, M) over the test items; over all items where every item is labelled."""
    return np.where(moments.unlabelled > 0, moments.mean_v_unlabelled, moments.mean_v_labelled)


def influence(evidence: Evidence, ddof: int) -> Array:
    """``(v − v̄)/n`` on the items used."""
    used = items(evidence)
    return used * (evidence.v - point(evidence.plain)) * mean_scale(evidence, used, ddof)


def items(evidence: Evidence) -> Array:
    """Test items, or the labelled ones for a model that has no others."""
    return np.where(evidence.plain.unlabelled > 0, evidence.unlabelled, evidence.labelled)


def reasons(moments: Moments) -> list[str]:
    """Undefined only without any verdict."""
    return texts(moments.total.shape[1], [(moments.total[0] == 0, "no verdict")])


def cautions(moments: Moments) -> list[str]:
    """Say where the labelled items stand in for test items."""
    labelled_only = (moments.unlabelled[0] == 0) & (moments.labelled[0] > 0)
    return texts(len(labelled_only), [(labelled_only, "no unlabelled item: verdicts on the labelled ones")])


#: On these items all verdicts are known: whoever takes the judge for the truth has nothing left to estimate.
FINITE = Finite(
    point=lambda evidence: evidence.plain.mean_v[0],
    covariance=lambda evidence, _: np.zeros((evidence.v.shape[1], evidence.v.shape[1])),
    verdicts_only=True,
)
ESTIMATOR = Estimator(
    point=point, influence=influence, reasons=reasons, cautions=cautions, items=items, finite=FINITE
)
