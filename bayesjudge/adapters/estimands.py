"""What a model says whose variables are named as what they estimate: names are the contract.

A question's view says which names are reported, and along which axis: ``accuracy, sensitivity, specificity, youden``
and ``elo``, or ``strength`` in logits, of the systems that are judged; ``flip_rate`` and ``icc`` of judges; ``trust``
of unverified verdicts, and ``agreement`` of all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesjudge.adapters import views
from bayesjudge.adapters.views import QUALITY, VIEWS, view_of
from bayesjudge.errors import UsageError
from bayesjudge.estimates.posterior import Quantities, accuracy_quantities, differences, quantity
from bayesjudge.maths.bradley_terry import shown_pairs, to_elo
from bayesjudge.model import Data, GenerativeModel, Statistic

if TYPE_CHECKING:
    import xarray as xr


#: Axis of every variable that some question reports.
AXES: Mapping[str, str] = {name: axis for view in VIEWS.values() for name, axis in view.estimands.items()}
#: What the entries of an axis are called.
_CALLED = {"system": "systems", "cell": "cells", "judge": "judges", "other": "unverified pairs"}
#: Least and most of what is reported, where it has limits; draws may go past them by rounding.
_LIMITS: Mapping[str, tuple[float, float]] = {
    **dict.fromkeys(("accuracy", "sensitivity", "specificity", "flip_rate", "trust", "agreement"), (0.0, 1.0)),
    "youden": (-1.0, 1.0),
}
_ROUNDING = 1e-6
#: Entries that a message lists.
_SHOWN = 10


@dataclass(frozen=True, kw_only=True)
class NamedEstimands(GenerativeModel):
    """A model of the arrays of a view; rows, differences, statistics and resampling follow from names."""

    @property
    def source(self) -> str:
        """What messages call it: the name of a function or of a file."""
        return self.name

    @property
    def options(self) -> tuple[str, ...]:
        """None: the name says it."""
        return ()

    def reported(self, posterior: xr.Dataset, data: Data) -> dict[str, xr.DataArray]:
        """Draws of the variables that are reported, by name."""
        return {name: posterior[name] for name in view_of(data).estimands if name in posterior}

    def _within(self, posterior: xr.Dataset, data: Data) -> dict[str, xr.DataArray]:
        """What is reported, once it is known to be what its name says."""
        draws = self.reported(posterior, data)
        for name in (name for name in _LIMITS if name in draws and draws[name].size):
            least, most = _LIMITS[name]
            low, high = (float(end(draws[name])) for end in (np.min, np.max))
            if not (least - _ROUNDING <= low and high <= most + _ROUNDING):
                raise UsageError(
                    f"{name!r} of {self.source} has draws from {low:.3g} to {high:.3g}, and what is reported under "
                    f"this name lies between {least:g} and {most:g}: name logits otherwise, and the rate {name}"
                )
        return self._reduced(draws, data)

    @staticmethod
    def _reduced(draws: Mapping[str, xr.DataArray], data: Data) -> dict[str, xr.DataArray]:
        return {**view_of(data).reduced(draws, data)}

    def quantities(self, posterior: xr.Dataset, data: Data, *, population: str = "superpopulation") -> Quantities:
        """Draws of every variable that is an estimand, and differences."""
        if population != "superpopulation":
            raise UsageError(f"{self.label} speaks of questions like these, not of exactly these: leave population out")
        return self._derived(self._within(posterior, data), posterior, data)

    def before_data(self, prior: xr.Dataset, data: Data) -> Quantities:
        """The same of draws of the prior, which may be wider than what is reported."""
        return self._derived(self._reduced(self.reported(prior, data), data), prior, data)

    def _derived(self, draws: Mapping[str, xr.DataArray], posterior: xr.Dataset, data: Data) -> Quantities:
        quality = {name: quantity(_of_units(draws[name], data), n=data.units) for name in QUALITY if name in draws}
        found: dict[str, xr.DataArray] = {}
        if "accuracy" in draws:
            found |= accuracy_quantities(draws["accuracy"], n=data.units, quality=quality)
        if {"elo", "strength"} & draws.keys():
            found |= self._of_elo(self.elo(posterior, data), data)
        for name in (name for name in ("flip_rate", "icc") if name in draws):
            judges = draws[name].rename(judge="unit").assign_coords(judge=("unit", list(data.coords["judge"])))
            found[name] = quantity(judges, n=data.units, headline=True)
        return {**quality, **found, **_of_verdicts(draws, data)}

    def _of_elo(self, elo: xr.DataArray, data: Data) -> dict[str, xr.DataArray]:
        names = elo["system"].to_numpy()
        pairs = [(names[a], names[b]) for a, b in shown_pairs(elo.mean(("chain", "draw")).to_numpy())]
        gaps = quantity(differences(elo, "system", pairs), signed=True)
        return {"elo": quantity(elo, n=data.units, headline=True), "difference": gaps}

    def accuracy(self, posterior: xr.Dataset, data: Data, *, population: str = "superpopulation", seed: int = 0) -> Any:  # noqa: ARG002
        """Draws of each model's accuracy, dims ``chain, draw, system``."""
        require_answer(self.source, VIEWS["accuracy"].needed, draws := self._within(posterior, data))
        return draws["accuracy"]

    def elo(self, posterior: xr.Dataset, data: Data) -> xr.DataArray:
        """Draws of each model's Elo, dims ``chain, draw, system``; strengths are centred at 1500."""
        require_answer(self.source, VIEWS["elo"].needed, draws := self._within(posterior, data))
        if "elo" in draws:
            return draws["elo"]
        strength = draws["strength"]
        elo: xr.DataArray = to_elo(strength - strength.mean("system"))
        return elo

    def trust(self, posterior: xr.Dataset, data: Data, *, prob: float = 0.95) -> pd.DataFrame:
        """P(people agree) of every unverified pair; where there is one ``agreement`` alone, it is that of each."""
        require_answer(self.source, VIEWS["audit"].needed, draws := self._within(posterior, data))
        vote = np.asarray(data["vote_other"])
        if "trust" in draws:
            p = draws["trust"].transpose("chain", "draw", "other").to_numpy()
        else:
            p = 0.5 + vote * (draws["agreement"].transpose("chain", "draw").to_numpy()[..., None] - 0.5)
        low, high = np.quantile(p, [(1 - prob) / 2, (1 + prob) / 2], axis=(0, 1))
        items = {"item": list(data.coords["other"]), "vote": vote}
        return pd.DataFrame({**items, "trust": p.mean(axis=(0, 1)), "lower": low, "upper": high})

    @property
    def statistics(self) -> Mapping[str, Statistic]:
        """The observations themselves: rates where each has a total ``n``, counts or means elsewhere."""
        return {"observed": _observations}

    def bootstrap(self, data: Data, *, replicates: int, seed: int) -> Any:
        """Observations of resampled answers, votes, items or pairs; None for arrays of the model's own."""
        view = view_of(data)
        if not set(data.observations) <= view.arrays.keys():
            return None
        return view.resampled(data, replicates, np.random.default_rng(seed))

    def viewed(self, table: Any) -> Data:
        """The arrays of a table, or of counts."""
        return table if isinstance(table, Data) else views.data(table)


