"""Hamiltonian Monte Carlo for many posteriors in lock step.

NUTS lets every chain choose its own number of leapfrog steps, so chains side by side in one program all
wait for the longest trajectory, and carry the bookkeeping of the tree through every step. Here each
posterior is first whitened by its own curvature, and all chains of the posteriors in one program then take
the same, randomly jittered number of plain leapfrog steps, as Hoffman, Radul & Sountsov (2021, "An
adaptive-MCMC scheme for setting trajectory lengths in HMC") argue for hardware that works in lanes. Step
size (dual averaging, Hoffman & Gelman 2014) and metric are adapted for each posterior, pooled over its
chains.

Every function here is of one posterior and its chains; `bayesjudge.inference.engines.hmc` runs many of them
side by side. Step size by dual averaging (Hoffman & Gelman 2014), metric from the chains' own covariance.
Random numbers are arguments: programs that draw their own take seconds longer to compile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bayesjudge.inference.engines.base import Draws, Engine, Job
from bayesjudge.inference.engines.starts import Chains, place_chains, stretched, whitened
from bayesjudge.inference.gate import gate_of
from bayesjudge.inference.programs.at_points import beside, slopes, stream
from bayesjudge.inference.programs.density import Arrays, Density, Sets
from bayesjudge.inference.programs.progress import Report, blocks
from bayesjudge.inference.programs.stacks import placed, stack
from bayesjudge.model import latent_sites

if TYPE_CHECKING:
    from bayesjudge.inference.engines.options import Hmc

#: Mean integration time in whitened units. A Gaussian decorrelates best at π/2; on the hierarchical
#: posteriors here (31 parameters, TriviaQA, 16 posteriors) 3 raised the smallest ESS from 81 to 264 of 2,000
#: draws for 2.3 times the gradients; 5 raised it to 396 for 4.2 times.
TRAJECTORY = 3.0
#: Longest mean trajectory in leapfrog steps; a posterior that would need more is flagged by its gate.
MOST_STEPS = 64
#: Iterations between two reports of progress.
BLOCK = 100
_PROGRAMS: dict[tuple[Any, ...], Any] = {}
#: Random numbers of each data set. The lengths of trajectories, which all share, are drawn from the first.
type Streams = Sequence[np.random.Generator]


def run_alone(job: Job, options: Hmc, seed: int, report: Report | None) -> Draws:
    """Sample one posterior."""
    sets, arrays = stack([job.data]).part(np.zeros(1, dtype=int))
    key = jax.random.split(jax.random.key(seed), 1)
    mixed, most = partial(_mixed, job), options.most_draws or options.draws
    return run_hmc(
        job.target, placed(arrays, sets, None), key, options, many=sets, report=report, mixed=mixed, most=most
    ).alone


def _mixed(job: Job, drawn: Draws) -> bool:
    """Whether R-hat and ESS, which are of ranks, are within the gate's bounds in unconstrained coordinates."""
    import xarray as xr

    places, flat = job.target.unravel(np.arange(job.target.size)), drawn.flat[0]
    sites = {
        name: (("chain", "draw", *(f"{name}_{k}" for k in range(at.ndim))), flat[..., at])
        for name, at in places.items()
    }
    return gate_of(xr.Dataset(sites), xr.Dataset(), latent=latent_sites(job.model)).passed


def run_hmc(
    target: Density,
    arrays: Arrays,
    key: Any,
    options: Engine,
    *,
    many: Sets,
    report: Report | None = None,
    mixed: Callable[[Draws], bool] = lambda _: True,
    most: int = 0,
) -> Draws:
    """Sample many posteriors at once; arguments as in `run_nuts`.

    mixed: Asked once the draws of the options are made, and after every block from then on until ``most`` are.
    """
    run, rngs = _Run(target, arrays, options, many), [stream(one) for one in key]
    tell = partial(_tell, report, options.tune + options.draws)
    state, done = run.warmed(rngs, tell)
    kept: list[Any] = []
    for number, size in enumerate(blocks(max(options.draws, most), BLOCK)):
        if number * BLOCK >= options.draws and mixed(Draws.joined(kept)):
            break
        state, block = run.advanced(state, rngs, _lengths(state, size, rngs[0]))
        kept.append(_first(size, block))
        done = tell(done + size, state)
    return Draws.joined(kept)


