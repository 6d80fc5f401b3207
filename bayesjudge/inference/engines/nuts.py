"""NUTS (Hoffman & Gelman 2014) with all chains, and all data sets, in one program.

The kernel is NumPyro's. The loop around it is ours, for three reasons: data are arguments (compiled
once for each shape), chains start at the mode with the curvature there as the first metric, and draws
come in blocks, so that progress can be shown between them at no cost to the compiled program.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.infer.hmc import hmc
from numpyro.infer.util import ParamInfo

from bayesjudge.inference.engines.base import Draws
from bayesjudge.inference.engines.starts import place_chains
from bayesjudge.inference.programs.at_points import beside, stream
from bayesjudge.inference.programs.density import Arrays, Density, Sets
from bayesjudge.inference.programs.progress import Report, blocks
from bayesjudge.maths.each_draw import each_draw

if TYPE_CHECKING:
    from bayesjudge.inference.engines.options import Nuts

#: Dimensions up to which the metric is a full matrix; past it a diagonal is cheaper than it loses.
DENSE_UP_TO = 150
#: Draws between two reports. Every length of a block is a program of its own, and short runs share one.
BLOCK = 50


_PROGRAMS: dict[tuple[Any, ...], tuple[Any, Any]] = {}


def run_nuts(
    target: Density, arrays: Arrays, key: Any, options: Nuts, *, many: Sets | None = None, report: Report | None = None
) -> Draws:
    """Sample the posterior.

    arrays: Its data; with ``many`` the arrays it names have a leading axis of data sets.
    key: Equal keys give equal draws on one device; with ``many`` a key for each data set.
    report: Called with (iterations done, iterations in all) after every block.
    """
    start, advance = _programs(target, options, many)
    accept = options.target_accept
    own = key if many else key[None]
    chains = place_chains(target, arrays, [stream(one) for one in own], options.chains, many)
    keys = jax.vmap(lambda one: jax.random.split(one, options.chains))(own)
    given = beside((keys, chains.mode.covariance, chains.z, chains.value, chains.slope), arrays)
    state = start(*(given if many else jax.tree.map(lambda part: part[0], given)), accept)
    total, done, kept = options.tune + options.draws, 0, []
    for phase in (options.tune, options.draws):
        for size in blocks(phase, BLOCK):
            state, block = advance(state, arrays, accept, size)
            done += size
            if done > options.tune:
                kept.append(jax.tree.map(np.asarray, block))
            if report is not None:
                jax.block_until_ready(state)
                report(done, total)
    return Draws.joined(kept)


def _programs(target: Density, options: Nuts, many: Sets | None) -> tuple[Any, Any]:
    """The compiled start of chains that have been placed, and their advance by blocks of iterations.

    They are kept for the life of the process. The target acceptance is an argument, so that a run repeated
    with another one compiles nothing.
    """
    key = (target, options.chains, options.tune, options.max_tree_depth, many)
    if key not in _PROGRAMS:
        _PROGRAMS[key] = _compiled(partial(_start, target, options), partial(_advance, target, options), many)
    return _PROGRAMS[key]


def _compiled(start: Any, advance: Any, many: Sets | None) -> tuple[Any, Any]:
    if many is None:
        # Not with XLA's level 0: it halves the time and gave a wrong program once (`accelerator`).
        return jax.jit(start), jax.jit(advance, static_argnums=3)
    axes = (0, many.axes, None)

    def advance_all(state: Any, arrays: Arrays, accept: Any, size: int) -> Any:
        return jax.vmap(lambda s, a, t: advance(s, a, t, size), in_axes=axes)(state, arrays, accept)

    return jax.jit(jax.vmap(start, in_axes=(*[0] * 5, None))), jax.jit(advance_all, static_argnums=3)


def _kernel(target: Density, options: Nuts, arrays: Arrays, accept: Any) -> tuple[Any, Any]:
    """NumPyro's ``init`` and ``sample``."""
    init, sample = hmc(lambda z: target.potential(z, arrays), algo="NUTS")
    settings = {
        "num_warmup": options.tune,
        "dense_mass": target.size <= DENSE_UP_TO,
        "target_accept_prob": accept,
        "max_tree_depth": options.max_tree_depth,
    }
    return partial(init, **settings), sample


def _start(  # noqa: PLR0917 mapped over data sets, which names no arguments
    target: Density, options: Nuts, keys: Any, covariance: Any, z: Any, value: Any, slope: Any, accept: Any
) -> Any:
    """The kernel's state of chains that have been placed."""
    metric = covariance if target.size <= DENSE_UP_TO else jnp.diag(covariance)
    init, _ = _kernel(target, options, {}, accept)  # the density there is known
    placed = jax.vmap(lambda at, key: init(at, inverse_mass_matrix=metric, rng_key=key))(
        ParamInfo(z, value, slope), keys
    )
    # The energy of a first momentum that no trajectory starts with: without it none is drawn.
    return placed._replace(energy=jnp.zeros_like(value))


def _advance(  # noqa: PLR0917 mapped over data sets, which names no arguments
    target: Density, options: Nuts, state: Any, arrays: Arrays, accept: Any, size: int
) -> Any:
    init, sample = _kernel(target, options, arrays, accept)

    def one_chain(chain: Any) -> Any:
        # NumPyro's kernel learns its settings from init; the state made here is thrown away.
        at = ParamInfo(chain.z, chain.potential_energy, chain.z_grad)
        init(at, inverse_mass_matrix=chain.adapt_state.inverse_mass_matrix, rng_key=chain.rng_key)
        return jax.lax.scan(_step, chain, length=size)

    def _step(chain: Any, _: None) -> Any:
        after = sample(chain)
        stats = {
            "lp": -after.potential_energy,
            "energy": after.energy,
            "diverging": after.diverging,
            "n_steps": after.num_steps,
            "acceptance_rate": after.accept_prob,
        }
        return after, (after.z, stats)

    # One after the other on a CPU, so that none waits for the longest tree of all.
    return each_draw(one_chain, state, most=options.chains)
