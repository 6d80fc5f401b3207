"""One method on one evidence: accuracies and differences, closed-form or resampled."""

from __future__ import annotations

import numpy as np

from bayesjudge.baselines import intervals
from bayesjudge.baselines.columns import Column, Context, finished, no_error, percentiles
from bayesjudge.baselines.estimator import Estimator
from bayesjudge.baselines.methods import AnalyticMethod, Fitted
from bayesjudge.baselines.moments import Array, Codes, Evidence, Moments
from bayesjudge.baselines.pairs import difference_blocks, pair_items, pair_reasons, pairs
from bayesjudge.baselines.variance import correlation, covariance, difference_variance, independent_units

__all__ = ["analytic", "resampled"]


def analytic(method: AnalyticMethod, evidence: Evidence, *, prob: float) -> tuple[Column, Column]:
    """Accuracies and differences with closed-form intervals."""
    estimator = method.estimator
    cov = covariance(estimator.influence(evidence, method.ddof), evidence)
    raw = estimator.point(evidence.plain)[0]
    # Paired differences are of unclipped estimates (clipping one side would bias them); MOVER combines
    # limits that stay in [0, 1], so its points must too.
    point = raw if method.paired or not method.bounded else np.clip(raw, 0.0, 1.0)
    fit = Fitted(evidence=evidence, point=point, variance=np.diag(cov), z=intervals.normal_quantile(prob),
                 units=independent_units(evidence, estimator.items(evidence)))  # fmt: skip
    context = _single(estimator, evidence, bounded=method.bounded)
    accuracy = finished(raw, *method.limits(fit), context=context)
    return accuracy, _differences(method, fit, accuracy, cov)


def _differences(method: AnalyticMethod, fit: Fitted, accuracy: Column, cov: Array) -> Column:
    first, second = pairs(len(fit.point))
    delta = fit.point[first] - fit.point[second]
    if method.paired:
        limits = intervals.wald(delta, difference_variance(cov, first, second), fit.z)
    else:
        one, other = _terms(fit, accuracy, first), _terms(fit, accuracy, second)
        limits = intervals.mover(one, other, correlation(cov, first, second))
    context = _paired(method.estimator, fit.evidence, bounded=method.bounded)
    return finished(delta, *limits, context=context)


def _terms(fit: Fitted, accuracy: Column, chosen: Codes) -> tuple[Array, Array, Array]:
    return fit.point[chosen], accuracy.lower[chosen], accuracy.upper[chosen]


def resampled(
    estimator: Estimator, evidence: Evidence, moments: Moments, *, prob: float
) -> tuple[Column, Column]:
    """Accuracies and differences with percentile intervals; the point is the bootstrap median."""
    values = np.ascontiguousarray(estimator.point(moments).T)
    cov = covariance(estimator.influence(evidence, 0), evidence)
    between = difference_variance(cov, *pairs(len(values)))
    one = _single(estimator, evidence, bounded=estimator.bounded)
    two = _paired(estimator, evidence, bounded=estimator.bounded)
    return (
        percentiles([values], np.diag(cov), prob=prob, context=one),
        percentiles(difference_blocks(values), between, prob=prob, context=two),
    )


def _single(estimator: Estimator, evidence: Evidence, *, bounded: bool) -> Context:
    return Context(
        n=evidence.n @ (estimator.items(evidence) > 0),
        reasons=estimator.reasons(evidence.plain),
        cautions=estimator.cautions(evidence.plain),
        bounds=(0.0, 1.0),
        bounded=bounded,
        no_error=no_error(evidence),
    )


def _paired(estimator: Estimator, evidence: Evidence, *, bounded: bool) -> Context:
    reasons = pair_reasons(estimator.reasons(evidence.plain))
    return Context(
        n=pair_items(estimator.items(evidence), evidence),
        reasons=reasons,
        cautions=[""] * len(reasons),
        bounds=(-1.0, 1.0),
        bounded=bounded,
        no_error=no_error(evidence),
    )