def run_from(target: Density, arrays: Arrays, key: Any, options: Engine, *, many: Sets, points: Any) -> Draws:
    """Chains that all start at a given point of each posterior, with a kernel tuned without looking at it.

    The trajectories have one length, a quarter turn of a Gaussian: the kernel is then one and the same
    reversible kernel at every iteration, so chains from one point may be read forwards or backwards.
    """
    run, rngs = _Run(target, arrays, options, many), [stream(one) for one in key]
    state, _ = run.warmed(rngs, lambda done, _: done)
    z = np.repeat(np.asarray(points)[:, None], options.chains, axis=1)
    value, slope = slopes(target.potential, arrays, many)(z)
    state = state._replace(**beside({"z": z, "value": value, "slope": slope}, arrays))
    steps = _mean_steps(state, TRAJECTORY / 2)
    kept = []
    for size in blocks(options.draws, BLOCK):
        state, block = run.advanced(state, rngs, np.full(size, steps))
        kept.append(_first(size, block))
    return Draws.joined(kept)


class _Run(NamedTuple):
    """Chains of many posteriors, run block by block."""

    target: Density
    arrays: Arrays
    options: Engine
    many: Sets

    def warmed(self, rngs: Streams, tell: Callable[[int, State], int]) -> tuple[State, int]:
        """State after warm-up, and the iterations done."""
        chains = place_chains(self.target, self.arrays, rngs, self.options.chains, self.many)
        state, done = beside(start(chains), self.arrays), 0
        for share, renewed in ((0.2, True), (0.4, True), (0.4, False)):
            for size in blocks(max(round(self.options.tune * share), 1), BLOCK):
                state, _ = self.advanced(state, rngs, _lengths(state, size, rngs[0]), learning=size)
                done = tell(done + size, state)
            state = _RENEW(state, renewed)
        return state, done

    def advanced(self, state: State, rngs: Streams, lengths: Any, *, learning: int = 0) -> tuple[State, Any]:
        """A block of iterations; those of no steps at its end make blocks of every size one program."""
        shape = (BLOCK, self.options.chains)
        drawn = [(rng.standard_normal((*shape, self.target.size)), rng.random(shape)) for rng in rngs]
        noise = Noise(*(np.stack(part) for part in zip(*drawn, strict=True)))
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


#: Draws' worth of the old diagonal in a new one.
_FEW = 10.0
#: Energy error past which a trajectory counts as divergent, as in Stan and NumPyro.
DIVERGENT = 1000.0


class Noise(NamedTuple):
    """What decides iterations by chance.

    momentum: Standard normal.
    lot: Uniform on the unit interval.
    """

    momentum: Any
    lot: Any


class _Step(NamedTuple):
    """Dual averaging of the log step size, one for each posterior."""

    log_size: Any
    log_average: Any
    error: Any
    count: Any
    anchor: Any


class State(NamedTuple):
    """Where one posterior's chains are, and how they move."""

    z: Any
    value: Any
    slope: Any
    root: Any
    step: _Step
    mean: Any
    product: Any
    draws: Any


def start(chains: Chains) -> State:
    """Chains where they are placed, whitened by the curvature at the mode; of many data sets."""
    number, _, size = chains.z.shape
    step = _fresh(np.full(number, np.log(0.3)))
    return State(
        chains.z,
        chains.value,
        chains.slope,
        chains.root,
        step,
        np.zeros((number, size)),
        np.zeros_like(chains.root),
        np.zeros(number),
    )


def _fresh(log_size: Any) -> _Step:
    """At its start; of NumPy's arrays outside of programs, where every operation of JAX would be one."""
    return _Step(log_size, log_size, 0.0 * log_size, 0.0 * log_size, log_size + np.log(2.0))


