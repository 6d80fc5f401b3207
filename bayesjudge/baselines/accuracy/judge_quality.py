"""How good the judge is on each model: sensitivity, specificity, J, and ΔJ between models (METHODS 1.7)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bayesjudge.baselines.accuracy.estimator import texts
from bayesjudge.baselines.accuracy.rogan_gladen import quality_influence
from bayesjudge.baselines.common import intervals
from bayesjudge.baselines.common.bootstrap import resampled_moments
from bayesjudge.baselines.common.columns import (
    Column,
    Context,
    difference_blocks,
    finished,
    no_error,
    pair_items,
    pair_names,
    pair_reasons,
    pairs,
    percentiles,
    rows,
    slices,
)
from bayesjudge.baselines.common.intervals import (
    correlation,
    covariance,
    difference_variance,
    effective_size,
    independent_units,
)
from bayesjudge.baselines.common.moments import Array, Codes, Evidence, Moments
from bayesjudge.counts import VerdictCounts
from bayesjudge.estimates import Estimates

#: Bounds of each estimand; J itself runs from −1 (always wrong) to 1 (always right).
_BOUNDS = {"sensitivity": (0.0, 1.0), "specificity": (0.0, 1.0), "youden": (-1.0, 1.0), "delta_youden": (-2.0, 2.0)}


def judge_quality(
    counts: VerdictCounts, judge: str, *, prob: float = 0.95, bootstrap: int = 10_000, seed: int = 0
) -> Estimates:
    """Sensitivity, specificity and Youden's J of a judge on each model, and ΔJ for each pair of models.

    Parameters
    ----------
    counts : VerdictCounts
        From `bayesjudge.counts.count_verdicts`.
    judge : str
    prob, bootstrap, seed : float, int, int
        Confidence level; bootstrap replicates (0 leaves their rows out), and their seed.

    Returns
    -------
    Estimates
        Estimands ``sensitivity``, ``specificity``, ``youden`` per model and ``delta_youden`` per pair, with
        methods ``wilson`` (J and ΔJ: Wilson limits combined by MOVER), ``wald`` (ΔJ: delta method on paired
        items) and ``bootstrap`` (percentile; the point is the bootstrap median). ``n`` counts the labelled
        items behind the row. Repeated runs enter as the item's mean verdict. Undefined: NaN with the widest
        interval.

    Raises
    ------
    UsageError
        An unknown judge or an option out of range.

    Notes
    -----
    A ΔJ interval that excludes 0 says that shared calibration is not defensible; including 0 is necessary
    for it, not sufficient (seed section 4.4).
    """
    models, between = list(counts.models), pair_names(counts.models)
    single: list[dict[str, Any]] = []
    paired: list[dict[str, Any]] = []
    for number, (group, evidence) in enumerate(slices(counts, judge, prob=prob, bootstrap=bootstrap)):
        rng = np.random.default_rng(np.random.SeedSequence([seed, number]))
        columns = list(_closed_form(evidence, prob))
        if bootstrap:
            columns += _bootstrapped(evidence, resampled_moments(evidence, replicates=bootstrap, rng=rng), prob)
        for estimand, method, column in columns:
            fixed = {"estimand": estimand, "method": method, "prob": prob, "group": group}
            pairwise = estimand == "delta_youden"
            (paired if pairwise else single).extend(rows(column, between if pairwise else models, **fixed))
    return Estimates.from_rows(single + paired)


def _closed_form(evidence: Evidence, prob: float) -> Iterator[tuple[str, str, Column]]:
    q1, q0 = _rate(evidence, "sensitivity", prob), _rate(evidence, "specificity", prob)
    yield "sensitivity", "wilson", q1
    yield "specificity", "wilson", q0
    # J = q1 − (1 − q0): a difference of two independent proportions, hence Newcombe's interval. Within
    # clusters the two may be correlated; their influences say how much.
    cov = covariance(np.hstack([rate[:, :-1] for rate in quality_influence(evidence)]), evidence)
    own = np.arange(len(q1.point))
    false_positives = (1.0 - q0.point, 1.0 - q0.upper, 1.0 - q0.lower)
    link = -correlation(cov, own, own + len(own))
    limits = intervals.mover(_terms(q1, own), false_positives, link)
    youden = finished(evidence.plain.youden[0], *limits, context=_context(evidence, "youden"))
    yield "youden", "wilson", youden
    yield from _delta(evidence, youden, prob)


def _rate(evidence: Evidence, estimand: str, prob: float) -> Column:
    point: Array = getattr(evidence.plain, estimand)[0]
    right = evidence.y if estimand == "sensitivity" else 1.0 - evidence.y
    labels = evidence.labelled * right
    n = effective_size(point, np.diag(_covariance(evidence, estimand)), independent_units(evidence, labels))
    limits = intervals.wilson(point, np.where(n > 0, n, np.nan), intervals.quantiles(evidence, labels, prob))
    return finished(point, *limits, context=_context(evidence, estimand))


def _covariance(evidence: Evidence, estimand: str) -> Array:
    sensitivity, specificity = (rate[:, :-1] for rate in quality_influence(evidence))
    influences = {"sensitivity": sensitivity, "specificity": specificity}
    return covariance(influences.get(estimand, sensitivity + specificity), evidence)


def _delta(evidence: Evidence, youden: Column, prob: float) -> Iterator[tuple[str, str, Column]]:
    first, second = pairs(len(youden.point))
    cov, context = _covariance(evidence, "youden"), _context(evidence, "delta_youden")
    delta = youden.point[first] - youden.point[second]
    z = intervals.quantiles(evidence, evidence.labelled, prob)
    wald = intervals.wald(delta, difference_variance(cov, first, second), np.maximum(z[first], z[second]))
    yield "delta_youden", "wald", finished(delta, *wald, context=context)
    link = correlation(cov, first, second)
    combined = intervals.mover(_terms(youden, first), _terms(youden, second), link)
    yield "delta_youden", "wilson", finished(delta, *combined, context=context)


def _terms(column: Column, chosen: Codes) -> tuple[Array, Array, Array]:
    return column.point[chosen], column.lower[chosen], column.upper[chosen]


def _bootstrapped(evidence: Evidence, moments: Moments, prob: float) -> Iterator[tuple[str, str, Column]]:
    for estimand in ("sensitivity", "specificity", "youden"):
        values = np.ascontiguousarray(getattr(moments, estimand).T)
        variance, context = np.diag(_covariance(evidence, estimand)), _context(evidence, estimand)
        yield estimand, "bootstrap", percentiles([values], variance, prob=prob, context=context)
    between = difference_variance(_covariance(evidence, "youden"), *pairs(moments.youden.shape[1]))
    blocks = difference_blocks(np.ascontiguousarray(moments.youden.T))
    context = _context(evidence, "delta_youden")
    yield "delta_youden", "bootstrap", percentiles(blocks, between, prob=prob, context=context)


def _context(evidence: Evidence, estimand: str) -> Context:
    moments = evidence.plain
    right = (moments.positives[0] == 0, "no labelled item with label 1")
    wrong = (moments.negatives[0] == 0, "no labelled item with label 0")
    behind = {"sensitivity": (moments.positives, [right]), "specificity": (moments.negatives, [wrong])}
    items, cases = behind.get(estimand, (moments.labelled, [right, wrong]))
    n, reasons = items[0], texts(items.shape[1], cases)
    if estimand == "delta_youden":
        n, reasons = pair_items(evidence.labelled, evidence), pair_reasons(reasons)
    cautions, bounds = [""] * len(reasons), _BOUNDS[estimand]
    return Context(n=n, reasons=reasons, cautions=cautions, bounds=bounds, bounded=True, no_error=no_error(evidence))
