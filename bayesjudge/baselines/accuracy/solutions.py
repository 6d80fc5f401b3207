"""A family's estimates and their covariance, for either population."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesjudge.baselines.accuracy.estimator import Estimator, texts
from bayesjudge.baselines.accuracy.finite_population import Finite, labelled_share
from bayesjudge.baselines.common.moments import Array, Evidence
from bayesjudge.baselines.common.variance import covariance
from bayesjudge.estimates import Population

__all__ = ["ALL_LABELLED", "Solution", "solve"]

#: Caution where these items leave nothing open.
ALL_LABELLED = "every item is labelled: nothing left to estimate"


@dataclass(frozen=True, eq=False, kw_only=True)
class Solution:
    """Estimates of M models before any interval.

    Attributes
    ----------
    point : array (M,)
        Estimates, NaN where undefined.
    covariance : array (M, M)
        Of their errors.
    left : array (M,)
        Share of the labels' variance that is left: 1 for the superpopulation, ``1 − f`` for these items.
    exact : bool array (M,)
        Where nothing is left to estimate.
    reasons, cautions : list of str
        As in `Estimator`.
    """

    point: Array
    covariance: Array
    left: Array
    exact: NDArray[np.bool_]
    reasons: list[str]
    cautions: list[str]


def solve(
    estimator: Estimator, evidence: Evidence, *, ddof: int = 0, population: Population = "superpopulation"
) -> Solution:
    """Estimate with one family; on ``items`` a model whose items are all labelled is known exactly."""
    moments = evidence.plain
    if population == "superpopulation" or estimator.finite is None:
        size = evidence.v.shape[1]
        return Solution(
            point=estimator.point(moments)[0],
            covariance=covariance(estimator.influence(evidence, ddof), evidence),
            left=np.ones(size), exact=np.zeros(size, dtype=bool),
            reasons=estimator.reasons(moments), cautions=estimator.cautions(moments),
        )  # fmt: skip
    return _on_items(estimator, estimator.finite, evidence, ddof)


def _on_items(estimator: Estimator, finite: Finite, evidence: Evidence, ddof: int) -> Solution:
    moments, cov = evidence.plain, finite.covariance(evidence, ddof)
    complete = (moments.labelled[0] > 0) & (moments.unlabelled[0] == 0)
    judged = np.full(len(complete), finite.verdicts_only)
    return Solution(
        point=np.where(complete & ~judged, moments.mean_y[0], finite.point(evidence)),
        covariance=np.where(complete[:, None] | complete, 0.0, cov),
        left=1.0 - labelled_share(evidence),
        exact=complete | judged,
        reasons=_unless(complete, estimator.reasons(moments)),
        cautions=_cautions(estimator, finite, evidence, complete),
    )


def _unless(complete: NDArray[np.bool_], reasons: list[str]) -> list[str]:
    return ["" if known else reason for known, reason in zip(complete, reasons, strict=True)]


def _cautions(
    estimator: Estimator, finite: Finite, evidence: Evidence, complete: NDArray[np.bool_]
) -> list[str]:
    if finite.verdicts_only:
        text = "the judge taken for the truth: no sampling error on these items, its bias in no interval"
        return [text] * len(complete)
    known = texts(len(complete), [(complete, ALL_LABELLED)])
    return [mine or other for mine, other in zip(known, estimator.cautions(evidence.plain), strict=True)]
