"""One method on one evidence: accuracies and differences, closed-form or resampled."""

from __future__ import annotations

import numpy as np

from bayesjudge.baselines.accuracy.estimator import Estimator
from bayesjudge.baselines.accuracy.methods import AnalyticMethod, Fitted
from bayesjudge.baselines.accuracy.solutions import Solution, solve
from bayesjudge.baselines.common import intervals
from bayesjudge.baselines.common.columns import Column, Context, finished, no_error, percentiles
from bayesjudge.baselines.common.moments import Array, Codes, Evidence, Moments
from bayesjudge.baselines.common.pairs import difference_blocks, pair_items, pair_reasons, pairs
from bayesjudge.baselines.common.variance import correlation, difference_variance, independent_units
from bayesjudge.estimates import Population

__all__ = ["analytic", "resampled"]


def analytic(
    method: AnalyticMethod, evidence: Evidence, *, prob: float, population: Population = "superpopulation"
) -> tuple[Column, Column]:
    """Accuracies and differences with closed-form intervals."""
    found = solve(method.estimator, evidence, ddof=method.ddof, population=population)
    # Paired differences are of unclipped estimates (clipping one side would bias them); MOVER combines
    # limits that stay in [0, 1], so its points must too.
    point = found.point if method.paired or not method.bounded else np.clip(found.point, 0.0, 1.0)
    fit = Fitted(evidence=evidence, point=point, variance=np.diag(found.covariance), left=found.left,
                 z=intervals.normal_quantile(prob),
                 units=independent_units(evidence, method.estimator.items(evidence)))  # fmt: skip
    context = _single(method.estimator, evidence, found, bounded=method.bounded)
    limits = [np.where(found.exact, point, limit) for limit in method.limits(fit)]
    accuracy = finished(found.point, limits[0], limits[1], context=context)
    return accuracy, _differences(method, fit, accuracy, found)


def _differences(method: AnalyticMethod, fit: Fitted, accuracy: Column, found: Solution) -> Column:
    first, second = pairs(len(fit.point))
    delta = fit.point[first] - fit.point[second]
    if method.paired:
        limits = intervals.wald(delta, difference_variance(found.covariance, first, second), fit.z)
    else:
        one, other = _terms(fit, accuracy, first), _terms(fit, accuracy, second)
        limits = intervals.mover(one, other, correlation(found.covariance, first, second))
    context = _paired(method.estimator, fit.evidence, found, bounded=method.bounded)
    return finished(delta, *limits, context=context)


def _terms(fit: Fitted, accuracy: Column, chosen: Codes) -> tuple[Array, Array, Array]:
    return fit.point[chosen], accuracy.lower[chosen], accuracy.upper[chosen]


def resampled(
    estimator: Estimator, evidence: Evidence, moments: Moments, *, prob: float
) -> tuple[Column, Column]:
    """Accuracies and differences with percentile intervals; the point is the bootstrap median."""
    values = np.ascontiguousarray(estimator.point(moments).T)
    found = solve(estimator, evidence)
    between = difference_variance(found.covariance, *pairs(len(values)))
    one = _single(estimator, evidence, found, bounded=estimator.bounded)
    two = _paired(estimator, evidence, found, bounded=estimator.bounded)
    return (
        percentiles([values], np.diag(found.covariance), prob=prob, context=one),
        percentiles(difference_blocks(values), between, prob=prob, context=two),
    )


def _single(estimator: Estimator, evidence: Evidence, found: Solution, *, bounded: bool) -> Context:
    return Context(
        n=evidence.n @ (estimator.items(evidence) > 0), reasons=found.reasons, cautions=found.cautions,
        bounds=(0.0, 1.0), bounded=bounded, no_error=no_error(evidence), exact=found.exact,
    )  # fmt: skip


def _paired(estimator: Estimator, evidence: Evidence, found: Solution, *, bounded: bool) -> Context:
    first, second = pairs(len(found.exact))
    reasons, exact = pair_reasons(found.reasons), found.exact[first] & found.exact[second]
    return Context(
        n=pair_items(estimator.items(evidence), evidence), reasons=reasons,
        cautions=[found.cautions[a] if known else "" for a, known in zip(first, exact, strict=True)],
        bounds=(-1.0, 1.0), bounded=bounded, no_error=no_error(evidence),
        exact=exact,
    )  # fmt: skip
