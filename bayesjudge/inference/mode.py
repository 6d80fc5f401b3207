"""The posterior mode and the curvature there, by damped Newton steps that vectorise over data sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve

__all__ = ["Mode", "find_mode", "find_start"]

#: Dimensions up to which a mode is searched for: its Hessian costs as many gradients a step.
MODE_UP_TO = 500
#: Largest gradient of what may pass for a mode. A search that ran away stops at millions.
SETTLED = 1.0


class Mode(NamedTuple):
    """A local maximum of the unconstrained posterior density.

    Attributes
    ----------
    at : array (d,)
        Where it is.
    covariance : array (d, d)
        Inverse Hessian of minus the log density there, with a ridge where it is not positive definite.
    gradient_norm : scalar
        Largest absolute gradient; near 0 when the search converged.
    steps : scalar
        Newton steps taken.
    """

    at: Any
    covariance: Any
    gradient_norm: Any
    steps: Any


def find_mode(
    potential: Callable[[Any], Any], start: Any, *, most_steps: int = 100, tolerance: float = 1e-6
) -> Mode:
    """Minimise a smooth potential by Levenberg–Marquardt-damped Newton steps.

    The damping grows when a step fails to descend, or when the damped Hessian is not positive definite,
    and shrinks when a step succeeds: safe far from the mode, where the Hessian of a hierarchical model is
    indefinite, and quadratic near it. Cholesky factors throughout: batches of eigenvalues are slow.

    Examples
    --------
    >>> mode = find_mode(lambda z: 0.5 * jnp.sum((z - 3.0) ** 2), jnp.zeros(2))
    >>> mode.at.round(6).tolist()
    [3.0, 3.0]
    """
    value_and_grad, hessian = jax.value_and_grad(potential), jax.hessian(potential)
    identity = jnp.eye(start.shape[0])

    def unfinished(state: Any) -> Any:
        _, _, gradient, _, damping, step = state
        return (step < 2) | (
            (step < most_steps) & (jnp.max(jnp.abs(gradient)) > tolerance) & (damping < 1e12)
        )

    def newton(state: Any) -> Any:
        z, value, gradient, curvature, damping, step = state
        factor = jnp.linalg.cholesky(curvature + damping * identity)
        move = -cho_solve((factor, True), gradient)
        move = jnp.where(jnp.all(jnp.isfinite(move)), move, 0.0)
        proposed, slope = value_and_grad(z + move)
        better = jnp.all(jnp.isfinite(slope)) & (proposed < value)
        z, value, gradient = (
            jnp.where(better, new, old) for new, old in ((z + move, z), (proposed, value), (slope, gradient))
        )
        damping = jnp.where(better, jnp.maximum(damping / 10, 1e-12), damping * 10)
        return z, value, gradient, hessian(z), damping, step + 1

    # The first step is a gradient step (curvature 1), so that the Hessian is compiled once, in the loop.
    first = (start, *value_and_grad(start), identity, 1e-3, 0)
    z, _, gradient, curvature, _, steps = jax.lax.while_loop(unfinished, newton, first)
    return Mode(z, _inverse(curvature), jnp.max(jnp.abs(gradient)), steps)


def find_start(potential: Callable[[Any], Any], start: Any) -> Mode:
    """Where chains start and on which scale: the mode, or ``start`` with unit scales where there is none.

    The density of effects that are sampled as they are, not in units of their spread, grows without bound as
    the spread falls to 0, and Newton steps follow it there, where no chain comes back from.

    Examples
    --------
    >>> def funnel(z):
    ...     return 5 * z[0] + 0.5 * jnp.sum((z[1:] * jnp.exp(-z[0])) ** 2)
    >>> find_start(funnel, jnp.zeros(6)).at.tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """
    plain = Mode(start, jnp.eye(start.shape[0]), jnp.inf, 0)
    if start.shape[0] > MODE_UP_TO:
        return plain
    mode = find_mode(potential, start)
    settled = mode.gradient_norm < SETTLED
    return Mode(*(jnp.where(settled, found, other) for found, other in zip(mode, plain, strict=True)))


def _inverse(hessian: Any) -> Any:
    """Inverse of the Hessian with the smallest ridge that makes it positive definite."""
    identity = jnp.eye(hessian.shape[0])
    ridges = jnp.array([0.0, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 1e3, 1e6])
    factors = jax.vmap(lambda ridge: jnp.linalg.cholesky(hessian + ridge * identity))(ridges)
    sound = jnp.all(jnp.isfinite(factors), axis=(1, 2))
    return cho_solve((factors[jnp.argmax(sound)], True), identity)