def _move(target: Density, state: State, arrays: Arrays, steps: Any, noise: Noise) -> tuple[State, dict[str, Any]]:
    """One trajectory of every chain, accepted or not."""
    momentum, size = noise.momentum, jnp.exp(state.step.log_size)
    gradient = jax.vmap(jax.value_and_grad(lambda z: target.potential(z, arrays)))

    def leap(_: Any, at: Any) -> Any:
        z, p, _, slope = at
        p = p - 0.5 * size * whitened(slope, state.root)
        z = z + size * stretched(p, state.root)
        value, slope = gradient(z)
        return z, p - 0.5 * size * whitened(slope, state.root), value, slope

    z, p, value, slope = jax.lax.fori_loop(0, steps, leap, (state.z, momentum, state.value, state.slope))
    before = state.value + 0.5 * (momentum**2).sum(-1)
    change = value + 0.5 * (p**2).sum(-1) - before
    change = jnp.where(jnp.isfinite(change), change, jnp.inf)
    chance = jnp.minimum(jnp.exp(-change), 1.0)
    accepted = noise.lot < chance
    stats = {
        "lp": -jnp.where(accepted, value, state.value),
        "energy": jnp.where(accepted, before + change, before),
        "diverging": change > DIVERGENT,
        "acceptance_rate": chance,
        "n_steps": jnp.broadcast_to(steps, chance.shape),
    }
    keep = accepted[:, None]
    return state._replace(
        z=jnp.where(keep, z, state.z),
        value=jnp.where(accepted, value, state.value),
        slope=jnp.where(keep, slope, state.slope),
    ), stats


def advance(  # noqa: PLR0917 mapped over posteriors, which names no arguments
    target: Density, state: State, arrays: Arrays, noise: Noise, lengths: Any, learning: Any, accept: Any
) -> Any:
    """Iterations of the given lengths, the first ``learning`` of which tune; and what they drew.

    One program both warms up and samples, since each copy of a density's gradient takes seconds to compile.

    Returns: Draws (chains, iterations, d) and statistics (chains, iterations).
    """

    def one(state: State, at: Any) -> Any:
        number, steps, noise = at
        state, stats = _move(target, state, arrays, steps, noise)
        shortfall = accept - stats["acceptance_rate"].mean()
        state = jax.lax.cond(number < learning, _learnt, lambda state, _: state, state, shortfall)
        return state, (state.z, stats)

    iterations = (jnp.arange(lengths.shape[0]), lengths, noise)
    state, (flat, stats) = jax.lax.scan(one, state, iterations)
    return state, (jnp.swapaxes(flat, 0, 1), {name: value.T for name, value in stats.items()})


def _learnt(state: State, shortfall: Any) -> State:
    """Step size by dual averaging, and the chains' covariance so far (Welford)."""
    draws = state.draws + state.z.shape[0]
    off = state.z - state.mean
    mean = state.mean + off.sum(0) / draws
    whole = state.root.ndim == 2
    product = state.product + (off.T @ (state.z - mean) if whole else (off * (state.z - mean)).sum(0))
    return state._replace(step=_average(state.step, shortfall), mean=mean, product=product, draws=draws)


def _average(step: _Step, shortfall: Any) -> _Step:
    """Dual averaging with Hoffman & Gelman's constants (γ .05, t0 10, κ .75)."""
    count = step.count + 1
    error = step.error + (shortfall - step.error) / (count + 10)
    log_size = step.anchor - jnp.sqrt(count) / 0.05 * error
    weight = count**-0.75
    return step._replace(
        log_size=log_size, error=error, count=count, log_average=weight * log_size + (1 - weight) * step.log_average
    )


def renew(state: State, metric: Any) -> State:
    """Fix the step size; with ``metric`` also whiten by the draws' covariance, shrunk to the old one."""
    whole = state.root.ndim == 2
    # A matrix needs as many draws as it has rows, a diagonal but a few.
    weight = state.draws / (state.draws + (2.0 * state.z.shape[-1] if whole else _FEW))
    old = state.root @ state.root.T if whole else state.root**2
    covariance = weight * state.product / jnp.maximum(state.draws - 1, 1) + (1 - weight) * old
    new = jnp.linalg.cholesky(covariance) if whole else jnp.sqrt(covariance)
    good = metric & jnp.all(jnp.isfinite(new))
    log_size = state.step.log_average
    step = jax.tree.map(lambda a, b: jnp.where(metric, a, b), _fresh(log_size), state.step._replace(log_size=log_size))
    return state._replace(
        root=jnp.where(good, new, state.root),
        step=step,
        mean=jnp.zeros_like(state.mean),
        product=jnp.zeros_like(state.product),
        draws=jnp.zeros_like(state.draws),
    )


_RENEW = jax.jit(jax.vmap(renew, in_axes=(0, None)))
