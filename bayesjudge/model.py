"""What a generative model is to this package, and where models are found.

A model is a frozen dataclass whose fields are its options and prior hyper-parameters. It turns a table
into `Data`, writes its joint density once in NumPyro and once in PyMC, and says which quantities its
posterior answers for. Everything else (engines, gates, predictive checks, calibration) works on any
object of this shape, so a model registered by another package gets all of it. `GenerativeModel` is a base
class that has what most models share; what only some offer is a protocol that questions and checks look for.
"""

from __future__ import annotations

import difflib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

from bayesjudge.errors import UsageError, did_you_mean, require_positive
from bayesjudge.priors import InUse, Prior, Slot
from bayesjudge.priors.use import ARRAY

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from bayesjudge.estimates import Estimates, Population
    from bayesjudge.estimates.posterior import Quantities


#: A test quantity: (replicated observations (..., rows), data) to named arrays with the same leading shape.
#: Where data have several observed arrays, the replicated observations are a mapping by name.
type Statistic = Callable[[Any, "Data"], Any]


@dataclass(frozen=True, eq=False, kw_only=True)
class Data:
    """What a model sees: arrays of sufficient statistics, with names for their axes.

    weights: The array that says how many exchangeable observations each entry of ``observed`` represents; leave-one-out
        then leaves out one of them, not the whole entry.
    counted: Whether what binomial and multinomial arrays count are exchangeable observations (answers, votes), of which
        leave-one-out leaves out one.
    unobserved: Why no data can be drawn to be compared with those observed, for instance a likelihood that is a factor;
        ``observed`` is then the empty text.
    also_observed: Further observed arrays, each with a likelihood site of its name, where one model speaks of several
        kinds of observation (human votes and a judge's scores).
    ragged: Axes whose length depends on the data; zeros along them represent no observation, so data sets of unequal
        length can be padded to one shape.
    facts: Facts that shape the density (a number of runs, the kind of labels): equal facts, dims and coords mean the
        same program.
    units: Number of items behind each unit named in the estimates.
    """

    arrays: Mapping[str, Any]
    dims: Mapping[str, tuple[str, ...]]
    coords: Mapping[str, tuple[Any, ...]]
    observed: str
    weights: str | None = None
    counted: bool = False
    also_observed: tuple[str, ...] = ()
    unobserved: str = ""
    ragged: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    units: Mapping[str, int] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.arrays[name]

    @property
    def observations(self) -> tuple[str, ...]:
        """Every observed array, the main one first; none where there is a reason for that."""
        return () if self.unobserved else (self.observed, *self.also_observed)

    def size(self, dim: str) -> int:
        """Length of an axis as the arrays now have it (padding included)."""
        for name, dims in self.dims.items():
            if dim in dims and name in self.arrays:
                return int(np.shape(self.arrays[name])[dims.index(dim)])
        return len(self.coords[dim])

    def with_arrays(self, arrays: Mapping[str, Any]) -> Data:
        """Copy that holds other values of the same arrays."""
        return replace(self, arrays=arrays)

    def padded(self, dim: str, length: int) -> Data:
        """Copy whose axis ``dim`` is lengthened to ``length`` with zeros, which must represent no observation."""
        arrays = dict(self.arrays)
        for name in (name for name, dims in self.dims.items() if dim in dims):
            sizes = zip(self.dims[name], np.shape(arrays[name]), strict=True)
            arrays[name] = np.pad(arrays[name], [(0, length - size if d == dim else 0) for d, size in sizes])
        coords = {**self.coords, dim: tuple(range(length))}
        return replace(self, arrays=arrays, coords=coords)

    @property
    def signature(self) -> tuple[Any, ...]:
        """Hashable description of everything about the data that shapes the density, values aside."""
        shapes = tuple((name, np.shape(a), str(a.dtype)) for name, a in sorted(self.arrays.items()))
        lengths = tuple(sorted((dim, len(labels)) for dim, labels in self.coords.items()))
        return (shapes, lengths, tuple(sorted(self.facts.items())), tuple(sorted(self.dims.items())))


