"""What a part of a model computes, at every draw of its posterior.

The part is the very function that the model samples from, run again with its sites fixed at each draw, so
that results cannot drift apart from the density.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["at_draws", "thinned"]

#: Draws computed together; bounds the memory.
_TOGETHER = 64


def thinned(posterior: xr.Dataset, *, size: int, most: int, least_draws: int = 250) -> xr.Dataset:
    """The posterior with fewer draws where draws times ``size`` would pass ``most``; never below a floor."""
    chains, draws = posterior.sizes["chain"], posterior.sizes["draw"]
    kept = int(np.clip(most // max(size * chains, 1), -(-least_draws // chains), draws))
    return posterior.isel(draw=np.unique(np.linspace(0, draws - 1, kept).astype(int)))


def at_draws(function: Callable[[Any], Any], posterior: xr.Dataset, *, seed: int = 0) -> Any:
    """``function(key)`` with its sampled sites at each draw; leading axes chain and draw.

    Parameters
    ----------
    function : callable
        Samples NumPyro sites that the posterior has, and returns an array or a tuple of arrays.
    posterior : xarray.Dataset
        Draws by the names of the sites.
    seed : int
        Each draw gets a key of its own made from it.

    Examples
    --------
    >>> import numpyro, xarray as xr
    >>> from numpyro import distributions as dist
    >>> posterior = xr.Dataset({"x": (("chain", "draw"), np.array([[1.0, 2.0, 3.0]]))})
    >>> at_draws(lambda key: 2 * numpyro.sample("x", dist.Normal()), posterior).tolist()
    [[2.0, 4.0, 6.0]]
    """
    import jax

    shape = (posterior.sizes["chain"], posterior.sizes["draw"])
    sites = {str(name): v.transpose("chain", "draw", ...).to_numpy() for name, v in posterior.items()}
    flat = {name: jax.numpy.asarray(v.reshape(-1, *v.shape[2:])) for name, v in sites.items()}
    keys = jax.random.split(jax.random.key(seed), shape[0] * shape[1])

    def one(at: tuple[Any, Mapping[str, Any]]) -> Any:
        return _fixed(function, at[0], at[1])

    found = jax.jit(lambda keys, flat: jax.lax.map(one, (keys, flat), batch_size=_TOGETHER))(keys, flat)
    return jax.tree.map(lambda part: np.asarray(part).reshape(*shape, *part.shape[1:]), found)


def _fixed(function: Callable[[Any], Any], key: Any, values: Mapping[str, Any]) -> Any:
    from numpyro import handlers

    def value(site: Mapping[str, Any]) -> Any:
        if site["type"] != "sample" or site["name"] not in values:
            return None
        # A data set of draws drops nameless axes of length 1.
        return values[site["name"]].reshape(site["fn"].shape())

    with handlers.seed(rng_seed=key), handlers.substitute(substitute_fn=value):
        return function(key)
