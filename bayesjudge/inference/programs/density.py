"""A model's posterior as a function on flat, unconstrained vectors: what every engine works on.

The data enter as arguments, not as constants, so one compiled program serves every data set of the
same shape, one after another or all at once under ``vmap``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from jax.core import Tracer
from numpyro.distributions import biject_to
from numpyro.infer.util import constrain_fn, potential_energy, transform_fn, unconstrain_fn

from bayesjudge.errors import UsageError
from bayesjudge.inference.programs import accelerator
from bayesjudge.model import Data, Marginal, Model, latent_sites, program_of

type Arrays = Mapping[str, Any]


@dataclass(frozen=True, eq=False, kw_only=True)
class Density:
    """Log posterior of one model for data of one shape.

    size: Number of unconstrained parameters d.
    potential: ``(flat (d,), arrays) -> scalar``: minus the log density in unconstrained space, with Jacobian.
    constrain: ``(flat (d,), arrays) -> dict`` of every latent site on its own support.
    unconstrain: ``(dict of site values, arrays) -> flat (d,)``, the inverse of ``constrain``.
    unravel: ``flat (d,) -> dict`` of unconstrained site values.
    dims: Names of the axes of every site, from the model's plates.
    start: A point of finite density to search from.
    shared: Coordinates of all sites but the effects of single items, where the model says which these are.
    """

    size: int
    potential: Callable[[Any, Arrays], Any]
    constrain: Callable[[Any, Arrays], dict[str, Any]]
    unconstrain: Callable[[Mapping[str, Any], Arrays], Any]
    unravel: Callable[[Any], dict[str, Any]]
    dims: Mapping[str, tuple[str, ...]]
    start: Any
    shared: Any = ()


@dataclass(frozen=True, kw_only=True)
class Sets:
    """How arrays of many data sets are stacked: those named have a leading axis, the others are shared.

    What all data sets have in common (which pattern is which) is kept once: look-ups with shared indices
    are several times faster than with an index array for every data set.
    """

    number: int
    names: tuple[str, ...]
    stacked: frozenset[str]

    @property
    def axes(self) -> dict[str, int | None]:
        """Argument for ``jax.vmap(in_axes=)``."""
        return {name: 0 if name in self.stacked else None for name in self.names}


_CACHE: dict[tuple[Any, ...], Density] = {}


def density(model: Model | Marginal, data: Data) -> Density:
    """The density of ``model`` for data shaped like ``data``; built once for each shape in a process.

    Where the parameters of priors are among the arrays, one density serves all priors of the same families.
    """
    key = (type(model), program_of(model, data), data.signature)
    try:
        if key not in _CACHE:
            _CACHE[key] = _build(model, data)
    except TypeError:
        _require_hashable(model)
        raise
    return _CACHE[key]


def _require_hashable(model: Model | Marginal) -> None:
    """Refuse options that a program cannot be kept under."""
    described: Any = model
    options: dict[str, Any] = vars(described) if is_dataclass(described) else {}
    for name, value in options.items():
        try:
            hash(value)
        except TypeError as error:
            fixed = "tuple(pairs.items())" if isinstance(value, dict) else "a tuple"
            raise UsageError(
                f"option {name} of {model.label} is a {type(value).__name__}, which can change: give {fixed}"
            ) from error


def _build(model: Model | Marginal, data: Data) -> Density:
    accelerator.prepare()
    generative = partial(_generative, model, data)
    sites = _sites(generative, data.arrays, model.label)
    if lost := [name for name in data.observations if name not in sites or sites[name].free is not None]:
        names = ", ".join(name for name, site in sites.items() if site.free is None) or "nothing"
        raise UsageError(
            f"{model.label} observes no array at a site named {lost[0]!r}, as its data say; it has {names}"
        )
    latent = {name: site for name, site in sites.items() if site.free is not None}
    order = sorted(latent)
    ends = np.cumsum([0, *(math.prod(latent[name].free or ()) for name in order)]).tolist()
    moves = {name: biject_to(site.support) for name, site in latent.items() if not site.moving}
    moving = len(moves) < len(latent)
    single = latent_sites(model)
    parts = zip(order, ends, ends[1:], strict=False)
    shared = [k for name, start, end in parts for k in range(start, end) if name not in single]

    def unravel(flat: Any) -> dict[str, Any]:
        parts = zip(order, ends, ends[1:], strict=False)
        return {name: flat[start:end].reshape(latent[name].free) for name, start, end in parts}

    def potential(flat: Any, arrays: Arrays) -> Any:
        return potential_energy(generative, (arrays,), {}, unravel(flat))

    def constrain(flat: Any, arrays: Arrays) -> dict[str, Any]:
        values = unravel(flat)
        found = constrain_fn(generative, (arrays,), {}, values) if moving else transform_fn(moves, values)
        return dict(found)

    def unconstrain(values: Mapping[str, Any], arrays: Arrays) -> Any:
        given = {name: values[name] for name in latent}
        found = unconstrain_fn(generative, (arrays,), {}, given) if moving else transform_fn(moves, given, invert=True)
        return jnp.concatenate([jnp.ravel(found[name]) for name in order])

    return Density(
        size=ends[-1],
        potential=potential,
        constrain=constrain,
        unconstrain=unconstrain,
        unravel=unravel,
        dims={name: site.dims for name, site in sites.items()},
        start=np.zeros(ends[-1]),
        shared=np.array(shared) if single else (),
    )


def _generative(model: Model | Marginal, data: Data, arrays: Arrays) -> None:
    model.numpyro(data.with_arrays(arrays))


class _Site(NamedTuple):
    """Names of the axes, support, whether it moves with other sites or data, and shape without constraints.

    The last is None for observations.
    """

    dims: tuple[str, ...]
    support: Any
    moving: bool
    free: tuple[int, ...] | None


def _sites(generative: Callable[[Arrays], None], arrays: Arrays, label: str) -> dict[str, _Site]:
    """What is sampled, by an abstract run that computes nothing."""
    found: dict[str, _Site] = {}
    discrete: list[str] = []

    def run(key: Any, arrays: Arrays) -> Any:
        trace = numpyro.handlers.trace(numpyro.handlers.seed(generative, key)).get_trace(arrays)
        for name, site in trace.items():
            if site["type"] == "sample":
                support, shape = site["fn"].support, jnp.shape(site["value"])
                if support.is_discrete and not site["is_observed"]:
                    discrete.append(name)
                    continue
                # Such a support is known only where the model has run.
                moving = any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(support))
                free = None if site["is_observed"] else tuple(biject_to(support).inverse_shape(shape))
                found[name] = _Site(axes_of(site), support, moving, free)
        return 0

    jax.eval_shape(lambda arrays: run(jax.random.key(0), arrays), dict(arrays))
    if discrete:  # not within the abstract run, where JAX adds words of its own
        raise UsageError(f"site {discrete[0]!r} of {label} is a discrete unknown: sum it out of the likelihood")
    return found


def axes_of(site: Mapping[str, Any]) -> tuple[str, ...]:
    """Axis names of a site: its plates by position, then ``infer={"event_dims": ...}`` for vector values.

    An axis of length 1 that neither names has none ("").
    """
    shape = jnp.shape(site["value"])
    plates = {frame.dim: frame.name for frame in site["cond_indep_stack"]}
    batch = len(shape) - len(site["fn"].event_shape)
    vector = site["infer"].get("event_dims", (None,) * len(shape))
    names = [plates.get(axis - batch) if axis < batch else vector[axis - batch] for axis in range(len(shape))]
    spare = [f"{site['name']}_dim_{axis}" if length != 1 else "" for axis, length in enumerate(shape)]
    return tuple(name or other for name, other in zip(names, spare, strict=True))


def replay(model: Model, data: Data) -> Callable[[Any, Mapping[str, Any], Arrays], dict[str, Any]]:
    """``(key, latent values, arrays) -> sites`` of the model run again with its latent values fixed."""

    def run(key: Any, values: Mapping[str, Any], arrays: Arrays) -> dict[str, Any]:
        generative = numpyro.handlers.substitute(partial(_generative, model, data), data=dict(values))
        trace = numpyro.handlers.trace(numpyro.handlers.seed(generative, key)).get_trace(arrays)
        return dict(trace)

    return run