@runtime_checkable
class Model(Protocol):
    """The shape of a generative model; see `models/judge_error/model.py` for one to read.

    ``numpyro(data)`` and ``pymc(data)`` define the same joint density; the likelihood's site is named
    ``data.observed`` (further ones as ``data.also_observed`` names them). ``estimates`` turns posterior draws
    (an ``xarray.Dataset`` with dims ``chain, draw, ...``) into the common result. ``statistics`` names the
    test quantities of the predictive checks.
    """

    @property
    def name(self) -> str:
        """Registered name, for instance ``judge_error``."""
        ...

    @property
    def label(self) -> str:
        """Method name shown in tables, for instance ``bayes:judge_error[partial]``."""
        ...

    def prepare(self, table: Any) -> Data:
        """Sufficient statistics of a table; raises `InputError` or `UsageError` where it cannot be used."""
        ...

    def numpyro(self, data: Data) -> None:
        """The generative model in NumPyro."""

    def pymc(self, data: Data) -> Any:
        """The same model in PyMC."""

    def estimates(self, posterior: xr.Dataset, data: Data, *, prob: float = 0.95) -> Estimates:
        """What the posterior says of the estimands."""
        ...

    @property
    def statistics(self) -> Mapping[str, Statistic]:
        """Named test quantities for predictive checks."""
        ...

    def simulate(self, key: Any, data: Data) -> Mapping[str, Any]:
        """One draw of parameters and observations from the prior, by the same generative function."""
        ...


