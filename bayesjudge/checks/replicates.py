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
    observed = truth[data.observed].astype(np.asarray(data[data.observed]).dtype)
    datasets = tuple(data.with_arrays({**data.arrays, data.observed: seen}) for seen in observed)
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
    import jax

    from bayesjudge.inference.density import density

    target = density(world.model, world.data)
    latent = [name for name in target.dims if name != world.data.observed]
    true = {name: world.truth[name][:, None] for name in latent}
    constrain = jax.vmap(jax.vmap(lambda one: target.constrain(one, world.data.arrays)))
    drawn = dict(jax.jit(constrain)(np.stack([_spaced(one, ranked) for one in flat])))
    names, true_series = _parameters(true, target, world.data)
    _, series = _parameters(drawn, target, world.data)
    functions = {LOG_LIKELIHOOD: _log_likelihood(world.model, world.data), **extra}
    more = [[_evaluate(one, values, world) for one in functions.values()] for values in (true, drawn)]
    return Ranked(
        names=(*names, *functions),
        true=np.concatenate([true_series, np.stack(more[0])])[..., 0],
        drawn=np.concatenate([series, np.stack(more[1])]),
        of_data=np.arange(len(names) + len(functions)) >= len(names),
    )


def _spaced(flat: NDArray[np.float64], ranked: int) -> NDArray[np.float64]:
    """``ranked`` of the draws, evenly spaced over all chains laid end to end."""
    total = flat.reshape(-1, flat.shape[-1])
    kept: NDArray[np.float64] = total[np.linspace(0, len(total) - 1, ranked).round().astype(int)]
    return kept


def _parameters(values: _Sites, target: Density, data: Data) -> tuple[list[str], NDArray[np.float64]]:
    """Names of all scalars and their values (scalars, replicates, draws)."""
    from bayesjudge.inference.tree import to_dataset

    # In the sites' own order: what comes back from a compiled function is sorted by name.
    ordered = {name: np.asarray(values[name]) for name in target.dims if name in values}
    return scalars(to_dataset(ordered, target.dims, data))


def _log_likelihood(model: Model, data: Data) -> Quantity:
    import jax

    from bayesjudge.inference.density import replay

    run = replay(model, data)

    def total(values: _Sites, arrays: _Sites) -> Any:
        sites = run(jax.random.key(0), values, arrays)
        return sites[data.observed]["fn"].log_prob(arrays[data.observed]).sum()

    return total


def _evaluate(function: Quantity, values: _Sites, world: World) -> NDArray[np.float64]:
    """A quantity at values (replicates, draws, ...), each replicate with its own observations."""
    import jax

    from bayesjudge.inference import accelerator

    observed = world.data.observed
    arrays = accelerator.to_device(world.data.arrays)

    def one(site: _Sites, seen: Any) -> Any:
        return function(site, {**arrays, observed: seen})

    each_draw = jax.vmap(one, in_axes=(0, None))
    seen = np.stack([data[observed] for data in world.datasets])
    found: NDArray[np.float64] = np.asarray(jax.jit(jax.vmap(each_draw))(dict(values), seen))
    return found