def observing(source: str, data: Data, names: Sequence[str]) -> Data:
    """The arrays of a table with those that a model observes; refuse one of which the table has no entry."""
    for name in (name for name in names if name in data.arrays and not np.size(data[name])):
        there = ", ".join(one for one in view_of(data).arrays if np.size(data[one]))
        raise UsageError(f"{source} observes {name!r}, of which this table has none; it has {there}")
    return replace(data, observed=names[0], also_observed=tuple(names[1:]))


def require_answer(source: str, names: tuple[str, ...], there: Mapping[str, Any]) -> None:
    """Refuse a model that has none of the variables of which a question needs one."""
    if not set(names) & there.keys():
        has = f"; it has {', '.join(there)}" if there else ""
        raise UsageError(f"no site of {source} is named {' or '.join(names)}, which this question reports{has}")


def require_estimands(source: str, axes: Mapping[str, tuple[str, ...]], data: Data, *, fix: str) -> None:
    """Refuse variables (by name, their axes) of which none answers, or which are not along their axis.

    ``fix`` says how to write ``{name}`` with its ``{axis}`` where the model is written.
    """
    view = view_of(data)
    require_answer(source, view.needed, axes)
    for name, axis in ((name, axis) for name, axis in view.estimands.items() if name in axes):
        if axes[name] == ((axis,) if axis else ()) or (name in view.shared and not axes[name]):
            continue
        said = f"the axes {', '.join(axes[name])}" if axes[name] else "no axis"
        if not axis:
            raise UsageError(f"{name!r} of {source} has {said}; it is one number")
        each = _CALLED[axis].removesuffix("s")
        wanted = f"not one value for each {each} ({_listed(data.coords[axis])})"
        raise UsageError(f"{name!r} of {source} has {said}, {wanted}: {fix.format(name=name, axis=axis)}")
    about = {name: axis for name, axis in view.estimands.items() if name in axes}
    if all(axis and not data.coords[axis] for axis in about.values()):
        others = " or ".join(name for name in view.needed if name not in about)
        kind = _CALLED[next(iter(about.values()))]
        raise UsageError(f"the table has no {kind}, of which {source} gives {', '.join(about)}: report {others}")


