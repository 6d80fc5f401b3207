"""Every baseline's accuracies and differences for one judge, as `Estimates`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from bayesjudge.baselines.accuracy.estimator import Estimator
from bayesjudge.baselines.accuracy.fits import analytic, resampled
from bayesjudge.baselines.accuracy.methods import ANALYTIC, HALVED, RESAMPLED, choose
from bayesjudge.baselines.common.bootstrap import half_replicates, resampled_moments
from bayesjudge.baselines.common.columns import Column, noted
from bayesjudge.baselines.common.moments import Evidence
from bayesjudge.baselines.common.pairs import pair_names
from bayesjudge.baselines.common.slices import rows, slices
from bayesjudge.counts import VerdictCounts
from bayesjudge.estimates import Estimates, Population, estimand_of

__all__ = ["accuracy_baselines"]


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
        Model whose labels calibrate the judge for all models under ``rogan-gladen[shared]``; by default
        the model with most labelled items (the first on ties). The note names it.
    bootstrap : int
        Bootstrap replicates; 0 leaves the bootstrap methods out.
    seed : int
        Seed of the bootstrap; equal seeds give equal results, whatever the methods chosen.
    population : {"superpopulation", "items"}
        Accuracy on questions like these, or on exactly these items (`finite_population`): rows are then named
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
    superpopulation. With clusters, closed-form variances are cluster-robust and the bootstrap draws whole
    clusters.

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
    chosen = choose(methods, replicates=bootstrap, population=population)
    accuracies, differences = [], []
    units = list(counts.models), pair_names(counts.models)
    for number, part in enumerate(slices(counts, judge, prob=prob, bootstrap=bootstrap, reference=reference)):
        streams = np.random.SeedSequence([seed, number]).spawn(2)
        for method, estimator, accuracy, difference in _fitted(
            part.evidence, chosen, prob, bootstrap, streams, population=population
        ):
            note = (
                f"calibrated on labels of {counts.models[part.evidence.reference]}"
                if estimator.shared
                else ""
            )
            fixed = {"method": method, "prob": prob, "group": part.group}
            accuracies += rows(noted(accuracy, [note] * len(units[0])), units[0], estimand=names[0], **fixed)
            differences += rows(
                noted(difference, [note] * len(units[1])), units[1], estimand=names[1], **fixed
            )
    return Estimates.from_rows(accuracies + differences)


def _fitted(
    evidence: Evidence, chosen: tuple[str, ...], prob: float, replicates: int,
    streams: list[np.random.SeedSequence], *, population: Population,
) -> Iterator[tuple[str, Estimator, Column, Column]]:  # fmt: skip
    for name in chosen:
        if name in ANALYTIC:
            yield (
                name,
                ANALYTIC[name].estimator,
                *analytic(ANALYTIC[name], evidence, prob=prob, population=population),
            )
    # One stream for each set of replicates: choosing fewer methods does not change the others.
    for family, draw, stream in (
        (RESAMPLED, resampled_moments, streams[0]),
        (HALVED, half_replicates, streams[1]),
    ):
        wanted = [name for name in chosen if name in family]
        if wanted:
            moments = draw(evidence, replicates=replicates, rng=np.random.default_rng(stream))
            for name in wanted:
                yield name, family[name], *resampled(family[name], evidence, moments, prob=prob)
