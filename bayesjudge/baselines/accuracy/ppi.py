"""Prediction-powered inference for a mean: PPI (λ = 1) and PPI++ (λ tuned), METHODS 1.3.

References: Angelopoulos et al. 2023, Science 382; Angelopoulos, Duchi & Zrnic 2024, arXiv 2311.01453.
Conventions are those of the authors' package: λ with divisor n_L for the covariance and n − 1 for the
pooled variance, both variances of the interval with divisors n_L and n_U, λ clipped to [0, 1].
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bayesjudge.baselines.accuracy.eif import residual_influence
from bayesjudge.baselines.accuracy.estimator import Estimator, no_notes, texts
from bayesjudge.baselines.accuracy.finite_population import Finite, labelled_share, residual_covariance
from bayesjudge.baselines.common.moments import Array, Evidence, Moments, ratio
from bayesjudge.baselines.common.variance import mean_scale

__all__ = ["PLUS", "PPI", "PREDICTED", "rectified", "shared_rectified", "tuned", "with_lambda"]


def tuned(moments: Moments) -> Array:
    """Variance-minimising ``λ*`` (B, M) in [0, 1]; 0, labels alone, without test items or variation."""
    room = (1.0 + ratio(moments.labelled, moments.unlabelled)) * moments.variance_pooled
    best = ratio(moments.covariance, np.where(room > 0, room, 0.0))
    return np.clip(np.where(np.isnan(best), 0.0, best), 0.0, 1.0)


def rectified(moments: Moments, lam: Array) -> Array:
    """``ȳ_L + λ(v̄_U − v̄_L)`` (B, M); the labelled mean where λ is 0."""
    shift = np.where(lam == 0, 0.0, lam * (moments.mean_v_unlabelled - moments.mean_v_labelled))
    return moments.mean_y + shift


def shared_rectified(moments: Moments, lam: Array) -> Array:
    """The same with the reference model's labels for all: Rogan–Gladen when ``λ = 1/J`` (seed App. A.2)."""
    mean_y, mean_v = moments.mean_y[:, [moments.reference]], moments.mean_v_labelled[:, [moments.reference]]
    return mean_y + lam * (moments.mean_v_unlabelled - mean_v)


def _one(moments: Moments) -> Array:
    return np.ones_like(moments.labelled)


def _share_unlabelled(moments: Moments) -> Array:
    return np.nan_to_num(ratio(moments.unlabelled, moments.total))


def _influence(evidence: Evidence, ddof: int, lam: Array) -> Array:
    # λ̂'s own sampling error has no first-order effect: it multiplies a difference with mean 0.
    labels = residual_influence(evidence, ddof, lam)
    tests = evidence.unlabelled * lam * (evidence.v - evidence.plain.mean_v_unlabelled)
    return labels + np.where(lam == 0, 0.0, tests * mean_scale(evidence, evidence.unlabelled, ddof))


def _finite(lam_of: Callable[[Moments], Array]) -> Finite:
    """On these items the estimate is the same; its error is that of ``y − bv`` with ``b = λ/(1 − f)``."""

    def cov(evidence: Evidence, ddof: int) -> Array:
        left = 1.0 - labelled_share(evidence)[None, :]
        slope = np.nan_to_num(ratio(lam_of(evidence.plain), left))
        return residual_covariance(residual_influence(evidence, ddof, slope), evidence)

    return Finite(point=lambda evidence: rectified(evidence.plain, lam_of(evidence.plain))[0], covariance=cov)


def _no_label(moments: Moments) -> list[str]:
    return texts(moments.labelled.shape[1], [(moments.labelled[0] == 0, "no labelled item")])


def _no_label_or_test(moments: Moments) -> list[str]:
    return texts(
        moments.labelled.shape[1],
        [(moments.labelled[0] == 0, "no labelled item"), (moments.unlabelled[0] == 0, "no unlabelled item")],
    )


def _labels_alone(moments: Moments) -> list[str]:
    alone = (tuned(moments)[0] == 0) & (moments.labelled[0] > 0)
    return texts(len(alone), [(alone, "λ = 0: the labels alone")])


def with_lambda(
    lam: Callable[[Moments], Array],
    reasons: Callable[[Moments], list[str]],
    cautions: Callable[[Moments], list[str]],
) -> Estimator:
    """Estimator ``ȳ_L + λ(v̄_U − v̄_L)`` for one way to choose λ."""
    return Estimator(
        point=lambda moments: rectified(moments, lam(moments)),
        influence=lambda evidence, ddof: _influence(evidence, ddof, lam(evidence.plain)),
        reasons=reasons, cautions=cautions, finite=_finite(lam),
    )  # fmt: skip


PPI = with_lambda(_one, _no_label_or_test, no_notes)
PLUS = with_lambda(tuned, _no_label, _labels_alone)
#: For a v that is itself the prediction of y: ``ȳ_L + v̄ − v̄_L`` with v̄ over all items, the EIF of slope 1.
PREDICTED = with_lambda(_share_unlabelled, _no_label, no_notes)
