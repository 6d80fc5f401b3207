"""The two halves of the reliability question, comparisons and scores: posteriors and baselines of each."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from bayesjudge.baselines.reliability import (
    ScoreReliability,
    TrialReliability,
    score_baselines,
    trial_baselines,
)
from bayesjudge.counts.scores import ScoreCounts
from bayesjudge.counts.trials import TrialCounts
from bayesjudge.errors import UsageError
from bayesjudge.estimates import Estimates
from bayesjudge.inference import Fit, fit
from bayesjudge.models.repeated_trials import RepeatedTrials
from bayesjudge.studies.reliability.options import ReliabilityOptions
from bayesjudge.studies.reliability.plan import plan_frame

__all__ = ["Pairwise", "Pointwise", "pairwise", "pointwise"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Pairwise:
    """What comparisons contribute.

    Attributes
    ----------
    counts : TrialCounts
    fit : Fit
        Of `repeated_trials`.
    baseline : TrialReliability
    estimates : Estimates
        Bayesian rows first.
    items, curves, minimum, plan : pandas.DataFrame
        Of the posterior.
    """

    counts: TrialCounts
    fit: Fit
    baseline: TrialReliability
    estimates: Estimates
    items: pd.DataFrame
    curves: pd.DataFrame
    minimum: pd.DataFrame
    plan: pd.DataFrame

    @property
    def fits(self) -> tuple[Fit, ...]:
        """Its posteriors."""
        return (self.fit,)


@dataclass(frozen=True, eq=False, kw_only=True)
class Pointwise:
    """What scores contribute.

    Attributes
    ----------
    counts : ScoreCounts
    fits : tuple of Fit
        Of `pointwise_scores`; none where the scores cannot tell noise from responses.
    baseline : ScoreReliability
    estimates : Estimates
        Bayesian rows first.
    unfitted : str
        Why there is no posterior.
    """

    counts: ScoreCounts
    fits: tuple[Fit, ...]
    baseline: ScoreReliability
    estimates: Estimates
    unfitted: str = ""


def pairwise(counts: TrialCounts, options: ReliabilityOptions) -> Pairwise:
    """Fit `repeated_trials` and compute the baselines."""
    model = RepeatedTrials()
    posterior = fit(model, counts, **options.sampling)
    baseline = trial_baselines(counts, prob=options.prob, bootstrap=options.bootstrap, seed=options.seed)
    of = posterior.posterior, posterior.data
    return Pairwise(
        counts=counts, fit=posterior, baseline=baseline,
        estimates=Estimates.concat([posterior.estimates(prob=options.prob), baseline.estimates]),
        items=model.items(*of, prob=options.prob), curves=model.curves(*of, prob=options.prob),
        minimum=model.minimum(*of, prob=options.prob), plan=plan_frame(posterior, options),
    )  # fmt: skip


def pointwise(counts: ScoreCounts, options: ReliabilityOptions, *, alone: bool) -> Pointwise:
    """Fit `pointwise_scores` where its data allow, and compute the baselines.

    Raises
    ------
    UsageError
        Scores that allow no posterior, where there is nothing ``alone`` to answer from.
    """
    baseline = score_baselines(counts, prob=options.prob, bootstrap=options.bootstrap, seed=options.seed,
                               responses=options.responses)  # fmt: skip
    model = options.pointwise_scores()
    try:
        model.prepare(counts)
    except UsageError as error:
        if alone:
            raise
        return Pointwise(counts=counts, fits=(), baseline=baseline, estimates=baseline.estimates,
                         unfitted=f"scores have no posterior: {error}")  # fmt: skip
    posterior = fit(model, counts, **options.sampling)
    rows = Estimates.concat([posterior.estimates(prob=options.prob), baseline.estimates])
    return Pointwise(counts=counts, fits=(posterior,), baseline=baseline, estimates=rows)
