"""Where every engine starts, and on which scale: at the mode of each posterior.

Second derivatives are differences of automatic gradients, since a program with exact ones takes more than
twice as long to compile. Those of the mode are from both sides: of ten models the covariances were within
7e-7 of those by exact ones, in units of the variances, far below what a metric or a proposal is known to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_solve
from scipy.optimize import minimize

from bayesjudge.inference.engines.metric import DENSE_UP_TO, cholesky, stretched
from bayesjudge.inference.programs.at_points import AtPoints, slopes
from bayesjudge.inference.programs.density import Arrays, Density, Sets

#: Dimensions up to which Newton steps look for the mode: each costs as many gradients. Past it L-BFGS does, and each
#: coordinate's scale is from the Hessian's diagonal: chains of 1,900 effects that start at the origin with unit scales
#: spend half of all their leapfrog steps on getting there.
MODE_UP_TO = 500
#: Coordinates whose second derivatives are computed together.
COORDINATES = 500
#: Dimensions up to which each second derivative takes a gradient of its own; gradients that those of more are from.
EXACT_UP_TO, PROBES = 4000, 50
#: Largest gradient of what may pass for a mode. A search that ran away stops at millions.
AT_MODE = 1.0


class Chains(NamedTuple):
    """Where the chains of data sets start.

    mode: What they are scattered around, with a leading axis of data sets.
    root: In which units: the Cholesky factor of the curvature's inverse; past `DENSE_UP_TO` standard deviations.
    noise: Their starting points in these units.
    z: Their starting points.
    value: Minus the log density there.
    slope: Its gradient.
    """

    mode: Mode
    root: Any
    noise: Any
    z: Any
    value: Any
    slope: Any


def find_starts(target: Density, arrays: Arrays, many: Sets | None = None, *, at: AtPoints | None = None) -> Mode:
    """Modes with a leading axis of data sets, of length 1 without ``many``; arguments as in `run_nuts`.

    at: The density and its gradient, by default by a program of their own.

    Where there is no mode it is the density's own start, with unit scales. The density of effects that are
    sampled as they are, not in units of their spread, grows without bound as the spread falls to 0, and
    Newton steps follow it there, where no chain comes back from.
    """
    number, size = many.number if many else 1, target.size
    start = np.tile(np.asarray(target.start), (number, 1))
    at = at or slopes(target.potential, arrays, many)
    mode = find_modes(at, start) if size <= MODE_UP_TO else _rough_modes(at, start, target.shared)
    blank = np.broadcast_to(np.eye(size) if size <= MODE_UP_TO else np.ones(size), mode.covariance.shape)
    plain = Mode(start, blank, np.full(number, np.inf), np.zeros(number, dtype=int))
    at_mode = mode.gradient_norm < AT_MODE
    return Mode(*(chosen(at_mode, found, other) for found, other in zip(mode, plain, strict=True)))


def place_chains(
    target: Density,
    arrays: Arrays,
    rngs: Sequence[np.random.Generator],
    chains: int,
    many: Sets | None = None,
    *,
    at: AtPoints | None = None,
) -> Chains:
    """Chains scattered around the modes by the curvature there; a point of no density falls back to the mode."""
    at_points = at or slopes(target.potential, arrays, many)
    mode = find_starts(target, arrays, many, at=at_points)
    covariance = mode.covariance
    if target.size > DENSE_UP_TO:
        root = np.sqrt(covariance if covariance.ndim == 2 else np.diagonal(covariance, axis1=1, axis2=2))
    else:
        root = np.linalg.cholesky(covariance)
    noise = np.stack([rng.standard_normal((chains, target.size)) for rng in rngs])
    points = np.stack([at + stretched(x, of) for at, x, of in zip(mode.at, noise, root, strict=True)])
    points = np.concatenate([points, mode.at[:, None]], axis=1)
    value, slope = at_points(points)
    dead = ~np.isfinite(value[:, :-1])
    for part in (points, value, slope):
        part[:, :-1][dead] = np.broadcast_to(part[:, -1:], part[:, :-1].shape)[dead]
    noise[dead] = 0.0
    return Chains(mode, root, noise, *(part[:, :-1] for part in (points, value, slope)))


#: Distance of the gradients that are compared, in units of a coordinate of size 1 or more: rounding weighs
#: about as much as the gradient's own curvature. On one side of the point, and on both.
ONE_SIDED, TWO_SIDED = np.finfo(float).eps ** (1 / 2), np.finfo(float).eps ** (1 / 3)
#: Smallest and largest second derivative that a scale is taken from.
CURVATURES = 1e-2, 1e6
#: Largest damping: past it a step no longer moves.
MOST_DAMPING = 1e12
#: What may be added to a Hessian that is not positive definite, smallest first.
RIDGES = (0.0, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 1e3, 1e6)


class Mode(NamedTuple):
    """A local maximum of the unconstrained posterior density; of many with a leading axis of data sets.

    at: Where it is.
    covariance: Inverse Hessian of minus the log density there, with a ridge where it is not positive definite; past
        `MODE_UP_TO` the inverse of its diagonal alone, as a vector: of 20,000 effects a matrix has 3 GB.
    gradient_norm: Largest absolute gradient; near 0 when the search converged, infinite where there is no density. Past
        `MODE_UP_TO` of what items share, where the model says what that is: their effects stay where they start.
    steps: Newton steps tried.
    """

    at: Any
    covariance: Any
    gradient_norm: Any
    steps: Any


class _Place(NamedTuple):
    """Points (sets, d), and minus the log density there with its gradient."""

    z: Any
    value: Any
    slope: Any


def find_modes(slopes: AtPoints, start: Any, *, most_steps: int = 100, tolerance: float = 1e-6) -> Mode:
    """Minimise smooth potentials by Levenberg–Marquardt-damped Newton steps.

    The damping grows when a step fails to descend, or when the damped Hessian is not positive definite,
    and shrinks when a step succeeds: safe far from the mode, where the Hessian of a hierarchical model is
    indefinite, and quadratic near it.

    slopes: ``points (sets, B, d) -> values (sets, B), gradients (sets, B, d)``, of 1 or d points; where a point is not
        a number, nothing is asked.
    """
    at = _place(slopes, np.asarray(start, dtype=float))
    curvature = _curvature(slopes, at)
    damping, steps = np.full(len(start), 1e-2), np.zeros(len(start), dtype=int)
    while True:
        going = np.isfinite(at.slope).all(1) & (_norm(at) > tolerance)
        going &= (steps < most_steps) & (damping < MOST_DAMPING)
        if not going.any():
            break
        moves = [
            _newton(*of) if on else np.full(at.z.shape[1], np.nan)
            for on, *of in zip(going, curvature, at.slope, damping, strict=True)
        ]
        tried = _place(slopes, at.z + np.stack(moves))
        better = going & np.isfinite(tried.slope).all(1) & (tried.value < at.value)
        at = _Place(*(chosen(better, new, old) for new, old in zip(tried, at, strict=True)))
        if better.any():  # where all stay, so do their Hessians
            moved = at._replace(z=np.where(better[:, None], at.z, np.nan))
            curvature = chosen(better, _curvature(slopes, moved), curvature)
        damping = np.where(better, np.maximum(damping / 10, 1e-12), np.where(going, damping * 10, damping))
        steps += going
    curvature = _curvature(slopes, at, both_sides=True)
    covariance, sound = zip(*(_inverse(hessian) for hessian in curvature), strict=True)
    norm = np.where(sound & np.isfinite(at.value), _norm(at), np.inf)
    return Mode(at.z, np.stack(covariance), norm, steps)


def _rough_modes(slopes: AtPoints, start: Any, shared: Any) -> Mode:
    """Centres of large posteriors, one after another, with the inverse of the Hessian's diagonal there."""

    def of(k: int) -> Callable[[Any], tuple[Any, Any]]:
        def alone(z: Any) -> tuple[Any, Any]:
            points = np.full((len(start), *z.shape), np.nan)
            points[k] = z
            value, slope = slopes(points)
            return value[k], slope[k]

        return alone

    found = [_rough_mode(of(k), point, np.asarray(shared, dtype=int)) for k, point in enumerate(start)]
    return Mode(*(np.stack(part) for part in zip(*found, strict=True)))


