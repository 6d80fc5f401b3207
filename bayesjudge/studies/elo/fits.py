"""The posteriors behind a leaderboard: of people's votes, of people and judges together, or of each judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesjudge.baselines.elo.held_out import SETTINGS, Setting
from bayesjudge.counts.battles.counts import BattleCounts
from bayesjudge.errors import UsageError
from bayesjudge.inference import Fit, Fitting, run_fits
from bayesjudge.inference.sampling import SamplingOptions
from bayesjudge.model import GivesElo, Model, lacks
from bayesjudge.models.bradley_terry import BradleyTerry
from bayesjudge.models.judge_elo import JudgeElo
from bayesjudge.models.judge_temperature import JudgeTemperature

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import xarray as xr


__all__ = ["EloFits", "EloOptions", "elo_of", "fit_leaderboards", "named_methods"]


@dataclass(frozen=True, eq=False, kw_only=True)
class EloFits:
    """Fits by method name, the one that answers first.

    Attributes
    ----------
    fits : mapping of str to Fit
        `judge_elo` and `bradley_terry` of people's votes; without votes, `bradley_terry` of each judge.
        With covariates, `bradley_terry` that knows them too; where judges score, `judge_temperature`.
    judge_of : mapping of str to str
        Whose scale each fit is on: a judge, or the empty string for people.
    """

    fits: Mapping[str, Fit]
    judge_of: Mapping[str, str]

    @property
    def headline(self) -> Mapping[str, Fit]:
        """One fit a scale: the leaderboards that are ranked."""
        found: dict[str, Fit] = {}
        for label, single in self.fits.items():
            found.setdefault(self.judge_of[label], single)
        return found


def fit_leaderboards(
    counts: BattleCounts, options: EloOptions, *, executor: Executor | None = None, workers: int = 1
) -> EloFits:
    """Fit what the data allow, the human scale wherever there are votes."""
    votes = bool(counts.human.votes.sum())
    models: list[tuple[str, Model]] = [("", options.judge_elo())] if votes and counts.judges else []
    scales = [("", None)] if votes else [(judge, judge) for judge in counts.judges]
    models += [(scale, BradleyTerry(judge=judge)) for scale, judge in scales]
    if options.covariates:
        alike = options.covariates
        models += [(scale, BradleyTerry(judge=judge, covariates=alike)) for scale, judge in scales]
    models += _temperatures(counts)
    jobs = {model.label: Fitting(model=model, table=counts, **options.sampling) for _, model in models}
    return EloFits(
        fits=run_fits(jobs, executor=executor, workers=workers),
        judge_of={model.label: judge for judge, model in models},
    )


def elo_of(one: Fit) -> xr.DataArray:
    """Draws of every model's Elo, dims ``chain, draw, model``."""
    if not isinstance(one.model, GivesElo):
        raise lacks(one.model, GivesElo)
    return one.model.elo(one.posterior, one.data)


@dataclass(frozen=True, kw_only=True)
class EloOptions(SamplingOptions):
    """What `elo` was asked for; the parameters are described there.

    Raises
    ------
    UsageError, EngineError
        The first option that cannot be, with what is allowed.

    Examples
    --------
    >>> EloOptions(length_effect=True).judge_elo().label
    'bayes:judge_elo[length]'
    """

    engine: str = "hmc"
    bootstrap: int = 0
    setting: Setting = "forward"
    length_effect: bool = False
    battle_effect: bool = False
    families: Mapping[str, str] = field(default_factory=dict)
    covariates: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bootstrap == 1:
            raise UsageError("bootstrap=1 has no spread; give 0 (clustered sandwich errors) or some hundreds")
        if self.battle_effect:
            raise UsageError("battle_effect=True is now always on: raters of one battle share their errors "
                             "through the clusters; leave it out")  # fmt: skip
        if self.setting not in SETTINGS:
            raise UsageError(f"setting={self.setting!r} is not one of {', '.join(SETTINGS)}")
        self.judge_elo()

    def judge_elo(self) -> JudgeElo:
        """The joint model of people and judges."""
        families = tuple(sorted(self.families.items()))
        return JudgeElo(length_effect=self.length_effect, families=families)

    @property
    def settings(self) -> Mapping[str, Any]:
        """What the manifest of the answer records."""
        return {**super().settings, "setting": self.setting, "length_effect": self.length_effect,
                "families": dict(self.families), "covariates": list(self.covariates)}  # fmt: skip


def named_methods(rows: pd.DataFrame, *, scale: str = "") -> list[str]:
    """Method of each row, and whose verdicts it rests on where that is not the leaderboard's own scale.

    Examples
    --------
    >>> named_methods(pd.DataFrame({"method": ["hard-elo", "hard-elo"], "judge": ["", "gpt-4"]}))
    ['hard-elo', 'hard-elo by gpt-4']
    """
    pairs = zip(rows["method"], rows["judge"], strict=True)
    return [f"{method} by {judge}" if judge and judge != scale else method for method, judge in pairs]


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
    even = [judge for judge in np.unique(rows.judge[np.isfinite(rows.gap)])
            if not np.any(rows.gap[(rows.judge == judge) & np.isfinite(rows.gap)])]  # fmt: skip
    # The model refuses a judge that scores every battle even, and β says nothing of it.
    if not usable.any() or even:
        return []
    return [("", JudgeTemperature(by_group=len(counts.groups) > 1))]
