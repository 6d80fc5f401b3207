"""Hamiltonian Monte Carlo for many posteriors in lock step.

NUTS lets every chain choose its own number of leapfrog steps, so chains side by side in one program all
wait for the longest trajectory, and carry the bookkeeping of the tree through every step. Here each
posterior is first whitened by its own curvature, and all chains of all posteriors then take the same,
randomly jittered number of plain leapfrog steps, as Hoffman, Radul & Sountsov (2021, "An adaptive-MCMC scheme
for setting trajectory lengths in HMC") argue for hardware that works in lanes. Step size (dual averaging,
Hoffman & Gelman 2014) and metric are adapted for each posterior, pooled over its chains.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bayesjudge.inference.density import Arrays, Density, Sets
from bayesjudge.inference.mode import find_start
from bayesjudge.inference.nuts import Draws, NutsOptions

__all__ = ["DENSE_UP_TO", "run_from", "run_hmc"]

#: Mean integration time in whitened units. A Gaussian decorrelates best at π/2; on the hierarchical
#: posteriors here (31 parameters, TriviaQA, 16 posteriors) 3 raised the smallest ESS from 81 to 264 of 2,000
#: draws for 2.3 times the gradients; 5 raised it to 396 for 4.2 times.
TRAJECTORY = 3.0
#: Longest mean trajectory in leapfrog steps; a posterior that would need more is flagged by its gate.
MOST_STEPS = 64
#: Dimensions up to which posteriors are whitened by a full matrix: its products cost d² a leapfrog step.
DENSE_UP_TO = 400
#: Draws' worth of the old diagonal in a new one.
_FEW = 10.0
#: Iterations between two reports of progress.
BLOCK = 100
#: Energy error past which a trajectory counts as divergent, as in Stan and NumPyro.
DIVERGENT = 1000.0
_PROGRAMS: dict[tuple[Any, ...], dict[str, Any]] = {}


class _Step(NamedTuple):
    """Dual averaging of the log step size, one for each posterior."""

    log_size: Any
    log_average: Any
    error: Any
    count: Any
    anchor: Any


class _State(NamedTuple):
    """Where one posterior's chains are, and how they move."""

    z: Any
    value: Any
    slope: Any
    root: Any
    step: _Step
    mean: Any
    product: Any
    seen: Any
    key: Any


def run_hmc(
    target: Density, arrays: Arrays, key: Any, options: NutsOptions, *, many: Sets,
    report: Callable[[int, int], None] | None = None,
) -> Draws:  # fmt: skip
    """Sample many posteriors at once; arguments as in `run_nuts`."""
    programs = _programs(target, options.chains, many)
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)).tolist())
    tell = partial(_tell, report, options.tune + options.draws)
    state, done = _warm(programs, arrays, key, options, many=many, rng=rng, tell=tell)
    kept = []
    for size in _blocks(options.draws):
        state, block = programs["sample"](state, arrays, _lengths(state, size, rng))
        kept.append(jax.tree.map(np.asarray, block))
        done = tell(done + size, state)
    return _joined(kept)


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
    programs = _programs(target, options.chains, many)
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)).tolist())
    state, _ = _warm(programs, arrays, key, options, many=many, rng=rng, tell=lambda done, _: done)
    state = programs["place"](state, arrays, jnp.asarray(points))
    steps = _mean_steps(state, TRAJECTORY / 2)
    kept = []
    for size in _blocks(options.draws):
        state, block = programs["sample"](state, arrays, jnp.full(size, steps))
        kept.append(jax.tree.map(np.asarray, block))
    return _joined(kept)


def _warm(
    programs: dict[str, Any], arrays: Arrays, key: Any, options: NutsOptions, *, many: Sets,
    rng: np.random.Generator, tell: Callable[[int, _State], int],
) -> tuple[_State, int]:  # fmt: skip
    """State after warm-up, and the iterations done."""
    state, done = programs["start"](jax.random.split(key, many.number), arrays), 0
    for share, renew in ((0.2, True), (0.4, True), (0.4, False)):
        for size in _blocks(max(round(options.tune * share), 1)):
            state = programs["adapt"](state, arrays, _lengths(state, size, rng), options.target_accept)
            done = tell(done + size, state)
        state = programs["renew"](state, renew)
    return state, done


