"""The posterior mode and the curvature there, by damped Newton steps on the host.

Second derivatives are differences of automatic gradients, as in Stan: a program with exact ones takes three
times as long to compile as all else that the search needs, and their error, about 1e-10 of a posterior whose
width is near 1, is far below what a metric or a proposal is known to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_solve

__all__ = ["Mode", "find_modes"]

#: Half the distance of two gradients, in units of a coordinate of size 1 or more: rounding and curvature of
#: the gradient weigh about the same.
APART = np.finfo(float).eps ** (1 / 3)
#: Largest damping: past it a step no longer moves.
MOST_DAMPING = 1e12
#: What may be added to a Hessian that is not positive definite, smallest first.
RIDGES = (0.0, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 1e3, 1e6)

type Slopes = Callable[[Any], tuple[Any, Any]]


class Mode(NamedTuple):
    """A local maximum of the unconstrained posterior density; of many with a leading axis of data sets.

    Attributes
    ----------
    at : array (d,)
        Where it is.
    covariance : array (d, d)
        Inverse Hessian of minus the log density there, with a ridge where it is not positive definite.
    gradient_norm : scalar
        Largest absolute gradient; near 0 when the search converged, infinite where there is no density.
    steps : scalar
        Newton steps tried.
    """

    at: Any
    covariance: Any
    gradient_norm: Any
    steps: Any


class _Place(NamedTuple):
    """Points (sets, d), and minus the log density there with its derivatives."""

    z: Any
    value: Any
    slope: Any
    curvature: Any


def find_modes(slopes: Slopes, start: Any, *, most_steps: int = 100, tolerance: float = 1e-6) -> Mode:
    """Minimise smooth potentials by Levenberg–Marquardt-damped Newton steps.

    The damping grows when a step fails to descend, or when the damped Hessian is not positive definite,
    and shrinks when a step succeeds: safe far from the mode, where the Hessian of a hierarchical model is
    indefinite, and quadratic near it.

    Parameters
    ----------
    slopes : callable
        ``points (sets, 2d + 1, d) -> values (sets, 2d + 1), gradients (sets, 2d + 1, d)``.
    start : array (sets, d)
        Where the searches start.
    most_steps, tolerance
        A search ends after as many steps, or at so small a largest gradient.

    Examples
    --------
    >>> mode = find_modes(lambda at: (0.5 * ((at - 3.0) ** 2).sum(-1), at - 3.0), np.zeros((1, 2)))
    >>> mode.at.round(6).tolist(), mode.covariance.round(6).tolist()
    ([[3.0, 3.0]], [[[1.0, 0.0], [0.0, 1.0]]])
    """
    at = _place(slopes, np.array(start, dtype=float))
    damping, steps = np.full(len(start), 1e-2), np.zeros(len(start), dtype=int)
    while True:
        going = np.isfinite(at.slope).all(1) & (_norm(at) > tolerance)
        going &= (steps < most_steps) & (damping < MOST_DAMPING)
        if not going.any():
            break
        moves = [_newton(*of) if on else np.zeros(at.z.shape[1])
                 for on, *of in zip(going, at.curvature, at.slope, damping, strict=True)]  # fmt: skip
        tried = _place(slopes, at.z + np.stack(moves))
        better = going & np.isfinite(tried.slope).all(1) & (tried.value < at.value)
        at = _Place(*(np.where(better.reshape(-1, *[1] * (old.ndim - 1)), new, old)
                      for new, old in zip(tried, at, strict=True)))  # fmt: skip
        damping = np.where(better, np.maximum(damping / 10, 1e-12), np.where(going, damping * 10, damping))
        steps += going
    covariance, sound = zip(*(_inverse(curvature) for curvature in at.curvature), strict=True)
    norm = np.where(sound & np.isfinite(at.value), _norm(at), np.inf)
    return Mode(at.z, np.stack(covariance), norm, steps)


def _norm(at: _Place) -> Any:
    return np.abs(at.slope).max(1)


def _place(slopes: Slopes, z: Any) -> _Place:
    """Values and gradients at the points, and Hessians from gradients on either side."""
    size = z.shape[1]
    off = (APART * np.maximum(1.0, np.abs(z)))[:, :, None] * np.eye(size)
    points = np.concatenate([z[:, None], z[:, None] + off, z[:, None] - off], axis=1)
    value, slope = slopes(points)
    above, below = slice(1, size + 1), slice(size + 1, None)
    apart = np.diagonal(points[:, above] - points[:, below], axis1=1, axis2=2)  # as rounded
    with np.errstate(invalid="ignore", over="ignore"):  # a slope that is not finite: no step comes of it
        curvature = (slope[:, above] - slope[:, below]) / apart[:, :, None]
    return _Place(z, value[:, 0], slope[:, 0], (curvature + curvature.swapaxes(1, 2)) / 2)


def _newton(curvature: Any, slope: Any, damping: float) -> Any:
    """A damped Newton step; none where the damped Hessian is not positive definite."""
    factor = _factor(curvature + damping * np.eye(len(slope)))
    return np.zeros_like(slope) if factor is None else -cho_solve((factor, True), slope)


def _factor(matrix: Any) -> Any:
    """The Cholesky factor, or None."""
    try:
        factor = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return None
    return factor if np.isfinite(factor).all() else None


def _inverse(hessian: Any) -> tuple[Any, bool]:
    """Inverse of the Hessian with the smallest ridge that makes it positive definite; whether one does."""
    identity = np.eye(len(hessian))
    for ridge in RIDGES:
        factor = _factor(hessian + ridge * identity)
        if factor is not None:
            inverse = cho_solve((factor, True), identity)
            inverse = (inverse + inverse.T) / 2
            if _factor(inverse) is not None:
                return inverse, True
    return identity, False