@dataclass(frozen=True, kw_only=True)
class GenerativeModel(ABC):
    """Base class of models: a frozen dataclass adds ``prepare, numpyro, quantities`` and what else it offers.

    A field whose name ends in ``_scale`` must be above 0. ``given`` are the priors that are not the defaults of
    `priors`; `with_priors` sets them.
    """

    given: tuple[tuple[str, Prior], ...] = ()

    #: Effects of units whose distribution is part of the model, not a prior belief about one number.
    exchangeable: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        scales = [entry.name for entry in fields(self) if entry.name.endswith("_scale")]
        require_positive(**{name: getattr(self, name) for name in scales})
        if isinstance(formulas := getattr(self, "formulas", ()), str | list):
            # A model is a key of what was compiled for it, and a list is none.
            object.__setattr__(self, "formulas", (formulas,) if isinstance(formulas, str) else tuple(formulas))

    @property
    def name(self) -> str:
        """Registered name: that of the class, in lower case."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()

    @property
    def options(self) -> tuple[str, ...]:
        """What the label has in brackets: text and flags that differ from their defaults."""
        found = []
        for entry in fields(self):
            value = getattr(self, entry.name)
            if value is True and not entry.default:
                found.append(entry.name.removeprefix("by_").removesuffix("_effect"))
            elif isinstance(value, str) and value != entry.default:
                found.append(value)
        return tuple(found)

    @property
    def priors(self) -> Mapping[str, Slot]:
        """Every number that the model assumes under its options, by name."""
        return {}

    def with_priors(self, priors: Mapping[str, Any] | None = None, /, **named: Any) -> Self:
        """The model with other priors: texts or objects as `Slot.read` takes them.

        Examples
        --------
        >>> find_model("judge_error")().with_priors(sensitivity="160/200").label
        'bayes:judge_error[partial, sensitivity~Beta(161, 41)]'
        """
        slots, found = self.priors, dict(self.given)
        for name, prior in {**(priors or {}), **named}.items():
            if name not in slots:
                has = ", ".join(slots) or "none"
                raise UsageError(f"{self.label} has no prior {name!r}{did_you_mean(name, slots)}; it has: {has}")
            try:
                found[name] = slots[name].read(prior)
            except UsageError as error:
                raise UsageError(f"prior {name} of {self.name}: {error}") from error
        kept = {name: prior for name, prior in found.items() if name not in slots or prior != slots[name].default}
        return replace(self, given=tuple(sorted(kept.items())))

    @property
    def chosen_priors(self) -> Mapping[str, Prior]:
        """The prior of every slot: what was given, or the default."""
        given = dict(self.given)
        return {name: given.get(name, slot.default) for name, slot in self.priors.items()}

    def in_use(self, data: Data) -> InUse:
        """The priors as `numpyro` and `pymc` take them."""
        return InUse(self.chosen_priors, data.arrays)

    @property
    def label(self) -> str:
        """Method name in tables."""
        given = [f"{name}~{prior}" for name, prior in self.given if name in self.priors]
        inside = ", ".join([",".join(self.options), *given] if self.options else given)
        return f"bayes:{self.name}[{inside}]" if inside else f"bayes:{self.name}"

    @abstractmethod
    def prepare(self, table: Any) -> Data:
        """Sufficient statistics of a table; raises `InputError` or `UsageError` where it cannot be used."""

    @abstractmethod
    def numpyro(self, data: Data) -> None:
        """The generative model in NumPyro."""

    @abstractmethod
    def quantities(self, posterior: xr.Dataset, data: Data) -> Quantities:
        """Draws of all that the model says, by estimand; see `bayesjudge.estimates.posterior.quantity`."""

    def pymc(self, data: Data) -> Any:  # noqa: ARG002 a model may have a twin
        """The same model in PyMC."""
        raise UsageError(f"{self.label} has no PyMC model: use engine='nuts', 'hmc' or 'laplace'")

    @property
    def statistics(self) -> Mapping[str, Statistic]:
        """Named test quantities for predictive checks."""
        return {}

    def estimates(self, posterior: xr.Dataset, data: Data, *, prob: float = 0.95, **options: Any) -> Estimates:
        """Rows of `quantities`, which takes the ``options``, with equal-tailed intervals."""
        from bayesjudge.estimates.posterior import estimates_of

        derive: Callable[..., Quantities] = self.quantities
        return estimates_of(derive(posterior, data, **options), method=self.label, prob=prob)

    def before_data(self, prior: xr.Dataset, data: Data) -> Quantities:
        """Draws by estimand from draws of the prior: `quantities`, unless they are adjusted for the data."""
        return self.quantities(prior, data)

    def simulate(self, key: Any, data: Data) -> Mapping[str, Any]:
        """Every site drawn from the prior; the observations of ``data`` are not looked at."""
        return simulate(self, key, data)


def prepared(model: Model, table: Any) -> Data:
    """Data of a table, of what is known to be a model; a class, a name or a function is none."""
    if isinstance(model, type):
        raise UsageError(f"{model.__name__} is a class of models: write {model.__name__}()")
    if isinstance(model, str):
        raise UsageError(f"{model!r} is a name, not a model: write bayesjudge.find_model({model!r})()")
    if not hasattr(model, "prepare"):
        made = (
            "bayesjudge.as_model(function) makes one of it" if callable(model) else "bayesjudge.find_model names some"
        )
        raise UsageError(f"{getattr(model, '__name__', repr(model))} is no model: {made}")
    return table if isinstance(table, Data) else model.prepare(table)


def simulate(model: Any, key: Any, data: Data) -> dict[str, Any]:
    """Every site drawn from the prior by ``model.numpyro``, for the design of ``data``."""
    from numpyro import handlers

    blank = data.with_arrays({name: a for name, a in data.arrays.items() if name not in data.observations})
    sites = handlers.trace(handlers.seed(model.numpyro, key)).get_trace(blank)
    drawn = {"sample", "deterministic"}
    return {name: site["value"] for name, site in sites.items() if site["type"] in drawn}


# What only some models offer.


@runtime_checkable
class GivesQuantities(Protocol):
    """A model that gives draws of its estimands."""

    def quantities(self, posterior: xr.Dataset, data: Data) -> Quantities:
        """Draws by estimand."""
        ...


@runtime_checkable
class HasExchangeable(Protocol):
    """A model with effects whose distribution is part of it, not a prior whose sensitivity is checked."""

    @property
    def exchangeable(self) -> tuple[str, ...]:
        """Their sites."""
        ...


@runtime_checkable
class HasLatent(Protocol):
    """A model with effects, one an item or a cell, that no row reports by themselves."""

    @property
    def latent(self) -> tuple[str, ...]:
        """Their sites, whose convergence is held to a lower standard than that of what is reported."""
        ...


def latent_sites(model: object) -> tuple[str, ...]:
    """Sites that the gate holds to the lower standard; none for most models."""
    return model.latent if isinstance(model, HasLatent) else ()


@dataclass(frozen=True, kw_only=True)
class Marginal(ABC):
    """What units (items) share under a model, with the units' own effects integrated out on a lattice.

    Its sites are those of the whole model but for the units' effects, under their names. Its data have an array
    ``shift``, 0 where it is sampled from: the part of a step by which the lattice is shifted.

    of: The whole model.
    """

    of: GenerativeModel

    @property
    def label(self) -> str:
        """That of the whole model."""
        return self.of.label

    @abstractmethod
    def numpyro(self, data: Data) -> None:
        """The density of what is shared."""

    @abstractmethod
    def lots(self, data: Data) -> Mapping[str, tuple[int, ...]]:
        """Shapes of the uniform random numbers that `effects` takes."""

    @abstractmethod
    def effects(self, values: Mapping[str, Any], data: Data, whole: Data, lots: Mapping[str, Any]) -> Mapping[str, Any]:
        """Values of the effects' sites in the whole model, drawn given what is shared; a function for JAX."""


