"""What a model says whose variables are named as what they estimate: names are the contract.

A variable ``accuracy, sensitivity, specificity, youden`` answers the accuracy question, ``elo`` or ``strength``
(logits) the Elo question; its axis ``system`` is that of the models that are judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.adapters.views import VIEWS, data_view, question_of, resampled
from bayesjudge.errors import UsageError
from bayesjudge.estimates.posterior import accuracy_quantities, differences, quantity
from bayesjudge.maths.bradley_terry import shown_pairs, to_elo
from bayesjudge.model import Data, GenerativeModel, Statistic

if TYPE_CHECKING:
    import xarray as xr

    from bayesjudge.estimates.posterior import Quantities

#: Variables that a question reports beside those that answer it.
QUALITY = ("sensitivity", "specificity", "youden")
#: Variables of which a question needs one.
ANSWERS = {"accuracy": ("accuracy",), "elo": ("elo", "strength")}
REPORTED = ("accuracy", "elo", "strength", *QUALITY)


@dataclass(frozen=True, kw_only=True)
class NamedEstimands(GenerativeModel):
    """A model of the arrays of `data_view`; rows, differences, statistics and resampling follow from names."""

    @property
    def source(self) -> str:
        """What messages call it: the name of a function or of a file."""
        return self.name

    @property
    def options(self) -> tuple[str, ...]:
        """None: the name says it."""
        return ()

    def reported(self, posterior: xr.Dataset, data: Data) -> dict[str, xr.DataArray]:  # noqa: ARG002
        """Draws of the variables that are reported, by name."""
        return {name: posterior[name] for name in REPORTED if name in posterior}

    def quantities(self, posterior: xr.Dataset, data: Data, *, population: str = "superpopulation") -> Quantities:
        """Draws of every variable that is an estimand, and differences."""
        if population != "superpopulation":
            raise UsageError(f"{self.label} speaks of questions like these, not of exactly these: leave population out")
        draws = self.reported(posterior, data)
        quality = {name: quantity(_of_units(draws[name], data), n=data.units) for name in QUALITY if name in draws}
        found: dict[str, xr.DataArray] = {}
        if "accuracy" in draws:
            found |= accuracy_quantities(draws["accuracy"], n=data.units, quality=quality)
        if {"elo", "strength"} & draws.keys():
            elo = self.elo(posterior, data)
            pairs = [
                (elo["system"].values[a], elo["system"].values[b])
                for a, b in shown_pairs(elo.mean(("chain", "draw")).to_numpy())
            ]
            found["elo"] = quantity(elo, n=data.units, headline=True)
            found["difference"] = quantity(differences(elo, "system", pairs), signed=True)
        return {**quality, **found}

    def accuracy(self, posterior: xr.Dataset, data: Data, *, population: str = "superpopulation", seed: int = 0) -> Any:  # noqa: ARG002
        """Draws of each model's accuracy, dims ``chain, draw, system``."""
        require_answer(self.source, ANSWERS["accuracy"], draws := self.reported(posterior, data))
        return draws["accuracy"]

    def elo(self, posterior: xr.Dataset, data: Data) -> xr.DataArray:
        """Draws of each model's Elo, dims ``chain, draw, system``; strengths are centred at 1500."""
        require_answer(self.source, ANSWERS["elo"], draws := self.reported(posterior, data))
        if "elo" in draws:
            return draws["elo"]
        strength = draws["strength"]
        elo: xr.DataArray = to_elo(strength - strength.mean("system"))
        return elo

    @property
    def statistics(self) -> Mapping[str, Statistic]:
        """The observations themselves: rates where each has a total ``n``, counts or means elsewhere."""
        return {"observed": _observations}

    def bootstrap(self, data: Data, *, replicates: int, seed: int) -> Any:
        """Observations of resampled answers, or votes; None for arrays of the model's own."""
        if not set(data.observations) <= VIEWS.keys():
            return None
        found = resampled(data, replicates=replicates, seed=seed)
        return {name: found[name] for name in data.observations} if data.also_observed else found[data.observed]

    def viewed(self, table: Any) -> Data:
        """The arrays of a table, or of counts."""
        return table if isinstance(table, Data) else data_view(table)


def require_answer(source: str, names: tuple[str, ...], there: Mapping[str, Any]) -> None:
    """Refuse a model that has none of the variables of which a question needs one."""
    if not set(names) & there.keys():
        has = f"; it has {', '.join(there)}" if there else ""
        raise UsageError(f"no site of {source} is named {' or '.join(names)}, which this question reports{has}")


def require_estimands(source: str, axes: Mapping[str, tuple[str, ...]], data: Data, *, fix: str) -> None:
    """Refuse variables (by name, their axes) of which none answers, or which are not along the systems.

    ``fix`` says how to write ``{name}`` with the axis ``system`` where the model is written.
    """
    require_answer(source, ANSWERS[question_of(data)], axes)
    for name in (name for name in REPORTED if name in axes):
        if axes[name] == ("system",) or (name in QUALITY and not axes[name]):
            continue
        systems = ", ".join(map(str, data.coords["system"]))
        said = f"the axes {', '.join(axes[name])}" if axes[name] else "no axis"
        raise UsageError(
            f"{name!r} of {source} has {said}, not one value for each system ({systems}): {fix.format(name=name)}"
        )


def require_systems(source: str, names: Any, data: Data) -> None:
    """Refuse a model of other systems than those of the table."""
    theirs, ours = (sorted(map(str, one)) for one in (names, data.coords["system"]))
    if theirs != ours:
        raise UsageError(f"{source} has the systems {', '.join(theirs)}; the table has {', '.join(ours)}")


def _of_units(draws: xr.DataArray, data: Data) -> xr.DataArray:
    """One row a model, or one of the judge where they share a value."""
    return draws if "system" in draws.dims else draws.expand_dims(judge=list(data.coords["judge"]))


def _observations(observed: Any, data: Data) -> dict[str, Any]:
    """Arrays of the view entry by entry, (..., ) each, by what is observed and where; of others their mean."""
    found: dict[str, Any] = {}
    for name in data.observations:
        values = np.asarray(observed[name] if data.also_observed else observed, dtype=float)
        axes = data.dims[name]
        if name not in VIEWS:
            found[f"mean of {name}"] = values.mean(axis=tuple(range(values.ndim - len(axes), values.ndim)))
            continue
        total = np.asarray(data["n"]) if axes == data.dims["n"] else np.ones(1)
        values = values / np.where(total > 0, total, np.nan)
        for place in np.ndindex(*(len(data.coords[axis]) for axis in axes)):
            where = " | ".join(str(data.coords[axis][k]) for axis, k in zip(axes, place, strict=True))
            found[f"{name} | {where}"] = values[(..., *place)]
    return found