def _rough_mode(slopes: Callable[[Any], tuple[Any, Any]], start: Any, shared: Any) -> Mode:
    """A centre by L-BFGS.

    Where the model says which sites are effects of single items these stay where they start: in the units of
    `models.common.units` at a guess of what the data say of each. What is moved is what items share: the density of
    all together may rise without end with a spread (MT-bench, where an item has two trials).
    """
    moved = shared if len(shared) else np.arange(len(start))

    def one(part: Any) -> tuple[float, Any]:
        z = start.copy()
        z[moved] = part
        value, slope = slopes(z[None])
        return float(np.nan_to_num(value[0], nan=np.inf)), np.nan_to_num(slope[0, moved])

    options: Any = {"maxiter": 500, "maxfun": 600, "ftol": 1e-12}
    found = minimize(one, start[moved], jac=True, method="L-BFGS-B", options=options)
    if not np.isfinite(found.fun):
        return Mode(start, np.ones(len(start)), np.inf, 0)
    at = start.copy()
    at[moved] = found.x
    _, here = slopes(at[None])
    curvature = _diagonal(slopes, at, here[0], shared)
    scale = 1 / np.clip(np.where(np.isfinite(curvature), curvature, 1.0), *CURVATURES)
    return Mode(at, scale, np.abs(here[0, moved]).max(), found.nit)


