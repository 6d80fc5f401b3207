r"""Rogan–Gladen: invert ``p = (1 − q0) + Jθ`` with calibrated sensitivity and specificity (METHODS 1.2, 1.5).

Under *specific* calibration each model's labels calibrate the judge on that model; under *shared*
calibration the labels of all models together, or of one reference model, serve all, which is biased
wherever the judge errs differently on the others: by ``[θ_a(q1_a − q1_b) − (1 − θ_a)(q0_a − q0_b)]/J_b``
with b the reference. The judge's rates are kept with one more column than there are models, the last for all
labels together; an item labelled for several models is one independent unit there.

``θ̂ = fȳ_L + (1 − f)θ̂_RG``, with θ̂_RG the usual estimate from the N − n_L items without labels. Writing
``v = (1 − q0) + Jy + ε``, the labels' own share is exact and the error of the rest is

.. math:: θ̂ - θ = (1-f)\,\frac{\bar ε_U + (1-θ)(\hat q_0 - q_0) - θ(\hat q_1 - q_1)}{J}:

the labels of the unlabelled items no longer vary, so ``p(1 − p)/n_U`` of METHODS 1.2 shrinks to
``[θ q1(1 − q1) + (1 − θ) q0(1 − q0)]/n_U``, and everything by ``(1 − f)²``. Correlations of ε between models
come from the items labelled for both and count as 0 where there are none. Neglected: the correlation of
one model's calibration errors with another's verdict errors on items labelled for the first alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from bayesjudge.baselines.accuracy.estimator import Estimator, Finite, labelled_share, observed, texts
from bayesjudge.baselines.accuracy.estimators import naive_influence, naive_items, naive_point
from bayesjudge.baselines.common.intervals import covariance, effective_size, independent_units, mean_scale
from bayesjudge.baselines.common.moments import SUMS, Array, Codes, Evidence, Moments, ratio

#: J below this is rounding, not information.
SMALLEST_J = 1e-12


def _own(moments: Moments) -> Codes:
    return np.arange(moments.labelled.shape[1])


def _shared(moments: Moments) -> Codes:
    models = moments.labelled.shape[1]
    return np.full(models, models if moments.reference is None else moments.reference)


def _with_all(of_models: Array) -> Array:
    """Sums (B, M) with one more column, of all models together."""
    return np.concatenate([of_models, of_models.sum(axis=1, keepdims=True)], axis=1)


def _calibration(moments: Moments) -> Moments:
    """Moments (B, M + 1), which have the judge's rates by labels: of each model, and of all together."""
    sums: dict[str, Any] = {name: _with_all(getattr(moments, name)) for name in SUMS}
    return replace(moments, **sums)


def _point(moments: Moments, calibration: Codes, rate: Array) -> Array:
    rates = _calibration(moments)
    q0, youden = rates.specificity[:, calibration], rates.youden[:, calibration]
    numerator = rate + q0 - 1.0
    return ratio(numerator, np.where(youden > SMALLEST_J, youden, 0.0))


def _influence(evidence: Evidence, ddof: int, calibration: Codes) -> Array:
    moments = evidence.plain
    theta = _point(moments, calibration, naive_point(moments))
    youden = _calibration(moments).youden[:, calibration]
    youden = np.where(youden > SMALLEST_J, youden, np.nan)
    test = naive_influence(evidence, ddof)
    sensitivity, specificity = quality_influence(evidence, ddof)
    return (test + (1.0 - theta) * specificity[:, calibration] - theta * sensitivity[:, calibration]) / youden


def quality_influence(evidence: Evidence, ddof: int = 0) -> tuple[Array, Array]:
    """Influences (R, M + 1) of q1 and q0: ``(v − q1)/m1`` where y = 1, ``(1 − v − q0)/m0`` where y = 0."""
    rates = _calibration(evidence.plain)
    right, wrong = evidence.labelled * evidence.y, evidence.labelled * (1.0 - evidence.y)
    return (
        _mean_influence(right, evidence.v, rates.sensitivity, evidence, ddof),
        _mean_influence(wrong, 1.0 - evidence.v, rates.specificity, evidence, ddof),
    )


