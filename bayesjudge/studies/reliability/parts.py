"""The two halves of the reliability question, comparisons and scores: posteriors and baselines of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bayesjudge.baselines.reliability import (
    ScoreReliability,
    TrialReliability,
    score_baselines,
    score_means,
    trial_baselines,
)
from bayesjudge.counts.scores import ScoreCounts
from bayesjudge.counts.trials import TrialCounts
from bayesjudge.effects import POSITION, PREFERENCE, SCORE
from bayesjudge.errors import UsageError
from bayesjudge.estimates import Estimates
from bayesjudge.inference import Fit, Fitting
from bayesjudge.models.pointwise_scores import PointwiseScores
from bayesjudge.models.repeated_trials import RepeatedTrials
from bayesjudge.models.repeated_trials.verdict_draws import VerdictDraws
from bayesjudge.options import ReliabilityOptions
from bayesjudge.planning.trials import allocate
from bayesjudge.studies.common.methods import believing


@dataclass(frozen=True, eq=False, kw_only=True)
class Pairwise:
    """What comparisons contribute.

    fit: Of `repeated_trials`.
    estimates: Bayesian rows first.
    items, curves, minimum, plan: Of the posterior.
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

    fits: Of `pointwise_scores`; none where the scores cannot tell noise from responses.
    estimates: Bayesian rows first.
    unfitted: Why there is no posterior.
    """

    counts: ScoreCounts
    fits: tuple[Fit, ...]
    baseline: ScoreReliability
    estimates: Estimates
    unfitted: str = ""


def own_models(options: ReliabilityOptions) -> tuple[RepeatedTrials, PointwiseScores]:
    """Models of comparisons and of scores, with the formulas that are given."""
    scores = PointwiseScores(likelihood=options.likelihood, formulas=options.formulas_of(SCORE))
    return RepeatedTrials(formulas=options.formulas_of(PREFERENCE, POSITION)), scores


def pairwise_job(counts: TrialCounts, options: ReliabilityOptions) -> Fitting:
    """The fit of `repeated_trials`."""
    return Fitting(model=believing(own_models(options)[0], options), table=counts, **options.sampling)


def pairwise(posterior: Fit, counts: TrialCounts, options: ReliabilityOptions) -> Pairwise:
    """Estimates of the fit, and the baselines."""
    model: Any = posterior.model
    baseline = trial_baselines(counts, prob=options.prob, bootstrap=options.bootstrap, seed=options.seed)
    results = model.results(posterior.posterior, posterior.data)
    rows = results.estimates(prob=options.prob).with_note(posterior.gate.note)
    return Pairwise(
        counts=counts,
        fit=posterior,
        baseline=baseline,
        estimates=Estimates.concat([rows, baseline.estimates, *_of_categories(posterior, counts, options)]),
        items=results.items(prob=options.prob),
        curves=results.curves(prob=options.prob, observed=False),
        minimum=results.minimum(prob=options.prob),
        plan=plan_frame(results.draws, options),
    )


def _of_categories(posterior: Fit, counts: TrialCounts, options: ReliabilityOptions) -> Iterator[Estimates]:
    """The baselines' rows of each category that formulas group items by."""
    data = posterior.data
    items = np.array(data.coords["item"])
    for k, category in enumerate(data.coords.get("of_category", ())):
        some = counts.for_items(items[np.asarray(data["member"])[:, k] > 0])
        found = trial_baselines(some, prob=options.prob, bootstrap=options.bootstrap, seed=options.seed)
        kept = found.estimates.where(estimand=("flip_rate", "position_effect")).frame
        yield Estimates(kept.assign(estimand=kept["estimand"] + f"[{category}]"))


def pointwise_job(counts: ScoreCounts, options: ReliabilityOptions, *, alone: bool) -> Fitting | str:
    """The fit of `pointwise_scores`, or why its data allow none."""
    model = believing(own_models(options)[1], options)
    try:
        model.prepare(counts)
    except UsageError as error:
        if alone or options.formulas_of(SCORE):
            raise
        return f"scores have no posterior: {error}"
    return Fitting(model=model, table=counts, **options.sampling)


def pointwise(posterior: Fit | str, counts: ScoreCounts, options: ReliabilityOptions) -> Pointwise:
    """Estimates of the fit, where there is one, and the baselines."""
    baseline = score_baselines(
        counts, prob=options.prob, bootstrap=options.bootstrap, seed=options.seed, responses=options.responses
    )
    if isinstance(posterior, str):
        return Pointwise(counts=counts, fits=(), baseline=baseline, estimates=baseline.estimates, unfitted=posterior)
    means = _means_of_categories(posterior, counts, options)
    rows = Estimates.concat([posterior.estimates(prob=options.prob), baseline.estimates, *means])
    return Pointwise(counts=counts, fits=(posterior,), baseline=baseline, estimates=rows)


def _means_of_categories(posterior: Fit, counts: ScoreCounts, options: ReliabilityOptions) -> Iterator[Estimates]:
    """Mean scores of each category that a formula groups responses by."""
    data, cells = posterior.data, counts.cells
    _, target = np.unique(np.column_stack([cells.item, cells.response]), axis=0, return_inverse=True)
    for k, category in enumerate(data.coords.get("of_category", ())):
        among = np.asarray(data["member"])[target.reshape(-1), k] > 0
        yield score_means(counts, prob=options.prob, estimand=f"mean_score[{category}]", among=among)


#: Models that always answer: the tables of items and curves are theirs.
OWN = ("repeated_trials", "pointwise_scores")
#: Posterior draws that a plan rests on.
DRAWS = 100
_COLUMNS = ["judge", "group", "item", "trials", "extra", "wrong", "wrong_after", "wrong_uniform"]


def plan_frame(verdicts: VerdictDraws, options: ReliabilityOptions) -> pd.DataFrame:
    """Further trials of every item of every judge and condition, each with a budget of its own.

    Returns: ``judge, group, item, trials`` (made), ``extra`` (to make), ``wrong`` and ``wrong_after`` (probability that
        the majority is wrong, without and with them) and ``wrong_uniform`` (the judge's expected number of wrong
        majorities had the same trials been spread evenly).
    """
    names = np.array(verdicts.data.coords["item"], dtype=object)
    found = []
    for part in verdicts.parts():
        draws = part.q.reshape(-1, *part.q.shape[2:])
        kept = np.unique(np.linspace(0, len(draws) - 1, min(DRAWS, len(draws))).astype(int))
        plan = allocate(draws[kept], budget=options.budget_of(part.items), counts=part.observed)
        found.append(
            pd.DataFrame(
                {
                    "judge": part.name[0],
                    "group": part.name[1],
                    "item": names[part.units[:, 1]],
                    "trials": part.observed.sum(axis=1),
                    "extra": plan.extra,
                    "wrong": plan.before,
                    "wrong_after": plan.after,
                    "wrong_uniform": plan.uniform,
                }
            )
        )
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=_COLUMNS)