def _diagonal(slopes: Callable[[Any], tuple[Any, Any]], at: Any, here: Any, shared: Any) -> Any:
    """The Hessian's diagonal: from a gradient a coordinate, or, of many, Hutchinson's estimate.

    A probe v of random signs gives v ∘ Hv, whose mean is the diagonal: of effects, which are nearly independent of
    each other, within some tenths. They are not independent of what they share, which the probes leave where it is:
    of 11,000 effects (MT-bench) some would else be taken for ten times as wide as they are.
    """
    step, size = ONE_SIDED * np.maximum(1.0, np.abs(at)), len(at)
    found, alone = np.empty(size), np.arange(size)
    if size > EXACT_UP_TO:
        signs = np.random.default_rng(0).choice((-1.0, 1.0), size=(PROBES, size))
        alone = shared
        signs[:, alone] = 0.0
        _, above = slopes(at + step * signs)
        found = (signs * (above - here)).mean(0) / step
    for first in range(0, len(alone), COORDINATES):
        which = alone[first : first + COORDINATES]
        off = np.zeros((len(which), size))
        off[np.arange(len(which)), which] = step[which]
        _, above = slopes(at + off)
        found[which] = (above - here)[np.arange(len(which)), which] / step[which]
    return found


def chosen(which: Any, new: Any, old: Any) -> Any:
    """The new values of ``which`` data sets, the old ones of the others; both with a leading axis of sets."""
    return np.where(which.reshape(-1, *[1] * (old.ndim - 1)), new, old)


def _norm(at: _Place) -> Any:
    return np.abs(at.slope).max(1)


def _place(slopes: AtPoints, z: Any) -> _Place:
    value, slope = slopes(z[:, None])
    return _Place(z, value[:, 0], slope[:, 0])


def _curvature(slopes: AtPoints, at: _Place, *, both_sides: bool = False) -> Any:
    """Hessians (sets, d, d) from gradients a little further along every axis, and back or here."""
    here = at.z[:, None]
    step = (TWO_SIDED if both_sides else ONE_SIDED) * np.maximum(1.0, np.abs(here))
    off = step * np.eye(at.z.shape[1])
    above, below = here + off, here - off if both_sides else here
    apart = np.diagonal(above - below, axis1=1, axis2=2)  # as rounded
    _, high = slopes(above)
    low = slopes(below)[1] if both_sides else at.slope[:, None]
    with np.errstate(invalid="ignore", over="ignore"):  # a slope that is not finite: no step comes of it
        curvature = (high - low) / apart[:, :, None]
    return (curvature + curvature.swapaxes(1, 2)) / 2


def _newton(curvature: Any, slope: Any, damping: float) -> Any:
    """A damped Newton step; none where the damped Hessian is not positive definite."""
    factor = cholesky(curvature + damping * np.eye(len(slope)))
    return np.zeros_like(slope) if factor is None else -cho_solve((factor, True), slope)


def _inverse(hessian: Any) -> tuple[Any, bool]:
    """Inverse of the Hessian with the smallest ridge that makes it positive definite; whether one does."""
    identity = np.eye(len(hessian))
    for ridge in RIDGES:
        factor = cholesky(hessian + ridge * identity)
        if factor is not None:
            inverse = cho_solve((factor, True), identity)
            inverse = (inverse + inverse.T) / 2
            if cholesky(inverse) is not None:
                return inverse, True
    return identity, False