def _mean_influence(marks: Array, value: Array, mean: Array, evidence: Evidence, ddof: int) -> Array:
    every = _with_all(marks)
    known = np.where(every > 0, np.nan_to_num(mean), 0.0)
    return (_with_all(marks * value) - every * known) * mean_scale(evidence, every, ddof)


def _reasons(moments: Moments, calibration: Codes) -> list[str]:
    rates = _calibration(moments)
    youden = rates.youden[0, calibration]
    found = [f"Youden's J = {value:.3g} is not positive" for value in youden]
    return texts(
        len(calibration),
        [
            (moments.unlabelled[0] == 0, "no unlabelled item"),
            (rates.labelled[0, calibration] == 0, "no labelled item"),
            (rates.positives[0, calibration] == 0, "no labelled item with label 1"),
            (rates.negatives[0, calibration] == 0, "no labelled item with label 0"),
            (~(youden > SMALLEST_J), found),
        ],
    )


def _cautions(moments: Moments, calibration: Codes) -> list[str]:
    rates = _calibration(moments)
    certain1 = np.isin(rates.sensitivity[0, calibration], (0.0, 1.0))
    certain0 = np.isin(rates.specificity[0, calibration], (0.0, 1.0))
    text = "{} estimated without error: its delta variance is 0"
    return texts(
        len(calibration),
        [
            (certain1 & certain0, text.format("sensitivity and specificity")),
            (certain1, text.format("sensitivity")),
            (certain0, text.format("specificity")),
        ],
    )


def _shared_items(evidence: Evidence) -> Array:
    own = evidence.labelled if evidence.reference is None else evidence.labelled[:, [evidence.reference]]
    return naive_items(evidence) + own.sum(axis=1, keepdims=True)


def lang_reiczigel(
    p: Array, q0: Array, q1: Array, *, n: Array, m0: Array, m1: Array, z: float | Array
) -> tuple[Array, Array]:
    """Adjusted limits of a prevalence under estimated sensitivity and specificity, clipped to [0, 1].

    Lang & Reiczigel 2014, Preventive Veterinary Medicine 113; as used by Lee et al. 2026, arXiv 2511.21140.
    """
    p, n = (n * p + z * z / 2.0) / (n + z * z), n + z * z
    q0, m0 = (m0 * q0 + 1.0) / (m0 + 2.0), m0 + 2.0
    q1, m1 = (m1 * q1 + 1.0) / (m1 + 2.0), m1 + 2.0
    youden = np.where(q0 + q1 - 1.0 > SMALLEST_J, q0 + q1 - 1.0, np.nan)
    theta = (p + q0 - 1.0) / youden
    spread1, spread0 = q1 * (1.0 - q1) / m1, q0 * (1.0 - q0) / m0
    centre = theta + 2.0 * z * z * (theta * spread1 - (1.0 - theta) * spread0)
    se = np.sqrt(p * (1.0 - p) / n + theta**2 * spread1 + (1.0 - theta) ** 2 * spread0) / youden
    return np.clip(centre - z * se, 0.0, 1.0), np.clip(centre + z * se, 0.0, 1.0)


def lang_reiczigel_limits(evidence: Evidence, *, shared: bool, z: Array) -> tuple[Array, Array]:
    """Lang–Reiczigel limits (M,) of every model; dependence enters as effective numbers of items."""
    moments = evidence.plain
    calibration, rates = _shared(moments) if shared else _own(moments), _calibration(moments)
    sensitivity, specificity = quality_influence(evidence)
    right, wrong = (_with_all(evidence.labelled * y) for y in (evidence.y, 1.0 - evidence.y))
    # Of one sample, rate and calibration err against each other: that they count as independent here only widens.
    p, q0, q1 = naive_point(moments)[0], rates.specificity[0], rates.sensitivity[0]
    n = _effective(evidence, p, naive_influence(evidence, 0), naive_items(evidence))
    m0 = _effective(evidence, q0, specificity, wrong)
    m1 = _effective(evidence, q1, sensitivity, right)
    lower, upper = lang_reiczigel(p, q0[calibration], q1[calibration], n=n, m0=m0[calibration], m1=m1[calibration], z=z)
    # The adjustment can turn a J that is not positive into one that is; the estimate stays undefined.
    defined = rates.youden[0, calibration] > SMALLEST_J
    return np.where(defined, lower, np.nan), np.where(defined, upper, np.nan)


