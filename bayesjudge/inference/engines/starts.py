"""Where every engine starts, and on which scale: at the mode of each posterior."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bayesjudge.inference.engines.mode import Mode, chosen, find_modes
from bayesjudge.inference.programs.at_points import slopes
from bayesjudge.inference.programs.density import Arrays, Density, Sets

__all__ = ["Chains", "find_starts", "place_chains"]

#: Dimensions up to which a mode is searched for: its Hessian costs as many gradients a step.
MODE_UP_TO = 500
#: Largest gradient of what may pass for a mode. A search that ran away stops at millions.
SETTLED = 1.0


class Chains(NamedTuple):
    """Where the chains of data sets start.

    Attributes
    ----------
    mode : Mode
        What they are scattered around, with a leading axis of data sets.
    z : array (sets, chains, d)
        Their starting points.
    value : array (sets, chains)
        Minus the log density there.
    slope : array (sets, chains, d)
        Its gradient.
    """

    mode: Mode
    z: Any
    value: Any
    slope: Any


def find_starts(target: Density, arrays: Arrays, many: Sets | None = None) -> Mode:
    """Modes with a leading axis of data sets, of length 1 without ``many``; arguments as in `run_nuts`.

    Where there is no mode it is the density's own start, with unit scales. The density of effects that are
    sampled as they are, not in units of their spread, grows without bound as the spread falls to 0, and
    Newton steps follow it there, where no chain comes back from.

    Examples
    --------
    >>> from bayesjudge.datasets import simulate_verdicts
    >>> from bayesjudge.inference.programs.density import density
    >>> from bayesjudge.models.judge_error import JudgeError
    >>> model = JudgeError(pooling="shared")
    >>> data = model.prepare(simulate_verdicts(seed=1).verdicts)
    >>> mode = find_starts(density(model, data), data.arrays)
    >>> mode.at.shape, bool(mode.gradient_norm < 1e-6)
    ((1, 4), True)
    """
    number, size = many.number if many else 1, target.size
    start = np.tile(np.asarray(target.start), (number, 1))
    blank = np.tile(np.eye(size), (number, 1, 1))
    plain = Mode(start, blank, np.full(number, np.inf), np.zeros(number, dtype=int))
    if size > MODE_UP_TO:
        return plain
    mode = find_modes(slopes(target.potential, arrays, many), start)
    settled = mode.gradient_norm < SETTLED
    return Mode(*(chosen(settled, found, other) for found, other in zip(mode, plain, strict=True)))


def place_chains(
    target: Density, arrays: Arrays, rng: np.random.Generator, chains: int, many: Sets | None = None
) -> Chains:
    """Chains scattered around the modes by the curvature there; a point of no density falls back to the mode.

    Parameters
    ----------
    target, arrays, many
        As in `run_nuts`.
    rng : numpy Generator
        Where they are scattered.
    chains : int
        Of each data set.
    """
    mode = find_starts(target, arrays, many)
    noise = rng.standard_normal((len(mode.at), chains, target.size))
    if target.size <= MODE_UP_TO:
        noise @= np.linalg.cholesky(mode.covariance).swapaxes(1, 2)
    points = np.concatenate([mode.at[:, None] + noise, mode.at[:, None]], axis=1)
    value, slope = slopes(target.potential, arrays, many)(points)
    dead = ~np.isfinite(value[:, :-1])
    for part in (points, value, slope):
        part[:, :-1][dead] = np.broadcast_to(part[:, -1:], part[:, :-1].shape)[dead]
    return Chains(mode, *(part[:, :-1] for part in (points, value, slope)))
