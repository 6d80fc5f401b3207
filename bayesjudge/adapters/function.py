"""A function of plain arrays as a model, written in NumPyro or in PyMC: names of its variables are the contract.

The function is called with the arrays of `bayesjudge.data`. In NumPyro it samples sites, in PyMC it returns a
``pm.Model``. A variable with observations has the name of the array that it observes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bayesjudge.adapters import pymc
from bayesjudge.adapters.estimands import NamedEstimands, observing, require_estimands
from bayesjudge.adapters.files import raised
from bayesjudge.adapters.views import data as arrays_of
from bayesjudge.adapters.views import shown_arrays, view_of
from bayesjudge.errors import EngineError, UsageError
from bayesjudge.model import Data, Elsewhere
from bayesjudge.models.common.at_draws import at_draws
from bayesjudge.priors import FAMILIES, Slot
from bayesjudge.priors.slot import PROBABILITY

if TYPE_CHECKING:
    import xarray as xr

#: What a prior may be of a site that nothing is known of.
_ANY = Slot("Beta(1, 1)", PROBABILITY, "", families=tuple(FAMILIES))


@dataclass(frozen=True, kw_only=True)
class FunctionModel(NamedEstimands):
    """A function that is a model, and what follows from the names of its variables.

    Attributes
    ----------
    function : callable
        ``function(data)``, of the arrays of `bayesjudge.data`: it samples NumPyro sites, or returns a ``pm.Model``.
    named : str
        What the model is called; by default as the function.
    columns : tuple of str
        Columns of the log by which verdicts are counted in cells, as `cells` says.
    slots, fixed : tuple of pairs, optional
        Of its sites, once it has `met` data: those whose prior can be changed, and why others' cannot.
    """

    function: Callable[[Data], Any]
    named: str = ""
    columns: tuple[str, ...] = ()
    slots: tuple[tuple[str, Slot], ...] | None = field(default=None, repr=False)
    fixed: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @property
    def name(self) -> str:
        """That of the function."""
        name = self.named or getattr(self.function, "__name__", type(self.function).__name__)
        return name if self.named or name.isidentifier() else "function"

    @property
    def priors(self) -> Mapping[str, Slot]:
        """Sites whose distributions have numbers for parameters; before it has met data, those that were given."""
        if self.slots is None:
            return {name: Slot(prior, "as in the function", "given") for name, prior in self.given}
        return dict(self.slots)

    def with_priors(self, priors: Mapping[str, Any] | None = None, /, **named: Any) -> Self:
        """The function with other priors; before it has met data any name is taken, and looked at then."""
        asked = {**(priors or {}), **named}
        if self.slots is None:
            if ranges := [name for name, prior in asked.items() if isinstance(prior, str) and ".." in prior]:
                raise UsageError(
                    f"prior {ranges[0]} of {self.source}: {asked[ranges[0]]} is of the family that the function has "
                    "there, which its data show: write a family out, as in Beta(16, 4), or give it to the question"
                )
            found = dict(self.given) | {name: _ANY.read(prior) for name, prior in asked.items()}
            return replace(self, given=tuple(sorted(found.items())))
        for name, why in self.fixed:
            if name in asked:
                raise UsageError(f"prior {name} of {self.source}: {why}")
        return super().with_priors(asked)

    def met(self, data: Data) -> Self:
        """The function with the slots that it states when it is called with these data."""
        from bayesjudge.adapters.priors import stated

        sites, made = self._called(data)
        slots: tuple[tuple[str, Slot], ...] = ()
        if pymc.is_model(made):
            fixed = tuple((name, "PyMC has it: change it in the function") for name in pymc.variables(made))
        else:
            slots, fixed = stated(sites, self._called(data, seed=1)[0])
        return replace(self, slots=slots, fixed=fixed, given=()).with_priors(dict(self.given))

    def viewed(self, table: Any) -> Data:
        """The arrays of a table, or of counts."""
        return table if isinstance(table, Data) else arrays_of(table, columns=self.columns)

    def prepare(self, table: Any) -> Data:
        """The arrays of a table, of which those that the function observes are the observations.

        Raises
        ------
        UsageError
            The function observes nothing, or something under another name; no variable is an estimand, or it is not
            along its axis.
        """
        data = self.viewed(table)
        sites, made = self._called(data)
        if self.given:
            self.met(data)  # refuses priors of other sites
        if pymc.is_model(made):
            return pymc.prepared(self.source, made, data)
        factors = [name for name, site in sites.items() if type(site.get("fn")).__name__ == "Unit"]
        observed = self._observed({name: site for name, site in sites.items() if name not in factors}, data)
        self._require_estimands(sites, data)
        if factors:
            why = f"{self.source} has the factor {factors[0]!r}, from which no data can be drawn"
            return replace(data, observed="", unobserved=why)
        if not observed:
            raise UsageError(
                f"{self.source} observes nothing: give a site the name and values of an array, of {shown_arrays(data)}"
            )
        return observing(self.source, data, observed)

    def estimands(self, data: Data) -> dict[str, tuple[str, ...]]:
        """Variables that are reported, with the axis of each."""
        sites, made = self._called(data)
        axes = pymc.variables(made) if pymc.is_model(made) else self._axes(sites, data)
        return {name: axes[name] for name in view_of(data).estimands if name in axes}

    def numpyro(self, data: Data) -> None:
        """The function, its observations as ``data`` has them."""
        from numpyro import handlers

        if pymc.WRITTEN in data.facts:
            raise UsageError(f"{self.source} is written in PyMC: simulation studies need a function in NumPyro")
        function = self._believing(data)
        if data.unobserved:
            function(data)
            return
        free = handlers.uncondition(function)
        known = {name: data[name] for name in data.observations if name in data.arrays}
        handlers.condition(free, data=known)(data)

    def pymc(self, data: Data) -> Any:
        """The model that the function returns, where it is written in PyMC."""
        return self.function(data) if pymc.WRITTEN in data.facts else super().pymc(data)

    def elsewhere(self, data: Data) -> Elsewhere | None:
        """PyMC samples what is written in PyMC."""
        if pymc.WRITTEN not in data.facts:
            return None
        return Elsewhere("pymc", partial(pymc.drawn, self.pymc, data))

    def simulate(self, key: Any, data: Data) -> Mapping[str, Any]:
        """Every site drawn from the prior."""
        from numpyro import handlers

        if data.unobserved:
            raise UsageError(f"{data.unobserved}: write the likelihood as a distribution of an array")
        sites = handlers.trace(handlers.seed(handlers.uncondition(self._believing(data)), key)).get_trace(data)
        return {name: site["value"] for name, site in sites.items() if site["type"] in {"sample", "deterministic"}}

    def reported(self, posterior: xr.Dataset, data: Data) -> dict[str, xr.DataArray]:
        """Draws of the variables that are reported: the posterior's, or computed anew where deterministic."""
        import xarray as xr

        found = super().reported(posterior, data)
        if pymc.WRITTEN in data.facts:
            return found
        sites, _ = self._called(data)
        axis_of = view_of(data).estimands
        derived = [name for name in axis_of if name in sites and sites[name]["type"] == "deterministic"]
        if derived:
            labels = tuple(sorted(data.coords.items()))
            one = _Derived(self, tuple(derived), (data.signature, labels), data.with_arrays({}))
            values = at_draws(one, posterior, arrays=data.arrays)
            for name, value in zip(derived, values, strict=True):
                axes = {axis_of[name]: list(data.coords[axis_of[name]])} if value.ndim > 2 else {}
                found[name] = xr.DataArray(value, dims=("chain", "draw", *axes), coords=axes)
        return found

    def _believing(self, data: Data) -> Callable[[Data], Any]:
        """The function with the priors in use."""
        from bayesjudge.adapters.priors import Believing

        return Believing(self.function, self.in_use(data)) if self.priors else self.function

    def _called(self, data: Data, *, seed: int = 0) -> tuple[Mapping[str, Any], Any]:
        """The sites of the function, and what it returns."""
        from numpyro import handlers

        from bayesjudge.inference.programs import accelerator

        accelerator.prepare()
        with handlers.trace() as sites, handlers.seed(rng_seed=seed):
            try:
                made = self.function(data)
            except KeyError as error:
                has = shown_arrays(data)
                raise UsageError(f"{self.source} asks for the array {error}, and the table has {has}") from error
            except (UsageError, EngineError):
                raise
            except Exception as error:
                raise UsageError(f"model {self.source!r}, called with the arrays: {raised(error)}") from error
        return sites, made

    def _observed(self, sites: Mapping[str, Any], data: Data) -> list[str]:
        from bayesjudge.inference.outcomes import innermost

        observed = {name: site for name, site in sites.items() if site["type"] == "sample" and site["is_observed"]}
        for name, site in observed.items():
            if name not in data.arrays or not np.array_equal(np.asarray(site["value"]), np.asarray(data[name])):
                raise UsageError(
                    f"site {name!r} of {self.source} must observe the array of its name, of {shown_arrays(data)}"
                )
            given = innermost(site["fn"])
            if getattr(given, "total_count_max", 1) is None:
                raise UsageError(
                    f"site {name!r} of {self.source}: NumPyro draws replicated counts only where it knows the largest "
                    f"total, Multinomial(..., total_count_max={int(np.max(given.total_count))})"
                )
        return list(observed)

    def _require_estimands(self, sites: Mapping[str, Any], data: Data) -> None:
        for name, frame in (
            (name, frame) for name, site in sites.items() for frame in site.get("cond_indep_stack", ())
        ):
            if frame.name in data.coords and frame.size != (size := len(data.coords[frame.name])):
                raise UsageError(
                    f"{name!r} of {self.source} lies in a plate {frame.name!r} of {frame.size}, and the table "
                    f"has {size}: write numpyro.plate({frame.name!r}, data.size({frame.name!r}))"
                )
        require_estimands(self.source, self._axes(sites, data), data, fix=_FIX)

    @staticmethod
    def _axes(sites: Mapping[str, Any], data: Data) -> dict[str, tuple[str, ...]]:
        """Deterministic sites are in no plate: their shape says what they are of."""
        from bayesjudge.inference.programs.density import axes_of

        axis_of = view_of(data).estimands
        lengths = {axis: (len(data.coords[axis]),) for axis in view_of(data).axes}

        def along(name: str, shape: tuple[int, ...]) -> tuple[str, ...]:
            axis = axis_of.get(name, "")
            return (axis,) if shape == lengths.get(axis) else tuple(map(str, shape))

        return {
            name: axes_of(site) if site["type"] == "sample" else along(name, np.shape(site["value"]))
            for name, site in sites.items()
            if site["type"] in {"sample", "deterministic"}
        }


