"""Iterations of Hamiltonian Monte Carlo whose chains all take the same number of steps: the one compiled program.

Of one posterior and its chains; `bayesjudge.inference.engines.hmc` runs many of them side by side. Warming up,
sampling and looking for modes go through it, since each copy of a density's gradient takes about a second to
compile; what can be said of the draws afterwards (statistics, their covariance) NumPy says. Step size by dual
averaging (Hoffman & Gelman 2014). Random numbers are arguments: programs that draw their own take seconds longer.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bayesjudge.inference.engines.metric import stretched, whitened
from bayesjudge.inference.engines.starts import Chains
from bayesjudge.inference.programs.density import Arrays, Density, Sets

_PROGRAMS: dict[tuple[Any, ...], Any] = {}
#: Kick, drift and kick of each stage of a step, in steps. Leapfrog, and the integrator of three stages of Blanes, Casas
#: & Sanz-Serna (2014, "Numerical integrators for the Hybrid Monte Carlo method", table 1), whose energy error in many
#: dimensions is the smallest at the steps that chains take: with 1,903 parameters a gradient takes 1.3 to 1.4 times as
#: far at the same acceptance, and smallest ESS a gradient was .12 to .13 for .09.
_KICK, _DRIFT = 0.11888010966548, 0.29619504261126
LEAPFROG = np.array([[0.5, 1.0, 0.5]])
THREE = np.array([[_KICK, _DRIFT, 0.5 - _KICK], [0.0, 1 - 2 * _DRIFT, 0.5 - _KICK], [0.0, _DRIFT, _KICK]])


class Noise(NamedTuple):
    """What decides iterations by chance, (iterations, chains, ...).

    momentum: Standard normal.
    lot: Uniform on the unit interval.
    """

    momentum: Any
    lot: Any


class Step(NamedTuple):
    """Dual averaging of the log step size, one for each posterior."""

    log_size: Any
    log_average: Any
    error: Any
    count: Any
    anchor: Any

    @classmethod
    def fresh(cls, log_size: Any) -> Step:
        """At its start."""
        return cls(log_size, log_size, 0.0 * log_size, 0.0 * log_size, log_size + np.log(2.0))


class State(NamedTuple):
    """Where one posterior's chains are, and how they move."""

    z: Any
    value: Any
    slope: Any
    root: Any
    step: Step

    @classmethod
    def start(cls, chains: Chains, root: Any, size: float) -> State:
        """Chains of many data sets where they are placed, in given units, with steps of this size."""
        return cls(chains.z, chains.value, chains.slope, root, Step.fresh(np.full(len(chains.z), np.log(size))))


class Made(NamedTuple):
    """What iterations made, (iterations, chains, ...).

    z: Draws.
    value: Minus the log density of the draws.
    energy: Value and kinetic energy.
    change: Energy error of the trajectory.
    end, slope: Minus the log density where the trajectory ended, accepted or not, and its gradient.
    gradient: That of the draws.
    """

    z: Any
    value: Any
    energy: Any
    change: Any
    end: Any
    slope: Any
    gradient: Any


def program(target: Density, many: Sets) -> Any:
    """`advance` of many posteriors, kept for the life of the process; a more careful second run needs no other."""
    key = (target, many)
    if key not in _PROGRAMS:
        over = (0, many.axes, 0, None, None, None, None)
        _PROGRAMS[key] = jax.jit(jax.vmap(partial(advance, target), in_axes=over))
    return _PROGRAMS[key]


def advance(  # noqa: PLR0917 mapped over posteriors, which names no arguments
    target: Density, state: State, arrays: Arrays, noise: Noise, stages: Any, lengths: Any, learning: Any, accept: Any
) -> tuple[State, Made]:
    """Iterations of so many stages, the first ``learning`` of which tune the step size; and what they made."""

    def one(state: State, at: Any) -> Any:
        number, length, noise = at
        state, made = _move(target, state, arrays, stages, length, noise)
        learnt = _average(state.step, accept - jnp.minimum(jnp.exp(-made.change), 1.0).mean())
        step = jax.tree.map(partial(jnp.where, number < learning), learnt, state.step)
        return state._replace(step=step), made

    iterations = (jnp.arange(lengths.shape[0]), lengths, noise)
    moved: tuple[State, Made] = jax.lax.scan(one, state, iterations)
    return moved


def _move(  # noqa: PLR0917 called but once
    target: Density, state: State, arrays: Arrays, stages: Any, length: Any, noise: Noise
) -> tuple[State, Made]:
    """One trajectory of every chain, accepted or not."""
    momentum, size = noise.momentum, jnp.exp(state.step.log_size)
    gradient = jax.vmap(jax.value_and_grad(lambda z: target.potential(z, arrays)))

    def stage(number: Any, at: Any) -> Any:
        z, p, _, slope = at
        kick, drift, again = size * stages[number % len(stages)]
        p = p - kick * whitened(slope, state.root)
        z = z + drift * stretched(p, state.root)
        value, slope = gradient(z)
        return z, p - again * whitened(slope, state.root), value, slope

    z, p, end, slope = jax.lax.fori_loop(0, length, stage, (state.z, momentum, state.value, state.slope))
    before = state.value + 0.5 * (momentum**2).sum(-1)
    change = end + 0.5 * (p**2).sum(-1) - before
    change = jnp.where(jnp.isfinite(change), change, jnp.inf)
    accepted = noise.lot < jnp.minimum(jnp.exp(-change), 1.0)
    keep = accepted[:, None]
    state = state._replace(
        z=jnp.where(keep, z, state.z),
        value=jnp.where(accepted, end, state.value),
        slope=jnp.where(keep, slope, state.slope),
    )
    energy = jnp.where(accepted, before + change, before)
    return state, Made(state.z, state.value, energy, change, end, slope, state.slope)


def _average(step: Step, shortfall: Any) -> Step:
    """Dual averaging with Hoffman & Gelman's constants (γ .05, t0 10, κ .75)."""
    count = step.count + 1
    error = step.error + (shortfall - step.error) / (count + 10)
    log_size = step.anchor - jnp.sqrt(count) / 0.05 * error
    weight = count**-0.75
    return step._replace(
        log_size=log_size, error=error, count=count, log_average=weight * log_size + (1 - weight) * step.log_average
    )