def _joined(kept: list[Any]) -> Draws:
    return Draws(
        flat=np.concatenate([flat for flat, _ in kept], axis=-2),
        stats={name: np.concatenate([stats[name] for _, stats in kept], axis=-1) for name in kept[0][1]},
    )


def _tell(report: Callable[[int, int], None] | None, total: int, done: int, state: _State) -> int:
    if report is not None:
        jax.block_until_ready(state.z)
        report(min(done, total), total)
    return done


def _blocks(length: int) -> list[int]:
    return [BLOCK] * (length // BLOCK) + ([length % BLOCK] if length % BLOCK else [])


def _lengths(state: _State, size: int, rng: np.random.Generator) -> Any:
    """Leapfrog steps of each iteration, uniform from 1 to twice the mean that the median posterior needs."""
    return jnp.asarray(rng.integers(1, 2 * _mean_steps(state, TRAJECTORY), size=size))


def _mean_steps(state: _State, trajectory: float) -> int:
    return int(np.clip(round(trajectory / float(np.median(np.exp(state.step.log_size)))), 2, MOST_STEPS))


def _programs(target: Density, chains: int, many: Sets) -> dict[str, Any]:
    """Compiled programs, kept for the life of the process; a more careful second run needs no others."""
    key = (id(target), chains, many)
    if key not in _PROGRAMS:
        over = (0, many.axes, None)
        _PROGRAMS[key] = {
            "start": jax.jit(jax.vmap(partial(_start, target, chains), in_axes=over[:2])),
            "adapt": jax.jit(jax.vmap(partial(_adapt, target), in_axes=(*over, None))),
            "renew": jax.jit(jax.vmap(_renew, in_axes=(0, None))),
            "place": jax.jit(jax.vmap(partial(_place, target), in_axes=(0, many.axes, 0))),
            "sample": jax.jit(jax.vmap(partial(_sample, target), in_axes=over)),
        }
    return _PROGRAMS[key]


def _start(target: Density, chains: int, key: Any, arrays: Arrays) -> _State:
    """Chains scattered around the mode by its curvature; a point of no density falls back to the mode."""

    def potential(z: Any) -> Any:
        return target.potential(z, arrays)

    mode = find_start(potential, target.start)
    whole = target.size <= DENSE_UP_TO
    root = jnp.linalg.cholesky(mode.covariance) if whole else jnp.sqrt(jnp.diag(mode.covariance))
    key, scatter = jax.random.split(key)
    z = mode.at + _stretched(jax.random.normal(scatter, (chains, target.size)), root)
    z = jnp.where(jnp.isfinite(jax.vmap(potential)(z))[:, None], z, mode.at)
    value, slope = jax.vmap(jax.value_and_grad(potential))(z)
    blank = jnp.zeros((target.size,))
    return _State(
        z, value, slope, root, _fresh(jnp.log(0.3)), blank, jnp.zeros_like(root), jnp.zeros(()), key
    )


def _place(target: Density, state: _State, arrays: Arrays, point: Any) -> _State:
    """The same chains, all moved to one point."""
    value, slope = jax.value_and_grad(lambda z: target.potential(z, arrays))(point)
    chains = state.z.shape[0]
    z, slope = (jnp.broadcast_to(part, (chains, part.shape[0])) for part in (point, slope))
    return state._replace(z=z, value=jnp.broadcast_to(value, (chains,)), slope=slope)


def _fresh(log_size: Any) -> _Step:
    zero = jnp.zeros(())
    return _Step(jnp.asarray(log_size), jnp.asarray(log_size), zero, zero, log_size + jnp.log(2.0))


def _move(target: Density, state: _State, arrays: Arrays, steps: Any) -> tuple[_State, dict[str, Any]]:
    """One trajectory of every chain, accepted or not."""
    key, momentum_key, accept_key = jax.random.split(state.key, 3)
    size = jnp.exp(state.step.log_size)
    momentum = jax.random.normal(momentum_key, state.z.shape)
    gradient = jax.vmap(jax.value_and_grad(lambda z: target.potential(z, arrays)))

    def leap(_: Any, at: Any) -> Any:
        z, p, _, slope = at
        p = p - 0.5 * size * _whitened(slope, state.root)
        z = z + size * _stretched(p, state.root)
        value, slope = gradient(z)
        return z, p - 0.5 * size * _whitened(slope, state.root), value, slope

    z, p, value, slope = jax.lax.fori_loop(0, steps, leap, (state.z, momentum, state.value, state.slope))
    before = state.value + 0.5 * (momentum**2).sum(-1)
    change = value + 0.5 * (p**2).sum(-1) - before
    change = jnp.where(jnp.isfinite(change), change, jnp.inf)
    chance = jnp.minimum(jnp.exp(-change), 1.0)
    accepted = jax.random.uniform(accept_key, chance.shape) < chance
    stats = {"lp": -jnp.where(accepted, value, state.value),
             "energy": jnp.where(accepted, before + change, before), "diverging": change > DIVERGENT,
             "acceptance_rate": chance, "n_steps": jnp.broadcast_to(steps, chance.shape)}  # fmt: skip
    keep = accepted[:, None]
    return state._replace(
        z=jnp.where(keep, z, state.z), value=jnp.where(accepted, value, state.value),
        slope=jnp.where(keep, slope, state.slope), key=key,
    ), stats  # fmt: skip


def _adapt(target: Density, state: _State, arrays: Arrays, lengths: Any, accept: Any) -> _State:
    """Iterations that tune the step size and gather the covariance of the chains (Welford's update)."""

    def one(state: _State, steps: Any) -> tuple[_State, None]:
        state, stats = _move(target, state, arrays, steps)
        step = _average(state.step, accept - stats["acceptance_rate"].mean())
        seen = state.seen + state.z.shape[0]
        off = state.z - state.mean
        mean = state.mean + off.sum(0) / seen
        whole = state.root.ndim == 2
        product = state.product + (off.T @ (state.z - mean) if whole else (off * (state.z - mean)).sum(0))
        return state._replace(step=step, mean=mean, product=product, seen=seen), None

    return jax.lax.scan(one, state, lengths)[0]


def _stretched(x: Any, root: Any) -> Any:
    """From whitened units to those of the posterior; ``root`` is a triangle, or standard deviations."""
    return x @ root.T if root.ndim == 2 else x * root


def _whitened(slope: Any, root: Any) -> Any:
    """A gradient in whitened units."""
    return slope @ root if root.ndim == 2 else slope * root


def _average(step: _Step, shortfall: Any) -> _Step:
    """Dual averaging with Hoffman & Gelman's constants (γ .05, t0 10, κ .75)."""
    count = step.count + 1
    error = step.error + (shortfall - step.error) / (count + 10)
    log_size = step.anchor - jnp.sqrt(count) / 0.05 * error
    weight = count**-0.75
    return step._replace(log_size=log_size, error=error, count=count,
                         log_average=weight * log_size + (1 - weight) * step.log_average)  # fmt: skip


def _renew(state: _State, metric: Any) -> _State:
    """Settle the step size; with ``metric`` also whiten by the covariance seen, shrunk to the old one."""
    whole = state.root.ndim == 2
    # A matrix needs as many draws as it has rows, a diagonal but a few.
    weight = state.seen / (state.seen + (2.0 * state.z.shape[-1] if whole else _FEW))
    old = state.root @ state.root.T if whole else state.root**2
    covariance = weight * state.product / jnp.maximum(state.seen - 1, 1) + (1 - weight) * old
    new = jnp.linalg.cholesky(covariance) if whole else jnp.sqrt(covariance)
    good = metric & jnp.all(jnp.isfinite(new))
    settled = state.step.log_average
    step = jax.tree.map(
        lambda a, b: jnp.where(metric, a, b), _fresh(settled), state.step._replace(log_size=settled)
    )
    return state._replace(root=jnp.where(good, new, state.root), step=step, mean=jnp.zeros_like(state.mean),
                          product=jnp.zeros_like(state.product), seen=jnp.zeros_like(state.seen))  # fmt: skip


def _sample(target: Density, state: _State, arrays: Arrays, lengths: Any) -> Any:
    """Iterations that are kept: draws (chains, iterations, d) and statistics (chains, iterations)."""

    def one(state: _State, steps: Any) -> Any:
        state, stats = _move(target, state, arrays, steps)
        return state, (state.z, stats)

    state, (flat, stats) = jax.lax.scan(one, state, lengths)
    return state, (jnp.swapaxes(flat, 0, 1), {name: value.T for name, value in stats.items()})