_FIX = "put it within numpyro.plate('{axis}', data.size('{axis}'))"


def cells(*columns: str) -> Callable[[Callable[[Data], Any]], FunctionModel]:
    """Have a function called with cells: the answers of one system with one value of each column of the log.

    Its arrays lie along the axis ``cell`` where others lie along ``system``; ``data["system_of"]`` says whose each
    cell is, and ``data[column]`` what its value is, as `bayesjudge.data` describes. The sites ``accuracy``,
    ``sensitivity`` and ``specificity`` are of cells, and what is reported is of systems: of all their answers, of those
    that are right, and of those that are wrong.

    Parameters
    ----------
    *columns : str
        Columns of the log with one value for each answer; ``log(length)``, ``sqrt`` and ``logit`` of one are allowed.

    Examples
    --------
    >>> @cells("log(words)")
    ... def length_helps(data):
    ...     import numpyro
    ...     from numpyro import distributions as dist
    ...
    ...     slope = numpyro.sample("slope", dist.Normal(0, 1))
    ...     with numpyro.plate("system", data.size("system")):
    ...         level = numpyro.sample("level", dist.Logistic(0, 1))
    ...     logit = level[data["system_of"]] + slope * data["log(words)"]
    ...     theta = numpyro.deterministic("accuracy", 1 / (1 + np.e**-logit))
    ...     with numpyro.plate("cell", data.size("cell")):
    ...         numpyro.sample("positives", dist.Binomial(data["n"], theta), obs=data["positives"])
    >>> length_helps.label, length_helps.columns
    ('bayes:length_helps', ('log(words)',))
    """
    if not columns or not all(isinstance(name, str) for name in columns):
        raise UsageError("cells: name columns of the log, as in @bj.cells('length', 'topic')")
    return lambda function: FunctionModel(function=function, columns=columns)


@dataclass(frozen=True)
class _Derived:
    """Deterministic sites at one draw.

    Data sets of one shape share a program where their labels are equal too, by which a function may look things up.
    """

    model: FunctionModel
    names: tuple[str, ...]
    key: Any
    shape: Data = field(compare=False)

    def __call__(self, arrays: Mapping[str, Any], key: Any) -> tuple[Any, ...]:
        from numpyro import handlers

        with handlers.trace() as sites, handlers.seed(rng_seed=key):
            self.model.numpyro(self.shape.with_arrays(arrays))
        return tuple(sites[name]["value"] for name in self.names)
