"""The posteriors behind a leaderboard: of people's votes, of people and judges together, or of each judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bayesjudge.counts.battles.counts import BattleCounts
from bayesjudge.errors import UsageError
from bayesjudge.inference import Fit, run_fits
from bayesjudge.model import GenerativeModel, GivesElo, Model, lacks
from bayesjudge.models.bradley_terry import BradleyTerry, why_not_by_group
from bayesjudge.models.judge_elo import JudgeElo
from bayesjudge.models.judge_temperature import JudgeTemperature
from bayesjudge.options import EloOptions
from bayesjudge.studies.common.methods import (
    Further,
    believing,
    further_models,
    is_requested,
    require_believed,
    require_distinct,
)

if TYPE_CHECKING:
    import xarray as xr


#: Models that answer by default, where the data allow them.
OWN = ("judge_elo", "bradley_terry", "judge_temperature")
#: Of the spread of strengths that do not pool: about 10 logits, as the penalty of Hard-Elo.
UNPOOLED = "LogNormal(7.46, 0.1)"


#: Judges whose deviations take some models to learn, and models with votes that are then few: 95 % intervals of
#: `judge_elo` are covered .90 of the time with four judges and five models, and .63 with five judges who agree with
#: each other and not with people on two of six models; those of the votes alone .95 (the card of `judge_elo`).
SEVERAL_JUDGES, FEW_MODELS = 3, 8


def learned_from_few(counts: BattleCounts) -> bool:
    """Whether several judges' deviations would be learned from few models with votes."""
    return len(counts.judges) >= SEVERAL_JUDGES and 0 < len(voted(counts)) < FEW_MODELS


def votes_lead(counts: BattleCounts) -> bool:
    """Whether the votes alone answer first: they link all models, too few to learn several judges' deviations from."""
    linked = len(counts.parts()) == 1 and len(voted(counts)) == len(counts.models)
    return linked and learned_from_few(counts)


def voted(counts: BattleCounts) -> set[int]:
    """Codes of models that people voted on."""
    return {*counts.human.first.tolist(), *counts.human.second.tolist()}


@dataclass(frozen=True, eq=False, kw_only=True)
class EloFits:
    """Fits by method name, the one that answers first.

    fits: `judge_elo` and `bradley_terry` of people's votes, the latter first where `votes_lead`; without votes,
        `bradley_terry` of each judge. With covariates, `bradley_terry` that knows them too, with groups one whose
        strengths differ by them; where judges score, `judge_temperature`.
    judge_of: Whose scale each fit is on: a judge, or the empty string for people.
    further: Whether models are among them that the question has not by itself.
    """

    fits: Mapping[str, Fit]
    judge_of: Mapping[str, str]
    further: bool

    @property
    def predicting(self) -> Mapping[str, Fit]:
        """Those of single observations; `judge_elo` observes estimates of strengths, all at once."""
        return {label: one for label, one in self.fits.items() if not isinstance(one.model, JudgeElo)}

    @property
    def headline(self) -> Mapping[str, Fit]:
        """One fit a scale: the leaderboards that are ranked."""
        found: dict[str, Fit] = {}
        for label, single in self.fits.items():
            found.setdefault(self.judge_of[label], single)
        return found