def _effective(evidence: Evidence, mean: Array, influence: Array, items: Array) -> Array:
    variance = np.diag(covariance(influence, evidence))
    return effective_size(mean, variance, independent_units(evidence, items))


def shared_bias(theta: Array, q0: Array, q1: Array, reference_q0: Array, reference_q1: Array) -> Array:
    """Asymptotic bias of a model's estimate under another's calibration (seed Appendix C).

    ``[θ(q1 − q1_ref) − (1 − θ)(q0 − q0_ref)]/J_ref``; the bias of the difference to the reference is the
    same, because the reference's own estimate is unbiased.
    """
    youden = reference_q0 + reference_q1 - 1.0
    shift = theta * (q1 - reference_q1) - (1.0 - theta) * (q0 - reference_q0)
    return ratio(np.asarray(shift), np.where(youden > SMALLEST_J, youden, 0.0))


def items_point(evidence: Evidence, unlabelled_accuracy: Array) -> Array:
    """``fȳ_L + (1 − f)θ̂_U`` (M,) from the estimate (M,) for the items without labels."""
    f = labelled_share(evidence)
    known = np.where(f > 0, f * np.nan_to_num(evidence.plain.mean_y[0]), 0.0)
    return known + np.where(f == 1, 0.0, (1.0 - f) * unlabelled_accuracy)


def items_covariance(evidence: Evidence, ddof: int, *, theta: Array, calibration: Codes) -> Array:
    """Covariance (M, M) of the errors above."""
    quality = quality_influence(evidence, ddof)
    share = np.clip(theta, 0.0, 1.0)
    sensitivity, specificity = (influence[:, calibration] for influence in quality)
    tests = _verdict_errors(evidence, ddof, share, calibration, quality)
    labels = covariance((1.0 - theta) * specificity - theta * sensitivity, evidence)
    youden = _calibration(evidence.plain).youden[0, calibration]
    scale = (1.0 - labelled_share(evidence)) / np.where(youden > 0, youden, np.nan)
    return np.outer(scale, scale) * (tests + labels)


def _verdict_errors(
    evidence: Evidence, ddof: int, share: Array, calibration: Codes, quality: tuple[Array, Array]
) -> Array:
    """Covariance (M, M) of ε̄_U: spread within the classes, mixed as on the unlabelled items."""
    moments, rates = evidence.plain, _calibration(evidence.plain)
    spread1 = np.diag(covariance(quality[0], evidence)) * rates.positives[0]
    spread0 = np.diag(covariance(quality[1], evidence)) * rates.negatives[0]
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


def _estimator(
    calibration: Callable[[Moments], Codes], items: Callable[[Evidence], Array], *, shared: bool
) -> Estimator:
    """The family ``(p̂ + q̂0 − 1)/Ĵ``, NaN where J ≤ 0; ``calibration`` says which column of `_calibration` has Ĵ, q̂0."""

    def theta(evidence: Evidence) -> Array:
        moments = evidence.plain
        return np.asarray(_point(moments, calibration(moments), moments.mean_v_unlabelled)[0])

    def finite_covariance(evidence: Evidence, ddof: int) -> Array:
        return items_covariance(evidence, ddof, theta=theta(evidence), calibration=calibration(evidence.plain))

    return Estimator(
        point=lambda moments: _point(moments, calibration(moments), naive_point(moments)),
        influence=lambda evidence, ddof: _influence(evidence, ddof, calibration(evidence.plain)),
        reasons=lambda moments: _reasons(moments, calibration(moments)),
        cautions=lambda moments: _cautions(moments, calibration(moments)),
        items=items,
        bounded=True,
        shared=shared,
        finite=Finite(point=lambda evidence: items_point(evidence, theta(evidence)), covariance=finite_covariance),
    )


#: Each model with its own labels: squares of influences sum to METHODS 1.2's variance.
SPECIFIC = _estimator(_own, observed, shared=False)
#: Every model with the labels of all, or of the reference: differences' squares sum to METHODS 1.5's (seed Appendix B).
SHARED = _estimator(_shared, _shared_items, shared=True)
