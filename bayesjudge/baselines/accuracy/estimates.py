"""Every baseline's accuracies and differences for one judge, as `Estimates`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from bayesjudge.baselines.accuracy.estimator import Estimator, Solution, solve
from bayesjudge.baselines.accuracy.methods import ANALYTIC, HALVED, RESAMPLED, AnalyticMethod, choose
from bayesjudge.baselines.common import intervals
from bayesjudge.baselines.common.bootstrap import half_replicates, resampled_moments
from bayesjudge.baselines.common.columns import (
    Column,
    Context,
    difference_blocks,
    finished,
    no_error,
    noted,
    pair_items,
    pair_names,
    pairs,
    percentiles,
    rows,
    slices,
)
from bayesjudge.baselines.common.intervals import correlation, difference_variance
from bayesjudge.baselines.common.moments import Evidence, Moments
from bayesjudge.counts import VerdictCounts
from bayesjudge.estimates import Estimates, Population, estimand_of


def accuracy_baselines(
    counts: VerdictCounts,
    judge: str,
    *,
    prob: float = 0.95,
    methods: Iterable[str] | None = None,
    reference: str | None = None,
    bootstrap: int = 10_000,
    seed: int = 0,
    population: Population = "superpopulation",
) -> Estimates:
    """Frequentist estimates of every model's accuracy and of every difference, for one judge.

    Parameters
    ----------
    counts : VerdictCounts
        From `bayesjudge.counts.count_verdicts`.
    judge : str
        Which judge's verdicts to use.
    prob : float
        Confidence level of the intervals.
    methods : iterable of str, optional
        Some of `bayesjudge.baselines.METHODS`; all by default.
    reference : str, optional
        Model whose labels calibrate the judge for all models under ``rogan-gladen[shared]``; by default the
        labels of all models do. The note says which.
    bootstrap : int
        Bootstrap replicates; 0 leaves the bootstrap methods out.
    seed : int
        Seed of the bootstrap; equal seeds give equal results, whatever the methods chosen.
    population : {"superpopulation", "items"}
        Accuracy on questions like these, or on exactly these items (`estimator.Finite`): rows are then named
        ``accuracy (these items)`` and so on, and the methods are `ITEMS_METHODS`.

    Returns
    -------
    Estimates
        All ``accuracy`` rows, then all ``difference`` rows (``a − b``, a before b in the models' order). With
        groups, rows over all items come first (``group`` empty), then each group's own estimates.
        An undefined estimate is NaN with the interval [0, 1] ([−1, 1] for a difference) and its reason in
        the note. ``n`` counts the items the method used.

    Raises
    ------
    UsageError
        An unknown judge, method or reference, or an option out of range.

    Notes
    -----
    Labelled items are taken for a random choice of the items, these for a random sample of the
    superpopulation. Where the table states with which probability each label was drawn, the methods are
    `WEIGHTED_METHODS`. With clusters, closed-form variances are cluster-robust, their intervals Student's with one
    degree of freedom less than clusters with a label, and the bootstrap draws whole clusters.

    Examples
    --------
    >>> import pandas as pd
    >>> from bayesjudge.counts import count_verdicts
    >>> from bayesjudge.tables import Verdicts
    >>> verdict, label = [1, 1, 1, 0, 0, 1, 1, 0, 1, 1], [1, 1, 0, 0, 0] + [None] * 5
    >>> frame = pd.DataFrame({"item": range(10), "model": "m", "verdict": verdict, "label": label})
    >>> counts = count_verdicts(Verdicts.from_frame(frame))
    >>> found = accuracy_baselines(counts, "judge", methods=["naive", "eif"]).frame
    >>> found[["method", "point"]].round(3).to_dict("records")
    [{'method': 'naive', 'point': 0.8}, {'method': 'eif', 'point': 0.467}]
    """
    names = [estimand_of(name, population) for name in ("accuracy", "difference")]
    chosen = choose(methods, replicates=bootstrap, population=population, weighted=counts.weighted)
    accuracies, differences = [], []
    units = list(counts.models), pair_names(counts.models)
    parts = slices(counts, judge, prob=prob, bootstrap=bootstrap, reference=reference)
    for number, (group, evidence) in enumerate(parts):
        streams = np.random.SeedSequence([seed, number]).spawn(2)
        fitted = _fitted(evidence, chosen, prob, bootstrap, streams, population=population)
        for method, estimator, accuracy, difference in fitted:
            whose = "all models" if reference is None else reference
            note = f"calibrated on labels of {whose}" if estimator.shared else ""
            fixed = {"method": method, "prob": prob, "group": group}
            accuracies += rows(noted(accuracy, [note] * len(units[0])), units[0], estimand=names[0], **fixed)
            differences += rows(noted(difference, [note] * len(units[1])), units[1], estimand=names[1], **fixed)
    return Estimates.from_rows(accuracies + differences)


def _fitted(
    evidence: Evidence,
    chosen: tuple[str, ...],
    prob: float,
    replicates: int,
    streams: list[np.random.SeedSequence],
    *,
    population: Population,
) -> Iterator[tuple[str, Estimator, Column, Column]]:
    for name in chosen:
        if name in ANALYTIC:
            method = ANALYTIC[name]
            yield name, method.estimator, *analytic(method, evidence, prob=prob, population=population)
    # One stream for each set of replicates: choosing fewer methods does not change the others.
    for family, draw, stream in ((RESAMPLED, resampled_moments, streams[0]), (HALVED, half_replicates, streams[1])):
        wanted = [name for name in chosen if name in family]
        if wanted:
            moments = draw(evidence, replicates=replicates, rng=np.random.default_rng(stream))
            for name in wanted:
                yield name, family[name], *resampled(family[name], evidence, moments, prob=prob)


def analytic(
    method: AnalyticMethod, evidence: Evidence, *, prob: float, population: Population = "superpopulation"
) -> tuple[Column, Column]:
    """Accuracies and differences with closed-form intervals."""
    found = solve(method.estimator, evidence, ddof=method.ddof, population=population)
    # Paired differences are of unclipped estimates (clipping one side would bias them); MOVER combines
    # limits that stay in [0, 1], so its points must too.
    point = found.point if method.paired or not method.bounded else np.clip(found.point, 0.0, 1.0)
    items = method.estimator.items(evidence)
    labels = items * (evidence.labelled > 0)
    # Labels are in fewer clusters than verdicts; where a method takes none, its verdicts count.
    z = intervals.quantiles(evidence, np.where(labels.any(axis=0), labels, items), prob)
    limits = method.limits(evidence, replace(found, point=point), z)
    single, paired = _contexts(method.estimator, evidence, found, bounded=method.bounded)
    lower, upper = (np.where(found.exact, point, limit) for limit in limits)
    accuracy = finished(found.point, lower, upper, context=single)
    first, second = pairs(len(point))
    delta, cov = point[first] - point[second], found.covariance
    if method.paired:
        between = intervals.wald(delta, difference_variance(cov, first, second), np.maximum(z[first], z[second]))
    else:
        one, other = ((point[each], accuracy.lower[each], accuracy.upper[each]) for each in (first, second))
        between = intervals.mover(one, other, correlation(cov, first, second))
    return accuracy, finished(delta, *between, context=paired)


def resampled(estimator: Estimator, evidence: Evidence, moments: Moments, *, prob: float) -> tuple[Column, Column]:
    """Accuracies and differences with percentile intervals; the point is the bootstrap median."""
    values = np.ascontiguousarray(estimator.point(moments).T)
    found = solve(estimator, evidence)
    between = difference_variance(found.covariance, *pairs(len(values)))
    single, paired = _contexts(estimator, evidence, found, bounded=estimator.bounded)
    return (
        percentiles([values], np.diag(found.covariance), prob=prob, context=single),
        percentiles(difference_blocks(values), between, prob=prob, context=paired),
    )


def _contexts(estimator: Estimator, evidence: Evidence, found: Solution, *, bounded: bool) -> tuple[Context, Context]:
    """Of the accuracies and of their differences."""
    items, (first, second) = estimator.items(evidence), pairs(len(found.exact))
    single = Context(
        n=evidence.n @ (items > 0),
        reasons=found.reasons,
        cautions=found.cautions,
        bounds=(0.0, 1.0),
        bounded=bounded,
        no_error=no_error(evidence),
        exact=found.exact,
    )
    exact = found.exact[first] & found.exact[second]
    cautions = [found.cautions[a] if known else "" for a, known in zip(first, exact, strict=True)]
    return single, single.of_pairs(n=pair_items(items, evidence), cautions=cautions)
