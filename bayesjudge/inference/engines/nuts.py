"""NUTS for one posterior, or for several data sets, in one program.

The kernel is NumPyro's. The loop around it is ours, for three reasons: data are arguments (compiled once for each
shape); chains start at the mode, in units in which the posterior is round there, so that the kernel's metric is a
diagonal, which compiles and runs faster than a matrix; and draws come in blocks, between which progress is shown
and an interruption is heard. One program starts, warms up and draws: what is left of the last block is thrown away.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.infer.hmc import hmc
from numpyro.infer.util import ParamInfo

from bayesjudge.inference.engines.base import ASKED, Draws, Job, mixed
from bayesjudge.inference.engines.metric import stretched, whitened
from bayesjudge.inference.engines.options import Nuts
from bayesjudge.inference.engines.starts import place_chains
from bayesjudge.inference.programs.at_points import beside, stream
from bayesjudge.inference.programs.density import Arrays, Density, Sets
from bayesjudge.inference.programs.progress import Report
from bayesjudge.maths.each_draw import each_draw

#: Iterations between two reports.
BLOCK = 50
_PROGRAMS: dict[tuple[Any, ...], Any] = {}


def run_alone(job: Job, options: Nuts, report: Report | None) -> Draws:
    """Sample one posterior."""
    return run_nuts(job.target, job.arrays, job.key, options, report=report, mixed=partial(mixed, job))


def run_nuts(
    target: Density,
    arrays: Arrays,
    key: Any,
    options: Nuts,
    *,
    many: Sets | None = None,
    report: Report | None = None,
    mixed: Callable[[Draws], bool] | None = None,
) -> Draws:
    """Sample the posterior.

    arrays: Its data; with ``many`` the arrays it names have a leading axis of data sets.
    key: Equal keys give equal draws on one device; with ``many`` a key for each data set.
    report: Called with (iterations done, iterations in all) after every block.
    mixed: Asked once the draws of the options are made, and after every `ASKED` from then on until the most are.
    """
    rngs = [stream(one) for one in (key if many else [key])]
    chains = place_chains(target, arrays, rngs, options.chains, many)
    keys = np.stack([rng.integers(2**32, size=(options.chains, 2), dtype=np.uint32) for rng in rngs])
    slope = np.stack([whitened(*of) for of in zip(chains.slope, chains.root, strict=True)])
    starts = _Start(keys, chains.noise, chains.value, slope)
    blank = jax.eval_shape(jax.vmap(jax.vmap(partial(_begin, options, 0.0))), starts)
    state = jax.tree.map(lambda part: np.zeros(part.shape, part.dtype), blank)
    given = (state, starts, chains.mode.at, chains.root)
    state, *placed = beside(given, arrays) if many else jax.tree.map(lambda part: part[0], given)
    kept: list[Any] = []
    advance = _program(target, options, many)
    most = options.most_draws if mixed and options.most_draws else options.draws
    for size in sorted({*range(options.draws, most, ASKED), most}):
        total = options.tune + size
        for done in range(len(kept) * BLOCK, total, BLOCK):
            state, block = advance(state, *placed, arrays, options.target_accept, done == 0)
            kept.append(jax.tree.map(lambda part: np.asarray(part) if many else np.asarray(part)[None], block))
            if report is not None:
                report(min(done + BLOCK, total), total)
        found = _draws(kept, slice(options.tune, total), chains)
        if size == most or (mixed and mixed(found.alone)):
            break
    return found if many else found.alone


def _draws(blocks: Sequence[Any], which: slice, chains: Any) -> Draws:
    """Some iterations of all blocks, in the posterior's own coordinates."""
    drawn = Draws.joined(blocks)
    moved = zip(chains.mode.at, drawn.flat[..., which, :], chains.root, strict=True)
    flat = np.stack([at + stretched(u, root) for at, u, root in moved])
    return Draws(flat=flat, stats={name: values[..., which] for name, values in drawn.stats.items()})


class _Start(NamedTuple):
    """Where chains start in whitened units: random keys, points, minus the log density and its gradient."""

    key: Any
    u: Any
    value: Any
    slope: Any


def _program(target: Density, options: Nuts, many: Sets | None) -> Any:
    """The compiled block of iterations, kept for the life of the process.

    The target acceptance is an argument, so that a run repeated with another one compiles nothing.
    """
    key = (target, options.tune, options.max_tree_depth, many)
    if key not in _PROGRAMS:
        advance = partial(_advance, target, options)
        # Not with XLA's level 0: it halves the time and gave a wrong program once (`accelerator`).
        over = many and jax.vmap(advance, in_axes=(0, 0, 0, 0, many.axes, None, None))
        _PROGRAMS[key] = jax.jit(over or advance)
    return _PROGRAMS[key]


def _begin(options: Nuts, accept: Any, start: _Start, init: Any = None) -> Any:
    """The kernel's state of a chain that has been placed."""
    init = init or hmc(lambda u: u.sum(), algo="NUTS")[0]  # the density there is known
    state = init(
        ParamInfo(start.u, start.value, start.slope),
        num_warmup=options.tune,
        dense_mass=False,
        target_accept_prob=accept,
        max_tree_depth=options.max_tree_depth,
        rng_key=start.key,
    )
    # The energy of a first momentum that no trajectory starts with: without it none is drawn.
    return state._replace(energy=jnp.zeros_like(start.value))


def _advance(  # noqa: PLR0917 mapped over data sets, which names no arguments
    target: Density,
    options: Nuts,
    state: Any,
    starts: _Start,
    at: Any,
    root: Any,
    arrays: Arrays,
    accept: Any,
    first: Any,
) -> Any:
    """Every chain's next iterations, its first ones from where it was placed."""

    def one_chain(of: tuple[Any, _Start]) -> Any:
        chain, start = of
        init, sample = hmc(lambda u: target.potential(at + stretched(u, root), arrays), algo="NUTS")
        # NumPyro's kernel learns its settings here, so that later blocks need it as well.
        begun = _begin(options, accept, start, init)
        chain = jax.tree.map(partial(jnp.where, first), begun, chain)
        return jax.lax.scan(partial(_step, sample), chain, length=BLOCK)

    # One after the other on a CPU, so that none waits for the longest tree of all.
    return each_draw(one_chain, (state, starts), most=options.chains)


def _step(sample: Any, chain: Any, _: None) -> Any:
    after = sample(chain)
    stats = {
        "lp": -after.potential_energy,
        "energy": after.energy,
        "diverging": after.diverging,
        "n_steps": after.num_steps,
        "acceptance_rate": after.accept_prob,
    }
    return after, (after.z, stats)