@runtime_checkable
class HasMarginal(Protocol):
    """A model whose units' own effects an engine may integrate out, and draw given the rest."""

    def marginal(self, data: Data) -> tuple[Marginal, Data] | None:
        """The model without them and its data; None where effects are better sampled."""
        ...


@runtime_checkable
class GivesAccuracy(Protocol):
    """A model that gives draws of each model's accuracy."""

    def accuracy(
        self, posterior: xr.Dataset, data: Data, *, population: Population = "superpopulation", seed: int = 0
    ) -> xr.DataArray:
        """Dims ``chain, draw, system``."""
        ...


@runtime_checkable
class ShiftsAccuracy(Protocol):
    """A model that says what accuracies would be if labels had been chosen."""

    def accuracy_if(self, posterior: xr.Dataset, data: Data, *, odds: float) -> xr.DataArray:
        """Draws where, among answers with one verdict, the odds of a right one are so many times as large."""
        ...


@runtime_checkable
class GivesElo(Protocol):
    """A model that gives draws of each model's Elo."""

    def elo(self, posterior: xr.Dataset, data: Data) -> xr.DataArray:
        """Dims ``chain, draw, system``."""
        ...


@runtime_checkable
class GivesTrust(Protocol):
    """A model that says how probably people agree with each verdict that they did not verify."""

    def trust(self, posterior: xr.Dataset, data: Data, *, prob: float) -> pd.DataFrame:
        """Columns ``trust, lower, upper``, one row a pair."""
        ...


@runtime_checkable
class OnHost(Protocol):
    """A distribution of observations whose draws NumPy makes: to compile a sampler takes as long as a density."""

    @property
    def source(self) -> Any:
        """What they are drawn from, a pytree whose ``drawn(rng)`` draws once for each entry of a leading axis."""
        ...


class Evaluated(NamedTuple):
    """What is known at draws of a posterior: replicated observations, log densities by observed array and by site.

    outcomes: Where data are `Data.counted`, how often each outcome occurred and its log probability, by observed array.
    """

    replicated: Mapping[str, Any]
    log_likelihood: Mapping[str, Any]
    log_prior: Mapping[str, Any]
    outcomes: Mapping[str, tuple[Any, Any]] = MappingProxyType({})


@runtime_checkable
class EvaluatesOnHost(Protocol):
    """A model whose densities NumPy knows: to compile a program that evaluates them takes longer than it does."""

    def evaluated(self, values: Mapping[str, Any], data: Data, *, rng: np.random.Generator) -> Evaluated:
        """At sites' values with a leading axis of draws, as the program of any other model gives it."""
        ...


@runtime_checkable
class Resamples(Protocol):
    """A model whose observations are resampled in a way of its own for the predictive check."""

    def bootstrap(self, data: Data, *, replicates: int, seed: int) -> Any:
        """Observations (replicates, ...), by name where there are several kinds; None: the counts will do."""
        ...


@runtime_checkable
class Describes(Protocol):
    """A model with facts about one posterior that belong into the manifest of its fit."""

    def describe(self, posterior: xr.Dataset, data: Data) -> Mapping[str, Any]:
        """JSON-ready facts by name."""
        ...


