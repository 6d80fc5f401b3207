"""Hamiltonian Monte Carlo for many posteriors in lock step.

NUTS lets every chain choose its own number of leapfrog steps, so chains side by side in one program all
wait for the longest trajectory, and carry the bookkeeping of the tree through every step. Here each
posterior is first whitened by its own curvature, and all chains of the posteriors in one program then take
the same, randomly jittered number of plain leapfrog steps, as Hoffman, Radul & Sountsov (2021, "An
adaptive-MCMC scheme for setting trajectory lengths in HMC") argue for hardware that works in lanes. Step
size (dual averaging, Hoffman & Gelman 2014) and metric are adapted for each posterior, pooled over its
chains.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from bayesjudge.inference.engines.hmc_kernel import DENSE_UP_TO, Noise, State, advance, renew, start
from bayesjudge.inference.engines.nuts import Draws, NutsOptions
from bayesjudge.inference.engines.starts import place_chains
from bayesjudge.inference.programs.at_points import beside, slopes, stream
from bayesjudge.inference.programs.density import Arrays, Density, Sets
from bayesjudge.inference.programs.progress import Report, blocks

__all__ = ["DENSE_UP_TO", "run_from", "run_hmc"]

#: Mean integration time in whitened units. A Gaussian decorrelates best at π/2; on the hierarchical
#: posteriors here (31 parameters, TriviaQA, 16 posteriors) 3 raised the smallest ESS from 81 to 264 of 2,000
#: draws for 2.3 times the gradients; 5 raised it to 396 for 4.2 times.
TRAJECTORY = 3.0
#: Longest mean trajectory in leapfrog steps; a posterior that would need more is flagged by its gate.
MOST_STEPS = 64
#: Iterations between two reports of progress.
BLOCK = 100
_PROGRAMS: dict[tuple[Any, ...], Any] = {}
_RENEW = jax.jit(jax.vmap(renew, in_axes=(0, None)))


def run_hmc(
    target: Density, arrays: Arrays, key: Any, options: NutsOptions, *, many: Sets,
    report: Report | None = None,
) -> Draws:  # fmt: skip
    """Sample many posteriors at once; arguments as in `run_nuts`."""
    run, rng = _Run(target, arrays, options, many), stream(key)
    tell = partial(_tell, report, options.tune + options.draws)
    state, done = run.warmed(rng, tell)
    kept = []
    for size in blocks(options.draws, BLOCK):
        state, block = run.advanced(state, rng, _lengths(state, size, rng))
        kept.append(_first(size, block))
        done = tell(done + size, state)
    return Draws.joined(kept)


def run_from(
    target: Density, arrays: Arrays, key: Any, options: NutsOptions, *, many: Sets, points: Any
) -> Draws:
    """Chains that all start at a given point of each posterior, with a kernel tuned without looking at it.

    The trajectories have one length, a quarter turn of a Gaussian: the kernel is then one and the same
    reversible kernel at every iteration, so chains from one point may be read forwards or backwards.

    Parameters
    ----------
    points : array (sets, d)
        Where the chains of each posterior start.
    """
    run, rng = _Run(target, arrays, options, many), stream(key)
    state, _ = run.warmed(rng, lambda done, _: done)
    z = np.repeat(np.asarray(points)[:, None], options.chains, axis=1)
    value, slope = slopes(target.potential, arrays, many)(z)
    state = state._replace(**beside({"z": z, "value": value, "slope": slope}, arrays))
    steps = _mean_steps(state, TRAJECTORY / 2)
    kept = []
    for size in blocks(options.draws, BLOCK):
        state, block = run.advanced(state, rng, np.full(size, steps))
        kept.append(_first(size, block))
    return Draws.joined(kept)


class _Run(NamedTuple):
    """Chains of many posteriors, run block by block."""

    target: Density
    arrays: Arrays
    options: NutsOptions
    many: Sets

    def warmed(self, rng: np.random.Generator, tell: Callable[[int, State], int]) -> tuple[State, int]:
        """State after warm-up, and the iterations done."""
        chains = place_chains(self.target, self.arrays, rng, self.options.chains, self.many)
        state, done = beside(start(chains), self.arrays), 0
        for share, renewed in ((0.2, True), (0.4, True), (0.4, False)):
            for size in blocks(max(round(self.options.tune * share), 1), BLOCK):
                state, _ = self.advanced(state, rng, _lengths(state, size, rng), learning=size)
                done = tell(done + size, state)
            state = _RENEW(state, renewed)
        return state, done

    def advanced(
        self, state: State, rng: np.random.Generator, lengths: Any, *, learning: int = 0
    ) -> tuple[State, Any]:
        """A block of iterations; those of no steps at its end make blocks of every size one program."""
        shape = (self.many.number, BLOCK, self.options.chains)
        noise = Noise(rng.standard_normal((*shape, self.target.size)), rng.random(shape))
        padded = np.pad(lengths, (0, BLOCK - len(lengths)))
        moved: tuple[State, Any] = _advance(self.target, self.many)(
            state, self.arrays, beside(noise, self.arrays), padded, learning, self.options.target_accept
        )
        return moved


def _first(size: int, block: Any) -> Any:
    """A block without what it was padded with."""
    flat, stats = jax.tree.map(np.asarray, block)
    return flat[..., :size, :], {name: values[..., :size] for name, values in stats.items()}


def _tell(report: Report | None, total: int, done: int, state: State) -> int:
    if report is not None:
        jax.block_until_ready(state.z)
        report(min(done, total), total)
    return done


def _lengths(state: State, size: int, rng: np.random.Generator) -> Any:
    """Leapfrog steps of each iteration, uniform from 1 to twice the mean that the median posterior needs."""
    return rng.integers(1, 2 * _mean_steps(state, TRAJECTORY), size=size)


def _mean_steps(state: State, trajectory: float) -> int:
    return int(np.clip(round(trajectory / float(np.median(np.exp(state.step.log_size)))), 2, MOST_STEPS))


def _advance(target: Density, many: Sets) -> Any:
    """The compiled blocks, kept for the life of the process; a more careful second run needs no others."""
    key = (target, many)
    if key not in _PROGRAMS:
        over = (0, many.axes, 0, None, None, None)
        _PROGRAMS[key] = jax.jit(jax.vmap(partial(advance, target), in_axes=over))
    return _PROGRAMS[key]
