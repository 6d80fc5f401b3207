"""A NumPyro function as a model: sites that are named as estimands are what a question reports.

The function is called with `data_view`'s arrays, and the names are the contract: a site (sampled or
deterministic) ``accuracy, sensitivity, specificity, youden`` answers the accuracy question, ``elo`` or
``strength`` (logits) the Elo question; the plate ``system`` is that of the models that are judged. A site
with ``obs=`` has the name of the array that it observes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.adapters.files import from_file
from bayesjudge.adapters.views import PATTERN, data_view, resampled
from bayesjudge.errors import UsageError
from bayesjudge.estimates.posterior import accuracy_quantities, differences, quantity
from bayesjudge.maths.bradley_terry import shown_pairs, to_elo
from bayesjudge.model import Data, GenerativeModel, Model, Statistic
from bayesjudge.models.common.at_draws import at_draws

if TYPE_CHECKING:
    import xarray as xr

    from bayesjudge.estimates.posterior import Quantities

#: Sites that a question reports.
QUALITY = ("sensitivity", "specificity", "youden")
REPORTED = ("accuracy", "elo", "strength", *QUALITY)


def as_model(given: Any) -> Model:
    """A model, or a NumPyro function made into one.

    Parameters
    ----------
    given : Model, callable or str
        A function of the arrays of `data_view`, which samples NumPyro sites; ``file.py:name`` is that of a
        Python file, which is run.

    Raises
    ------
    UsageError
        Neither; a file without it.

    Examples
    --------
    >>> def coin(data):
    ...     import numpyro
    ...     from numpyro import distributions as dist
    ...
    ...     with numpyro.plate("system", data.size("system")):
    ...         share = numpyro.sample("accuracy", dist.Beta(1, 1))
    ...         numpyro.sample("positives", dist.Binomial(data["n"], share), obs=data["positives"])
    >>> as_model(coin).label
    'bayes:coin'
    """
    given = from_file(given, what="model")
    if isinstance(given, Model):
        return given
    if not callable(given) or isinstance(given, type):
        raise UsageError(
            f"{given!r} is no model: give a registered name, a NumPyro function of the arrays of "
            "bayesjudge.data_view, or an object with the methods of bayesjudge.model.Model "
            "(examples/own_function.py, examples/own_model.py)"
        )
    return FunctionModel(function=given)


@dataclass(frozen=True, kw_only=True)
class FunctionModel(GenerativeModel):
    """A NumPyro function and what follows from the names of its sites.

    Attributes
    ----------
    function : callable
        ``function(data)``, of the arrays of `data_view`.
    """

    function: Callable[[Data], Any]

    @property
    def name(self) -> str:
        """That of the function."""
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return name if name.isidentifier() else "function"

    def prepare(self, table: Any) -> Data:
        """The arrays of a table, of which those that the function observes are the observations.

        Raises
        ------
        UsageError
            The function observes nothing, or something under another name; it has a discrete unknown, or a
            likelihood written as a factor; no site is an estimand, or it is not one of the systems.
        """
        data = data_view(table)
        sites = self._sites(data)
        observed = self._observed(sites, data)
        self._require_continuous(sites)
        self._require_estimand(sites, data)
        return replace(data, observed=observed[0], also_observed=tuple(observed[1:]))

    def numpyro(self, data: Data) -> None:
        """The function, its observations as ``data`` has them."""
        from numpyro import handlers

        free = handlers.uncondition(self.function)
        known = {name: data[name] for name in data.observations if name in data.arrays}
        handlers.condition(free, data=known)(data)

    def simulate(self, key: Any, data: Data) -> Mapping[str, Any]:
        """Every site drawn from the prior."""
        from numpyro import handlers

        sites = handlers.trace(handlers.seed(handlers.uncondition(self.function), key)).get_trace(data)
        return {name: site["value"] for name, site in sites.items() if site["type"] in {"sample", "deterministic"}}

    def quantities(self, posterior: xr.Dataset, data: Data, *, population: str = "superpopulation") -> Quantities:
        """Draws of every site that is an estimand, and differences."""
        if population != "superpopulation":
            raise UsageError(f"{self.label} is a function, which speaks of questions like these: leave population out")
        draws = self._reported(posterior, data)
        quality = {name: quantity(self._of_units(draws[name], data), n=data.units) for name in QUALITY if name in draws}
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
        return self._reported(posterior, data, needed="accuracy")["accuracy"]

    def elo(self, posterior: xr.Dataset, data: Data) -> xr.DataArray:
        """Draws of each model's Elo, dims ``chain, draw, system``; strengths are centred at 1500."""
        draws = self._reported(posterior, data, needed="elo or strength")
        if "elo" in draws:
            return draws["elo"]
        strength = draws["strength"]
        elo: xr.DataArray = to_elo(strength - strength.mean("system"))
        return elo

    @property
    def statistics(self) -> Mapping[str, Statistic]:
        """The observations themselves: rates where each has a total ``n``, counts elsewhere."""
        return {"observed": _observations}

    def bootstrap(self, data: Data, *, replicates: int, seed: int) -> Any:
        """Observations of resampled answers, or votes."""
        found = resampled(data, replicates=replicates, seed=seed)
        return {name: found[name] for name in data.observations} if data.also_observed else found[data.observed]

    def _sites(self, data: Data) -> Mapping[str, Any]:
        import jax
        from numpyro import handlers

        try:
            return dict(handlers.trace(handlers.seed(self.function, jax.random.key(0))).get_trace(data))
        except KeyError as error:
            arrays = ", ".join(name for name in data.arrays if not name.startswith(PATTERN))
            raise UsageError(f"{self.name} asks for the array {error}, and the table has {arrays}") from error

    def _observed(self, sites: Mapping[str, Any], data: Data) -> list[str]:
        observed = {name: site for name, site in sites.items() if site["type"] == "sample" and site["is_observed"]}
        arrays = ", ".join(name for name in data.arrays if not name.startswith(PATTERN))
        if not observed:
            raise UsageError(f"{self.name} observes nothing: give a site the name and values of an array, of {arrays}")
        for name, site in observed.items():
            if type(site["fn"]).__name__ == "Unit":
                raise UsageError(
                    f"{self.name} writes its likelihood as the factor {name!r}, from which no data can be drawn to "
                    f"check it: observe an array ({arrays}) at a site of its name"
                )
            if name not in data.arrays or not np.array_equal(np.asarray(site["value"]), np.asarray(data[name])):
                raise UsageError(f"site {name!r} of {self.name} must observe the array of its name, of {arrays}")
        return list(observed)

    def _require_continuous(self, sites: Mapping[str, Any]) -> None:
        for name, site in sites.items():
            free = site["type"] == "sample" and not site["is_observed"]
            if free and site["fn"].support.is_discrete:
                raise UsageError(f"site {name!r} of {self.name} is a discrete unknown: sum it out of the likelihood")

    def _require_estimand(self, sites: Mapping[str, Any], data: Data) -> None:
        reported = [name for name in REPORTED if name in sites and name not in QUALITY]
        if not reported:
            raise UsageError(
                f"no site of {self.name} is an estimand; name one accuracy (of verdicts), or elo or strength (of "
                f"battles), within the plate 'system'. It has {', '.join(sites)}"
            )
        systems = len(data.coords["system"])
        for name in reported:
            if np.shape(sites[name]["value"]) != (systems,):
                shape = np.shape(sites[name]["value"])
                raise UsageError(
                    f"site {name!r} of {self.name} has shape {shape}, not one value for each of {systems} systems"
                )

    def _reported(self, posterior: xr.Dataset, data: Data, *, needed: str = "") -> dict[str, xr.DataArray]:
        """Draws of the sites that are reported: the posterior's, or computed anew where deterministic."""
        import xarray as xr

        sites = self._sites(data)
        if needed and not set(needed.split(" or ")) & sites.keys():
            raise UsageError(f"no site of {self.name} is named {needed}, which this question reports")
        derived = [name for name in REPORTED if name in sites and sites[name]["type"] == "deterministic"]
        found = {name: posterior[name] for name in REPORTED if name in posterior}
        if derived:
            values = at_draws(_Derived(self, data, tuple(derived)), posterior)
            for name, value in zip(derived, values, strict=True):
                axes = {"system": list(data.coords["system"])} if value.ndim > 2 else {}
                found[name] = xr.DataArray(value, dims=("chain", "draw", *axes), coords=axes)
        return found

    def _of_units(self, draws: xr.DataArray, data: Data) -> xr.DataArray:
        """One row a model, or one of the judge where they share a value."""
        return draws if "system" in draws.dims else draws.expand_dims(judge=list(data.coords["judge"]))


@dataclass(frozen=True, eq=False)
class _Derived:
    """Deterministic sites at one draw."""

    model: FunctionModel
    data: Data
    names: tuple[str, ...]

    def __call__(self, key: Any) -> tuple[Any, ...]:
        from numpyro import handlers

        with handlers.trace() as sites, handlers.seed(rng_seed=key):
            self.model.numpyro(self.data)
        return tuple(sites[name]["value"] for name in self.names)


def _observations(observed: Any, data: Data) -> dict[str, Any]:
    """Observed arrays entry by entry, (..., ) each, by what is observed and where."""
    several = data.also_observed
    found: dict[str, Any] = {}
    for name in data.observations:
        values = np.asarray(observed[name] if several else observed, dtype=float)
        axes = data.dims[name]
        total = np.asarray(data["n"]) if axes == data.dims["n"] else np.ones(1)
        values = values / np.where(total > 0, total, np.nan)
        for place in np.ndindex(*(len(data.coords[axis]) for axis in axes)):
            where = " | ".join(str(data.coords[axis][k]) for axis, k in zip(axes, place, strict=True))
            found[f"{name} | {where}"] = values[(..., *place)]
    return found
