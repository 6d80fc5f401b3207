"""Normal intervals from estimates and their covariance, for estimators that are not of the moments' kind."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesjudge.baselines.accuracy.estimator import ALL_LABELLED
from bayesjudge.baselines.common import intervals
from bayesjudge.baselines.common.columns import Column, Context, finished, pairs
from bayesjudge.baselines.common.moments import Array
from bayesjudge.baselines.common.variance import difference_variance
from bayesjudge.counts.arrays import sums_within


def clustered_covariance(influence: Array, cluster: NDArray[np.int64]) -> Array:
    """Sum (M, M) over clusters of the outer products of their summed influences (N, M), times G/(G − 1)."""
    names, code = np.unique(cluster, return_inverse=True)
    sums = sums_within(influence, code, len(names))
    several = len(names) / (len(names) - 1.0) if len(names) > 1 else np.nan
    return np.asarray(sums.T @ sums * several)


def wald_columns(
    point: Array, cov: Array, *, n: Array, reasons: list[str], caution: str, known: NDArray[np.bool_], prob: float
) -> tuple[Column, Column]:
    """Accuracies and differences of M models."""
    z, (first, second) = intervals.normal_quantile(prob), pairs(len(point))
    one = Context(
        n=n,
        reasons=reasons,
        cautions=_cautions(known, caution),
        bounds=(0.0, 1.0),
        bounded=True,
        no_error="no standard error: the data do not determine it",
        exact=known,
    )
    accuracy = finished(point, *intervals.wald(point, np.diag(cov), z), context=one)
    two = one.of_pairs(n=n[first] + n[second], cautions=_cautions(known[first] & known[second], caution))
    delta = point[first] - point[second]
    limits = intervals.wald(delta, difference_variance(cov, first, second), z)
    return accuracy, finished(delta, *limits, context=two)


def _cautions(known: NDArray[np.bool_], caution: str) -> list[str]:
    return [ALL_LABELLED if one else caution for one in known]