class Elsewhere(NamedTuple):
    """Who has the draws of a posterior, and ``(engine, seed, progress) -> tree``, an ArviZ tree with them."""

    engine: str
    draw: Callable[[Any, int, bool], xr.DataTree]


@runtime_checkable
class DrawnElsewhere(Protocol):
    """A model whose draws others make, or have made: PyMC of its own model, or whoever stored a tree."""

    def elsewhere(self, data: Data) -> Elsewhere | None:
        """Where its draws come from; None where this package draws them."""
        ...


@runtime_checkable
class MeetsData(Protocol):
    """A model that knows its priors once it has data: a function, which states them as it is called."""

    def met(self, data: Data) -> Self:
        """The model with the slots that it has for these data."""
        ...


def met[M](model: M, data: Data) -> M:
    """A model as it is for these data."""
    return model.met(data) if isinstance(model, MeetsData) else model


def elsewhere(model: Model, data: Data) -> Elsewhere | None:
    """Where the draws of a model come from, if not from this package."""
    return model.elsewhere(data) if isinstance(model, DrawnElsewhere) else None


@runtime_checkable
class Replicates(Protocol):
    """A model whose data hold more of the observations than the observed arrays: summaries of them."""

    def replicated(self, data: Data, observed: Mapping[str, Any]) -> Data:
        """The same design with other observations, and summaries that agree with them."""
        ...


def lacks(model: Model, offer: type) -> UsageError:
    """The error where a question needs what a model does not offer: the method, and a model that has it."""
    (method,) = (name for name in vars(offer) if not name.startswith("_"))
    have = [name for name in model_names() if isinstance(find_model(name)(), offer)]
    return UsageError(f"{model.label} has no method {method}, which this question needs; {have[0]} has it")


def with_parameters(model: Model, data: Data) -> Data:
    """Copy of ``data`` with the parameters of the model's priors among its arrays, which a program takes as arguments.

    They are no data: they have no dims, and what is stored of a fit does not have them.
    """
    chosen = model.chosen_priors if isinstance(model, GenerativeModel) else {}
    return data.with_arrays({**data.arrays, **{ARRAY + name: np.array(p.parameters) for name, p in chosen.items()}})


def program_of(model: Model | Marginal, data: Data) -> Any:
    """What of a model shapes its program: of priors whose parameters come with the data, their families alone."""
    if isinstance(model, Marginal):
        return type(model), program_of(model.of, data)
    if not isinstance(model, GenerativeModel) or not any(name.startswith(ARRAY) for name in data.arrays):
        return model
    return replace(model, given=()), tuple((name, prior.family) for name, prior in model.chosen_priors.items())


def with_observations(model: Model, data: Data, observed: Mapping[str, Any]) -> Data:
    """Copy of ``data`` with other observed arrays, for instance simulated ones."""
    if isinstance(model, Replicates):
        return model.replicated(data, observed)
    return data.with_arrays({**data.arrays, **observed})


def model_names() -> tuple[str, ...]:
    """Names of every registered model, this package's and others'.

    Examples
    --------
    >>> "judge_error" in model_names()
    True
    """
    return tuple(sorted({point.name for point in entry_points(group="bayesjudge.models")}))


#: Models that were there once, and what took their place.
_SUCCEEDED = {"paired_accuracy": "judge_error, whose draws are adjusted for the items that models share"}


def find_model(name: str) -> Callable[..., Model]:
    """The registered model class of that name.

    Raises
    ------
    UsageError
        No model of that name is registered; the message lists the names.

    Examples
    --------
    >>> find_model("judge_error")(pooling="shared").label
    'bayes:judge_error[shared]'
    """
    points = {point.name: point for point in entry_points(group="bayesjudge.models")}
    if name in _SUCCEEDED and name not in points:
        raise UsageError(f"there is no model {name!r} any more: use {_SUCCEEDED[name]}")
    if name not in points:
        near = difflib.get_close_matches(name, points, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise UsageError(f"no model {name!r}{hint}; registered: {', '.join(sorted(points))}")
    loaded: Callable[..., Model] = points[name].load()
    return loaded
