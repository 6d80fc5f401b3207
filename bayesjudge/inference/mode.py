"""The posterior mode and the curvature there, by damped Newton steps that vectorise over data sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve

__all__ = ["Mode", "find_mode"]


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
    identity = jnp.eye(start.shape[0])

    def at(z: Any) -> Any:
        """Value, gradient and Hessian, whose program has one copy of the potential."""

        def along(direction: Any) -> Any:
            return jax.jvp(jax.value_and_grad(potential), (z,), (direction,))

        (value, gradient), (_, curvature) = jax.vmap(along, out_axes=((None, None), 0))(identity)
        return value, gradient, curvature

    def unfinished(state: Any) -> Any:
        _, (_, gradient, _), damping, step = state
        return (step < most_steps) & (jnp.max(jnp.abs(gradient)) > tolerance) & (damping < 1e12)

    def newton(state: Any) -> Any:
        z, found, damping, step = state
        _, gradient, curvature = found
        factor = jnp.linalg.cholesky(curvature + damping * identity)
        move = -cho_solve((factor, True), gradient)
        move = jnp.where(jnp.all(jnp.isfinite(move)), move, 0.0)
        proposed = at(z + move)
        better = jnp.all(jnp.isfinite(proposed[1])) & (proposed[0] < found[0])
        z, found = jax.tree.map(
            lambda new, old: jnp.where(better, new, old), (z + move, proposed), (z, found)
        )
        damping = jnp.where(better, jnp.maximum(damping / 10, 1e-12), damping * 10)
        return z, found, damping, step + 1

    # The first step moves nowhere, for want of a gradient: the potential is then compiled in the loop alone.
    nothing = (jnp.inf, jnp.full(start.shape, jnp.inf), identity)
    z, (_, gradient, curvature), _, steps = jax.lax.while_loop(unfinished, newton, (start, nothing, 1e-2, 0))
    return Mode(z, _inverse(curvature), jnp.max(jnp.abs(gradient)), steps)


def _inverse(hessian: Any) -> Any:
    """Inverse of the Hessian with the smallest ridge that makes it positive definite."""
    identity = jnp.eye(hessian.shape[0])
    ridges = jnp.array([0.0, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 1e3, 1e6])
    factors = jax.vmap(lambda ridge: jnp.linalg.cholesky(hessian + ridge * identity))(ridges)
    sound = jnp.all(jnp.isfinite(factors), axis=(1, 2))
    return cho_solve((factors[jnp.argmax(sound)], True), identity)