def require_entries(source: str, names: Any, data: Data, *, axis: str) -> None:
    """Refuse a model of other systems, judges or pairs than those of the table."""
    theirs, ours = (sorted(map(str, one)) for one in (names, data.coords[axis]))
    if theirs != ours:
        raise UsageError(f"{source} has the {_CALLED[axis]} {_listed(theirs)}; the table has {_listed(ours)}")


def _listed(names: Any) -> str:
    shown = [*map(str, names)]
    return ", ".join([*shown[:_SHOWN], *(["…"] if len(shown) > _SHOWN else [])])


def _of_units(draws: xr.DataArray, data: Data) -> xr.DataArray:
    """One row a model, or one of the judge where they share a value."""
    return draws if "system" in draws.dims else draws.expand_dims(judge=list(data.coords["judge"]))


def _of_verdicts(draws: Mapping[str, xr.DataArray], data: Data) -> dict[str, xr.DataArray]:
    """Expected consistency of the unverified verdicts, of two that disagree one is right; and agreement of all."""
    import xarray as xr

    found = {}
    if "trust" in draws and data.coords["other"]:
        vote = xr.DataArray(np.asarray(data["vote_other"]), dims="other")
        share = (0.5 + vote * (draws["trust"].drop_vars("other", errors="ignore") - 0.5)).mean("other")
        found["consistency"] = quantity(share.expand_dims(unit=["unverified"]), n=data.units, headline=True)
    if "agreement" in draws:
        judge = draws["agreement"].expand_dims(judge=list(data.coords["judge"]))
        found["agreement"] = quantity(judge, n=data.units, headline=True)
    return found


def _observations(observed: Any, data: Data) -> dict[str, Any]:
    """Arrays of the view as its question looks at them, (..., ) each; of others their mean, column by column."""
    found: dict[str, Any] = {}
    view, of = view_of(data), observed if isinstance(observed, Mapping) else {data.observed: observed}
    for name in data.observations:
        if name in view.arrays:
            found |= view.shown(name, of, data)
            continue
        values, axes = np.asarray(of[name], dtype=float), data.dims[name]
        within = tuple(range(values.ndim - len(axes), values.ndim))
        if len(axes) < 2:
            found[f"mean of {name}"] = values.mean(axis=within)
            continue
        # Rows of counts have fixed totals, so that the mean of all columns says nothing.
        outcomes = np.moveaxis(values.mean(axis=within[:-1]), -1, 0)
        labels = data.coords.get(axes[-1], range(len(outcomes)))
        found |= {f"mean of {name} | {label}": one for label, one in zip(labels, outcomes, strict=True)}
    return found
