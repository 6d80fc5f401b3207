r"""Rogan–Gladen for exactly these items: labels where they are known, the corrected judge elsewhere.

``θ̂ = fȳ_L + (1 − f)θ̂_RG``, with θ̂_RG the usual estimate from the N − n_L items without labels. Writing
``v = (1 − q0) + Jy + ε``, the labels' own share is exact and the error of the rest is

.. math:: θ̂ - θ = (1-f)\,\frac{\bar ε_U + (1-θ)(\hat q_0 - q_0) - θ(\hat q_1 - q_1)}{J}:

the labels of the unlabelled items no longer vary, so ``p(1 − p)/n_U`` of METHODS 1.2 shrinks to
``[θ q1(1 − q1) + (1 − θ) q0(1 − q0)]/n_U``, and everything by ``(1 − f)²``. Correlations of ε between models
come from the items labelled for both and count as 0 where there are none. Neglected: the correlation of
one model's calibration errors with another's verdict errors on items labelled for the first alone.
"""

from __future__ import annotations

import numpy as np

from bayesjudge.baselines.accuracy.finite_population import labelled_share
from bayesjudge.baselines.common.moments import Array, Codes, Evidence, ratio
from bayesjudge.baselines.common.variance import covariance, mean_scale

__all__ = ["items_covariance", "items_point"]


def items_point(evidence: Evidence, unlabelled_accuracy: Array) -> Array:
    """``fȳ_L + (1 − f)θ̂_U`` (M,) from the estimate (M,) for the items without labels."""
    f = labelled_share(evidence)
    known = np.where(f > 0, f * np.nan_to_num(evidence.plain.mean_y[0]), 0.0)
    return known + np.where(f == 1, 0.0, (1.0 - f) * unlabelled_accuracy)


def items_covariance(
    evidence: Evidence, ddof: int, *, theta: Array, calibration: Codes, quality: tuple[Array, Array]
) -> Array:
    """Covariance (M, M) of the errors above.

    Parameters
    ----------
    evidence : Evidence
        The data.
    ddof : int
        As in `mean_scale`.
    theta : array (M,)
        Estimated accuracy on the items without labels.
    calibration : int array (M,)
        Whose labels calibrate each model.
    quality : (array (R, M), array (R, M))
        Influences of sensitivity and specificity.
    """
    share = np.clip(theta, 0.0, 1.0)
    sensitivity, specificity = (influence[:, calibration] for influence in quality)
    tests = _verdict_errors(evidence, ddof, share, calibration, quality)
    labels = covariance((1.0 - theta) * specificity - theta * sensitivity, evidence)
    youden = evidence.plain.youden[0, calibration]
    scale = (1.0 - labelled_share(evidence)) / np.where(youden > 0, youden, np.nan)
    return np.outer(scale, scale) * (tests + labels)


def _verdict_errors(
    evidence: Evidence, ddof: int, share: Array, calibration: Codes, quality: tuple[Array, Array]
) -> Array:
    """Covariance (M, M) of ε̄_U: spread within the classes, mixed as on the unlabelled items."""
    moments = evidence.plain
    spread1 = np.diag(covariance(quality[0], evidence)) * moments.positives[0]
    spread0 = np.diag(covariance(quality[1], evidence)) * moments.negatives[0]
    deviation = np.sqrt(share * spread1[calibration] + (1.0 - share) * spread0[calibration])
    n = moments.unlabelled[0]
    overlap = (evidence.n[:, None] * evidence.unlabelled).T @ evidence.unlabelled
    together = np.nan_to_num(ratio(overlap, np.outer(n, n)))
    return _error_correlation(evidence, ddof) * np.outer(deviation, deviation) * together


def _error_correlation(evidence: Evidence, ddof: int) -> Array:
    """Correlation (M, M) of ``ε = v − E(v | y)`` between models, from the items labelled for both."""
    moments = evidence.plain
    expected = np.where(evidence.y > 0, moments.sensitivity, 1.0 - moments.specificity)
    residual = np.where(evidence.labelled > 0, evidence.v - expected, 0.0)
    cov = np.nan_to_num(covariance(residual * mean_scale(evidence, evidence.labelled, ddof), evidence))
    n = moments.labelled[0]
    both = (evidence.n[:, None] * evidence.labelled).T @ evidence.labelled
    spread = np.sqrt(np.diag(cov))
    # Each covariance rests on the items labelled for both; the standard deviations on all labelled.
    raw = ratio(cov * np.sqrt(np.outer(n, n)), np.outer(spread, spread) * both)
    found = np.clip(np.nan_to_num(raw), -1.0, 1.0)
    np.fill_diagonal(found, 1.0)
    return found
