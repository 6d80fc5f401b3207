"""The posteriors behind a leaderboard: of people's votes, of people and judges together, or of each judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bayesjudge.counts.battles.counts import BattleCounts
from bayesjudge.inference import Fit, fit
from bayesjudge.models.bradley_terry import BradleyTerry
from bayesjudge.studies.elo.options import EloOptions

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["EloFits", "elo_of", "fit_leaderboards"]


@dataclass(frozen=True, eq=False, kw_only=True)
class EloFits:
    """Fits by method name, the one that answers first.

    Attributes
    ----------
    fits : mapping of str to Fit
        `judge_elo` and `bradley_terry` of people's votes; without votes, `bradley_terry` of each judge.
        With covariates, `bradley_terry` that knows them too.
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


def fit_leaderboards(counts: BattleCounts, options: EloOptions) -> EloFits:
    """Fit what the data allow, the human scale wherever there are votes."""
    votes = bool(counts.human.votes.sum())
    models: list[tuple[str, Any]] = [("", options.judge_elo())] if votes and counts.judges else []
    scales = [("", None)] if votes else [(judge, judge) for judge in counts.judges]
    models += [(scale, BradleyTerry(judge=judge)) for scale, judge in scales]
    if options.covariates:
        alike = options.covariates
        models += [(scale, BradleyTerry(judge=judge, covariates=alike)) for scale, judge in scales]
    return EloFits(
        fits={model.label: fit(model, counts, **options.sampling) for _, model in models},
        judge_of={model.label: judge for judge, model in models},
    )


def elo_of(one: Fit) -> xr.DataArray:
    """Draws of every model's Elo, dims ``chain, draw, model``."""
    draws: xr.DataArray = one.model.elo(one.posterior, one.data)  # type: ignore[attr-defined] # both models of this study have it
    return draws
