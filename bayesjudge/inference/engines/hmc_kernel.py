"""The kernel of `hmc`: chains of one posterior, whitened by its curvature, tuned and moved together.

Every function here is of one posterior and its chains; `bayesjudge.inference.engines.hmc` runs many of them
side by side. Step size by dual averaging (Hoffman & Gelman 2014), metric from the chains' own covariance.
Random numbers are arguments: programs that draw their own take seconds longer to compile.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bayesjudge.inference.engines.starts import Chains
from bayesjudge.inference.programs.density import Arrays, Density

__all__ = ["DENSE_UP_TO", "Noise", "State", "advance", "renew", "start"]

#: Dimensions up to which posteriors are whitened by a full matrix: its products cost d² a leapfrog step.
DENSE_UP_TO = 400
#: Draws' worth of the old diagonal in a new one.
_FEW = 10.0
#: Energy error past which a trajectory counts as divergent, as in Stan and NumPyro.
DIVERGENT = 1000.0


class Noise(NamedTuple):
    """What decides iterations by chance.

    Attributes
    ----------
    momentum : array (iterations, chains, d)
        Standard normal.
    lot : array (iterations, chains)
        Uniform on the unit interval.
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
    seen: Any


def start(chains: Chains) -> State:
    """Chains where they are placed, whitened by the curvature at the mode; of many data sets."""
    number, _, size = chains.z.shape
    covariance = chains.mode.covariance
    root = (np.linalg.cholesky(covariance) if size <= DENSE_UP_TO
            else np.sqrt(np.diagonal(covariance, axis1=1, axis2=2)))  # fmt: skip
    step = jax.vmap(_fresh)(jnp.full(number, jnp.log(0.3)))
    return State(chains.z, chains.value, chains.slope, root, step, np.zeros((number, size)),
                 np.zeros_like(root), np.zeros(number))  # fmt: skip


def _fresh(log_size: Any) -> _Step:
    # With a type of its own: one taken from a Python number is another type, and would compile all twice.
    log_size, zero = jnp.asarray(log_size, dtype=float), jnp.zeros(())
    return _Step(log_size, log_size, zero, zero, log_size + jnp.log(2.0))


def _move(
    target: Density, state: State, arrays: Arrays, steps: Any, noise: Noise
) -> tuple[State, dict[str, Any]]:
    """One trajectory of every chain, accepted or not."""
    momentum, size = noise.momentum, jnp.exp(state.step.log_size)
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
    accepted = noise.lot < chance
    stats = {"lp": -jnp.where(accepted, value, state.value),
             "energy": jnp.where(accepted, before + change, before), "diverging": change > DIVERGENT,
             "acceptance_rate": chance, "n_steps": jnp.broadcast_to(steps, chance.shape)}  # fmt: skip
    keep = accepted[:, None]
    return state._replace(
        z=jnp.where(keep, z, state.z), value=jnp.where(accepted, value, state.value),
        slope=jnp.where(keep, slope, state.slope),
    ), stats  # fmt: skip


def advance(  # noqa: PLR0917 mapped over posteriors, which names no arguments
    target: Density, state: State, arrays: Arrays, noise: Noise, lengths: Any, learning: Any, accept: Any
) -> Any:
    """Iterations of the given lengths, the first ``learning`` of which tune; and what they drew.

    One program both warms up and samples, since each copy of a density's gradient takes seconds to compile.

    Returns
    -------
    state, (draws, stats)
        Draws (chains, iterations, d) and statistics (chains, iterations).
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
    seen = state.seen + state.z.shape[0]
    off = state.z - state.mean
    mean = state.mean + off.sum(0) / seen
    whole = state.root.ndim == 2
    product = state.product + (off.T @ (state.z - mean) if whole else (off * (state.z - mean)).sum(0))
    return state._replace(step=_average(state.step, shortfall), mean=mean, product=product, seen=seen)


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


def renew(state: State, metric: Any) -> State:
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