def fit_leaderboards(counts: BattleCounts, options: EloOptions) -> EloFits:
    """Fit what the data allow, the human scale wherever there are votes."""
    votes = bool(counts.human.votes.sum())
    joint = votes and counts.judges and is_requested(options, "judge_elo")
    models: list[tuple[str, Model]] = [("", joint_model(options))] if joint else []
    scales: list[tuple[str, str | None]] = [("", None)] if votes else [(name, name) for name in counts.judges]
    if not is_requested(options, "bradley_terry"):
        scales = []
    alone: list[tuple[str, Model]] = [(scale, BradleyTerry(judge=judge)) for scale, judge in scales]
    models = [*alone, *models] if votes_lead(counts) else [*models, *alone]
    alike, by_group = tuple(options.covariates), not why_not_by_group(counts)
    if options.formula:
        scales_of = scales if alike or by_group else []
        models += [(name, BradleyTerry(judge=judge, covariates=alike, by_group=by_group)) for name, judge in scales_of]
    else:
        models += [(scale, BradleyTerry(judge=judge, covariates=alike)) for scale, judge in scales if alike]
        models += [(scale, BradleyTerry(judge=judge, by_group=True)) for scale, judge in scales if by_group]
    models += _temperatures(counts) if is_requested(options, "judge_temperature") else []
    models = [(scale, as_requested(model, counts, options)) for scale, model in models]
    further = [one.met(options, counts) for one in further_models(options, own=OWN, needs=GivesElo)]
    models += [("", one.model) for one in further]
    if not models:
        raise UsageError(
            "none of the models requested can be fitted to these battles; judge_elo needs human "
            "votes and judges, judge_temperature needs scores"
        )
    require_distinct(model for _, model in models)
    require_believed(options, [model for _, model in models])
    ours = [Further(model) for _, model in models[: len(models) - len(further)]]
    jobs = {one.model.label: one.job(counts, options) for one in (*ours, *further)}
    return EloFits(
        fits=run_fits(jobs, executor=options.executor, workers=options.workers),
        judge_of={model.label: judge for judge, model in models},
        further=bool(further),
    )


def elo_of(one: Fit) -> xr.DataArray:
    """Draws of every model's Elo, dims ``chain, draw, system``."""
    if not isinstance(one.model, GivesElo):
        raise lacks(one.model, GivesElo)
    return one.model.elo(one.posterior, one.data)


def joint_model(options: EloOptions) -> JudgeElo:
    """The model of people and judges together, with the priors that it has by itself."""
    return JudgeElo(length_effect=options.length_effect, families=tuple(sorted(options.families.items())))


def as_requested[M: Model](model: M, counts: BattleCounts, options: EloOptions) -> M:
    """The model with the question's priors; without one of strengths these do not pool where few pairs link them."""
    few = (isinstance(model, BradleyTerry) and counts.few_pairs(model.judge)) or (
        isinstance(model, JudgeElo) and counts.few_pairs(every=True)
    )
    if few and isinstance(model, GenerativeModel):
        return believing(model.with_priors({"strength": UNPOOLED}), options)
    return believing(model, options)


def parts_of(counts: BattleCounts, fits: EloFits) -> dict[str, list[list[str]]]:
    """Of each scale whose battles fall into parts that never met, the models of each part."""
    parts = {
        judge: counts.parts(judge or None, every=isinstance(one.model, JudgeElo))
        for judge, one in fits.headline.items()
    }
    return {judge: [list(names) for names in found] for judge, found in parts.items() if len(found) > 1}


def _temperatures(counts: BattleCounts) -> list[tuple[str, JudgeTemperature]]:
    """`judge_temperature` for judges who score battles that people voted on, by group where there are some.

    β is learned from votes that are no ties, on gaps that are not 0.

    Examples
    --------
    >>> from bayesjudge.counts.battles.counts import count_battles
    >>> from bayesjudge.datasets import BattleDesign, simulate_battles
    >>> worlds = [BattleDesign(battles=100, graded=graded) for graded in (True, False)]
    >>> [len(_temperatures(count_battles(simulate_battles(seed=1, design=world).battles)))
    ...  for world in worlds]
    [1, 0]
    """
    rows = counts.judged
    usable = np.isfinite(rows.gap) & (rows.gap != 0) & (rows.votes[:, [0, 2]].sum(axis=1) > 0)
    even = [
        judge
        for judge in np.unique(rows.judge[np.isfinite(rows.gap)])
        if not np.any(rows.gap[(rows.judge == judge) & np.isfinite(rows.gap)])
    ]
    # The model refuses a judge that scores every battle even, and β says nothing of it.
    if not usable.any() or even:
        return []
    return [("", JudgeTemperature(by_group=len(counts.groups) > 1))]
