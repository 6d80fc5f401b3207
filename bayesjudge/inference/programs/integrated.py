"""Draws of units' own effects given draws of what the units share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from bayesjudge.inference.programs.density import Arrays, Density
from bayesjudge.model import Data, Marginal

#: Draws at which the lattice's error is looked at.
LOOKED_AT = 100


@dataclass(frozen=True, eq=False, kw_only=True)
class Posterior:
    """A density, its data, and these on the device."""

    target: Density
    data: Data
    arrays: Arrays


_PROGRAMS: dict[tuple[Any, ...], Any] = {}


def completed(marginal: Marginal, shared: Posterior, whole: Posterior, flat: Any, rng: np.random.Generator) -> Any:
    """Draws (chains, draws, d) of all unknowns, from those of what units share.

    The lattice of every draw is shifted by a part of a step of its own: draws from its nodes are then draws from the
    density itself.
    """
    effects = _effects(marginal, shared, whole)
    places, shapes = whole.target.unravel(np.arange(whole.target.size)), marginal.lots(shared.data)
    points = flat.reshape(-1, flat.shape[-1])
    found = np.empty((len(points), whole.target.size))
    for name, at in shared.target.unravel(np.arange(shared.target.size)).items():
        found[:, places[name].ravel()] = points[:, np.ravel(at)]
    for draw, point in enumerate(points):
        lots = {name: rng.random(shape) for name, shape in shapes.items()}
        arrays = {**shared.arrays, "shift": rng.random() - 0.5}
        for name, values in effects(point, arrays, whole.arrays, lots).items():
            found[draw, places[name].ravel()] = np.ravel(values)
    return found.reshape(*flat.shape[:-1], -1)


def largest_error(shared: Posterior, flat: Any, lp: Any, rng: np.random.Generator) -> float:
    """How much the log density differs at draws, where the lattice is shifted: how badly it is known."""
    points, known = flat.reshape(-1, flat.shape[-1]), lp.reshape(-1)
    density, worst = jax.jit(shared.target.potential), 0.0
    for draw in np.linspace(0, len(points) - 1, min(LOOKED_AT, len(points))).astype(int):
        value = -density(points[draw], {**shared.arrays, "shift": rng.random() - 0.5})
        worst = max(worst, abs(float(value) - known[draw]))
    return worst


def _effects(marginal: Marginal, shared: Posterior, whole: Posterior) -> Any:
    key = (shared.target, whole.target)
    if key not in _PROGRAMS:

        def effects(point: Any, arrays: Arrays, everything: Arrays, lots: Any) -> Any:
            values = shared.target.constrain(point, arrays)
            return marginal.effects(values, shared.data.with_arrays(arrays), whole.data.with_arrays(everything), lots)

        _PROGRAMS[key] = jax.jit(effects)
    return _PROGRAMS[key]
