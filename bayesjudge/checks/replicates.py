"""Replicated worlds: parameters from the prior, data from the model, and test quantities of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.checks.convergence import scalars
from bayesjudge.errors import UsageError
from bayesjudge.model import Data, Model

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bayesjudge.inference.density import Density

__all__ = ["LOG_LIKELIHOOD", "Quantity", "Ranked", "World", "quantities_of", "simulate"]

LOG_LIKELIHOOD = "log likelihood"

#: A test quantity: (latent values by site, arrays of one data set) to a scalar, in JAX.
type Quantity = Callable[[Mapping[str, Any], Mapping[str, Any]], Any]
type _Sites = Mapping[str, Any]


@dataclass(frozen=True, eq=False, kw_only=True)
class World:
    """Replicates of a model's own simulator.

    Attributes
    ----------
    model : Model
        The simulator.
    data : Data
        The design that all replicates share.
    truth : mapping of str to array (replicates, ...)
        Every site's true value.
    datasets : tuple of Data
        The design with each replicate's observations.
    """

    model: Model
    data: Data
    truth: _Sites
    datasets: tuple[Data, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Ranked:
    """Test quantities at the truth and at posterior draws.

    Attributes
    ----------
    names : tuple of str
        One name a quantity: ``site[label, label]`` for parameters.
    true : array (quantities, replicates)
    drawn : array (quantities, replicates, draws)
    of_data : bool array (quantities,)
        Whether the quantity looks at the data, too.
    """

    names: tuple[str, ...]
    true: NDArray[np.float64]
    drawn: NDArray[np.float64]
    of_data: NDArray[np.bool_]


def simulate(model: Model, data: Data, *, replicates: int, seed: int) -> World:
    """Parameters and data sets from ``model.simulate``, all in one program.

    Raises
    ------
    UsageError
        Data that list only the patterns that were seen, so that simulated ones would have no place.
    """
    import jax

    from bayesjudge.inference import accelerator

    if data.weights not in {None, data.observed}:
        raise UsageError(
            f"{model.label} lists only the patterns that were seen in these data, so simulated data have no "
            "place; calibrate on a design that lists every outcome (two models, no clusters)"
        )
    accelerator.prepare()

    def one(key: Any, arrays: _Sites) -> dict[str, Any]:
        return dict(model.simulate(key, data.with_arrays(arrays)))

    keys = jax.random.split(jax.random.key(seed), replicates)
    drawn = jax.jit(jax.vmap(one, in_axes=(0, None)))(keys, accelerator.to_device(data.arrays))
    truth = {name: np.asarray(values) for name, values in drawn.items()}
    seen = {name: truth[name].astype(np.asarray(data[name]).dtype) for name in data.observations}
    datasets = tuple(
        data.with_arrays({**data.arrays, **{name: values[k] for name, values in seen.items()}})
        for k in range(replicates)
    )
    return World(model=model, data=data, truth=truth, datasets=datasets)


def quantities_of(
    world: World, flat: Sequence[NDArray[np.float64]], *, ranked: int, extra: Mapping[str, Quantity]
) -> Ranked:
    """Every scalar parameter, the log likelihood, and the ``extra`` quantities.

    Parameters
    ----------
    world : World
        Replicates.
    flat : sequence of array (chains, draws, d)
        Unconstrained posterior draws of each replicate.
    ranked : int
        Draws kept of each posterior.
    extra : mapping of str to callable
        Further quantities.
    """
    from bayesjudge.inference.density import density

    target = density(world.model, world.data)
    drawn = np.stack([_spaced(one, ranked) for one in flat])
    points = np.concatenate([_true_points(world, target), drawn], axis=1)
    seen = {name: np.stack([data[name] for data in world.datasets]) for name in world.data.observations}
    sites, more = _program(world, target, extra)(points, seen, _constants(world.data))
    names, parameters = _parameters(sites, target, world.data)
    values = np.concatenate([parameters, np.asarray(more)])
    return Ranked(
        names=(*names, LOG_LIKELIHOOD, *extra),
        true=values[..., 0],
        drawn=values[..., 1:],
        of_data=np.arange(len(values)) >= len(names),
    )


def _spaced(flat: NDArray[np.float64], ranked: int) -> NDArray[np.float64]:
    """``ranked`` of the draws, evenly spaced over all chains laid end to end."""
    total = flat.reshape(-1, flat.shape[-1])
    kept: NDArray[np.float64] = total[np.linspace(0, len(total) - 1, ranked).round().astype(int)]
    return kept


def _true_points(world: World, target: Density) -> NDArray[np.float64]:
    """The truth as unconstrained points, (replicates, 1, d)."""
    import jax

    latent = {name: world.truth[name] for name in target.dims if name not in world.data.observations}
    return np.asarray(jax.jit(jax.vmap(target.unconstrain))(latent))[:, None]


def _constants(data: Data) -> dict[str, Any]:
    """Arrays that all replicates share."""
    from bayesjudge.inference import accelerator

    return accelerator.to_device(
        {name: a for name, a in data.arrays.items() if name not in data.observations}
    )


def _program(world: World, target: Density, extra: Mapping[str, Quantity]) -> Callable[..., Any]:
    """Compiled ``(points (R, N, d), {name: (R, ...)}, constants) -> sites (R, N, ...), more (Q, R, N)``."""
    import jax
    import jax.numpy as jnp

    from bayesjudge.inference.density import replay

    run = replay(world.model, world.data)

    def at_point(point: Any, arrays: _Sites) -> tuple[_Sites, Any]:
        values = target.constrain(point, arrays)
        sites = run(jax.random.key(0), values, arrays)
        total = sum(sites[name]["fn"].log_prob(arrays[name]).sum() for name in world.data.observations)
        return values, jnp.stack([total, *(function(values, arrays) for function in extra.values())])

    def in_world(points: Any, seen: Any, constants: _Sites) -> Any:
        return jax.vmap(lambda point: at_point(point, {**constants, **seen}))(points)

    def program(points: Any, seen: Any, constants: _Sites) -> tuple[_Sites, Any]:
        # In batches, so that memory does not grow with the number of replicates.
        sites, found = jax.lax.map(
            lambda row: in_world(row[0], row[1], constants), (points, seen), batch_size=50
        )
        return sites, jnp.moveaxis(found, -1, 0)

    return jax.jit(program)


def _parameters(values: _Sites, target: Density, data: Data) -> tuple[list[str], NDArray[np.float64]]:
    """Names of all scalars and their values (scalars, replicates, draws)."""
    from bayesjudge.inference.tree import to_dataset

    # In the sites' own order: what comes back from a compiled function is sorted by name.
    ordered = {name: np.asarray(values[name]) for name in target.dims if name in values}
    return scalars(to_dataset(ordered, target.dims, data))
