"""A model written in PyMC: PyMC samples it, draws replicated data and computes its densities, five calls in all."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.adapters.estimands import observing, require_entries, require_estimands
from bayesjudge.adapters.views import shown_arrays, view_of
from bayesjudge.errors import UsageError
from bayesjudge.model import Data

if TYPE_CHECKING:
    import xarray as xr

#: The fact of data whose model is written in PyMC.
WRITTEN = "pymc"


def is_model(value: Any) -> bool:
    """Whether something is a ``pm.Model``, without importing PyMC."""
    return any(base.__module__ == "pymc.model.core" and base.__name__ == "Model" for base in type(value).__mro__)


def prepared(source: str, model: Any, data: Data) -> Data:
    """The arrays of a table with those that the model observes.

    Refused is one that observes nothing, or other values under the name of an array, has a discrete unknown, or no
    variable that is an estimand along its axis.
    """
    if discrete := [one.name for one in model.discrete_value_vars]:
        raise UsageError(f"variable {discrete[0]!r} of {source} is a discrete unknown: sum it out of the likelihood")
    require_estimands(source, variables(model), data, fix=_FIX)
    view = view_of(data)
    for axis in (axis for axis in view.axes if axis in model.coords):
        require_entries(source, model.coords[axis], data, axis=axis)
    facts = {**data.facts, WRITTEN: True}
    if potentials := [one.name for one in model.potentials]:
        why = f"{source} has the potential {potentials[0]!r}, from which no data can be drawn"
        return replace(data, observed="", unobserved=why, facts=facts)
    values_of = {one.name: np.asarray(model.rvs_to_values[one].eval()) for one in model.observed_RVs}
    if not values_of:
        raise UsageError(
            f"{source} observes nothing: give observed=data[...] and the name of that array to a variable, "
            f"of {shown_arrays(data)}"
        )
    for name, values in values_of.items():
        if name in view.arrays and not (name in data.arrays and np.array_equal(values, data[name])):
            raise UsageError(f"variable {name!r} of {source} must observe the array of its name, data[{name!r}]")
    own = {name: values for name, values in values_of.items() if name not in view.arrays}
    axes = _axes(model)
    dims = {name: axes.get(name, tuple(f"{name}_{axis}" for axis in range(own[name].ndim))) for name in own}
    sizes = {dim: size for name in own for dim, size in zip(dims[name], own[name].shape, strict=True)}
    known = replace(
        data,
        arrays={**data.arrays, **own},
        dims={**data.dims, **dims},
        coords={**{dim: tuple(range(size)) for dim, size in sizes.items()}, **data.coords},
        facts=facts,
    )
    return observing(source, known, [*values_of])


def variables(model: Any) -> dict[str, tuple[str, ...]]:
    """Axes of every variable that is not observed."""
    names = [one.name for one in (*model.free_RVs, *model.deterministics)]
    return {name: _axes(model).get(name, _nameless(model[name])) for name in names}


_FIX = "write dims='{axis}', within pm.Model(coords={{'{axis}': data.coords['{axis}']}})"


def _axes(model: Any) -> dict[str, tuple[str, ...]]:
    return {name: tuple(map(str, dims)) for name, dims in model.named_vars_to_dims.items()}


def _nameless(variable: Any) -> tuple[str, ...]:
    return tuple(f"{variable.name}_dim_{axis}" for axis in range(variable.ndim))


def drawn(make: Callable[[Data], Any], data: Data, engine: Any, seed: int, progress: bool) -> xr.DataTree:
    """One tree of posterior, prior, replicated data and log densities."""
    import pymc as pm
    import xarray as xr

    from bayesjudge.inference import PyMC
    from bayesjudge.inference.engines.pymc import sampled
    from bayesjudge.inference.outcomes import OUTCOMES

    lengths = {"chains": engine.chains, "draws": engine.draws, "tune": engine.tune}
    chosen = engine if isinstance(engine, PyMC) else PyMC(**lengths, target_accept=engine.target_accept)
    logger = logging.getLogger("pymc.sampling.forward")
    with make(data) as model:
        level = logger.level
        logger.setLevel(logging.WARNING)
        try:
            tree: xr.DataTree = sampled(model, chosen, seed=seed, progress=progress)
            # PyMC's bars of what follows are written where the answer is.
            pm.stats.compute_log_prior(tree, progressbar=False)
            if not data.unobserved:
                pm.compute_log_likelihood(tree, progressbar=False)
                if data.counted:
                    tree[OUTCOMES] = xr.DataTree(_outcomes(model, tree, data))
                replicated: Any = pm.sample_posterior_predictive(tree, random_seed=seed + 1, progressbar=False)
                prior: Any = pm.sample_prior_predictive(chosen.chains * chosen.draws, random_seed=seed + 2)
                for name, group in (*replicated.children.items(), *prior.children.items()):
                    tree[name] = group
        finally:
            logger.setLevel(level)
    return tree


def _outcomes(model: Any, tree: xr.DataTree, data: Data) -> xr.Dataset:
    """How often each outcome of binomial and multinomial arrays occurred, and its log probability at every draw."""
    import pytensor
    import pytensor.tensor as pt
    from pytensor.tensor.random.basic import BinomialRV, MultinomialRV

    from bayesjudge.inference.outcomes import outcome_group

    posterior, found = tree["posterior"].to_dataset(), {}
    free = [variable.name for variable in model.free_RVs]
    drawn = [posterior[name].transpose("chain", "draw", ...).to_numpy() for name in free]
    for variable in model.observed_RVs:
        value = np.asarray(model.rvs_to_values[variable].eval())
        op: Any = variable.owner.op
        if not isinstance(op, BinomialRV | MultinomialRV):
            log_p = tree["log_likelihood"][variable.name].transpose("chain", "draw", ...).to_numpy()
            found[variable.name] = (np.ones(log_p.shape[2:]), log_p)
            continue
        parameters: Any = op.dist_params(variable.owner)
        total, p = parameters
        p = pt.stack([1 - p, p], axis=-1) if isinstance(op, BinomialRV) else p
        log_p_of: Any = pt.log(p)
        program: Any = pytensor.function(model.free_RVs, [total, log_p_of], on_unused_input="ignore")
        at = [program(*(draws[place] for draws in drawn)) for place in np.ndindex(drawn[0].shape[:2])]
        times = np.stack([at[0][0] - value, value], axis=-1) if isinstance(op, BinomialRV) else value
        log_p = np.stack([np.broadcast_to(one, times.shape) for _, one in at])
        found[variable.name] = (times, log_p.reshape(*drawn[0].shape[:2], *times.shape))
    return outcome_group(found, data, draw=posterior["draw"].to_numpy())
