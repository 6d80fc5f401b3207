"""What a part of a model computes, at every draw of its posterior.

`over_draws` runs a function of the sites' values and of arrays; equal functions share their compiled program
between data sets of one shape. `at_draws` runs the very function that the model samples from, with its sites
fixed at each draw, so that results cannot drift apart from the density.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.maths.each_draw import each_draw

if TYPE_CHECKING:
    import xarray as xr


#: Draws computed together at most; bounds the memory.
_TOGETHER = 64

type Sites = Mapping[str, Any]


def thinned(posterior: xr.Dataset, *, size: int, most: int, least_draws: int = 250) -> xr.Dataset:
    """The posterior with fewer draws where draws times ``size`` would pass ``most``; never below a floor."""
    chains, draws = posterior.sizes["chain"], posterior.sizes["draw"]
    kept = int(np.clip(most // max(size * chains, 1), -(-least_draws // chains), draws))
    return posterior.isel(draw=np.unique(np.linspace(0, draws - 1, kept).astype(int)))


def over_draws(
    function: Callable[[Sites, Sites, Any, Mapping[str, Any]], Any],
    posterior: xr.Dataset,
    *,
    arrays: Sites,
    facts: Mapping[str, Any],
    seed: int = 0,
    together: int = _TOGETHER,
) -> Any:
    """``function(sites, arrays, key, facts)`` at every draw; leading axes chain and draw.

    Examples
    --------
    >>> import xarray as xr
    >>> posterior = xr.Dataset({"x": (("chain", "draw"), np.array([[1.0, 2.0]]))})
    >>> over_draws(_example, posterior, arrays={"n": 3.0}, facts={}).tolist()
    [[3.0, 6.0]]
    """
    program = partial(_program(), function=function, facts=tuple(sorted(facts.items())), together=together)
    return _run(program, posterior, arrays, seed)


def at_draws(function: Callable[[Sites, Any], Any], posterior: xr.Dataset, *, arrays: Sites, seed: int = 0) -> Any:
    """``function(arrays, key)`` with its sampled sites at each draw; leading axes chain and draw.

    Examples
    --------
    >>> import numpyro, xarray as xr
    >>> from numpyro import distributions as dist
    >>> posterior = xr.Dataset({"x": (("chain", "draw"), np.array([[1.0, 2.0, 3.0]]))})
    >>> at_draws(lambda arrays, key: arrays["n"] * numpyro.sample("x", dist.Normal()), posterior, arrays={"n": 2.0}
    ...          ).tolist()
    [[2.0, 4.0, 6.0]]
    """
    return over_draws(_Fixed(function), posterior, arrays=arrays, facts={}, seed=seed)


def _run(program: Callable[..., Any], posterior: xr.Dataset, arrays: Sites, seed: int) -> Any:
    import jax
    import jax.numpy as jnp

    shape = (posterior.sizes["chain"], posterior.sizes["draw"])
    sites = {str(name): v.transpose("chain", "draw", ...).to_numpy() for name, v in posterior.items()}
    flat = {name: jnp.asarray(v.reshape(-1, *v.shape[2:])) for name, v in sites.items()}
    keys = jax.random.split(jax.random.key(seed), shape[0] * shape[1])
    found = program(flat, keys, {name: jnp.asarray(a) for name, a in arrays.items()})
    return jax.tree.map(lambda part: np.asarray(part).reshape(*shape, *part.shape[1:]), found)


def _sweep(flat: Sites, keys: Any, arrays: Sites, *, function: Any, facts: tuple[Any, ...], together: int) -> Any:
    def one(at: tuple[Any, Sites]) -> Any:
        return function(at[1], arrays, at[0], dict(facts))

    return each_draw(one, (keys, flat), most=together)


@cache
def _program() -> Any:
    import jax

    return jax.jit(_sweep, static_argnames=("function", "facts", "together"))


@dataclass(frozen=True)
class _Fixed:
    """A function that samples, with the values of a draw in place of its samples."""

    function: Callable[[Sites, Any], Any]

    def __call__(self, values: Sites, arrays: Sites, key: Any, facts: Mapping[str, Any]) -> Any:
        del facts
        from numpyro import handlers

        def value(site: Mapping[str, Any]) -> Any:
            if site["type"] != "sample" or site["name"] not in values:
                return None
            # A data set of draws drops nameless axes of length 1.
            return values[site["name"]].reshape(site["fn"].shape())

        with handlers.seed(rng_seed=key), handlers.substitute(substitute_fn=value):
            return self.function(arrays, key)


def _example(sites: Sites, arrays: Sites, key: Any, facts: Mapping[str, Any]) -> Any:
    del key, facts
    return sites["x"] * arrays["n"]
