"""The posterior mode and the curvature there, by damped Newton steps that vectorise over data sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

__all__ = ["Mode", "find_mode"]


class Mode(NamedTuple):
    """A local maximum of the unconstrained posterior density.

    Attributes
    ----------
    at : array (d,)
        Where it is.
    covariance : array (d, d)
        Inverse Hessian of minus the log density there, eigenvalues floored so that it is positive definite.
    gradient_norm : scalar
        Largest absolute gradient; near 0 when the search converged.
    steps : scalar
        Newton steps taken.
    """

    at: Any
    covariance: Any
    gradient_norm: Any
    steps: Any


def find_mode(potential: Callable[[Any], Any], start: Any, *, most_steps: int = 200, tolerance: float = 1e-8) -> Mode:
    """Minimise a smooth potential by Levenberg–Marquardt-damped Newton steps.

    The damping grows when a step fails to descend and shrinks when it succeeds, so the search is safe
    far from the mode, where the Hessian of a hierarchical model is indefinite, and quadratic near it.

    Examples
    --------
    >>> mode = find_mode(lambda z: 0.5 * jnp.sum((z - 3.0) ** 2), jnp.zeros(2))
    >>> mode.at.round(6).tolist()
    [3.0, 3.0]
    """
    value_and_grad, hessian = jax.value_and_grad(potential), jax.hessian(potential)
    identity = jnp.eye(start.shape[0])

    def unfinished(state: Any) -> Any:
        _, _, gradient, damping, step = state
        return (step < most_steps) & (jnp.max(jnp.abs(gradient)) > tolerance) & (damping < 1e12)

    def newton(state: Any) -> Any:
        z, value, gradient, damping, step = state
        values, vectors = jnp.linalg.eigh(hessian(z) + 0.0 * identity)
        bent = jnp.abs(values) + damping
        move = -vectors @ ((vectors.T @ gradient) / bent)
        proposed, slope = value_and_grad(z + move)
        better = jnp.isfinite(proposed) & jnp.all(jnp.isfinite(slope)) & (proposed <= value)
        kept = (jnp.where(better, z + move, z), jnp.where(better, proposed, value), jnp.where(better, slope, gradient))
        return (*kept, jnp.where(better, jnp.maximum(damping / 10, 1e-10), damping * 10), step + 1)

    value, gradient = value_and_grad(start)
    z, _, gradient, _, steps = jax.lax.while_loop(unfinished, newton, (start, value, gradient, 1e-3, 0))
    values, vectors = jnp.linalg.eigh(hessian(z))
    covariance = (vectors / jnp.maximum(values, 1e-3)) @ vectors.T
    return Mode(z, covariance, jnp.max(jnp.abs(gradient)), steps)
