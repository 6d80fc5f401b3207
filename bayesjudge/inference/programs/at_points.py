"""A density and its gradient at points that the host chooses: one compiled program for all engines.

Modes are searched for, chains placed and proposals drawn in NumPy, and only the density is compiled: a random
call in a program took .2 to 1.7 seconds to compile, a search for modes with exact second derivatives five.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bayesjudge.inference.programs.density import Arrays, Sets
from bayesjudge.maths.each_draw import each_draw

type AtPoints = Callable[[Any], tuple[Any, Any]]
type Potential = Callable[[Any, Arrays], Any]

#: Points of a call: one by one on a CPU, where what a block is filled up with costs its copying alone, which is why
#: blocks have so many numbers at most; elsewhere all together, so that few and many are programs of their own.
BLOCK, NUMBERS, FEW, TOGETHER = 256, 20_000, 8, 1000
_PROGRAMS: dict[tuple[Any, ...], Any] = {}


def apart(arrays: Arrays, many: Sets | None) -> list[tuple[Arrays, Sets | None]]:
    """Data sets as Laplace's draws are made of them: one after the other on a CPU, all together elsewhere.

    On a CPU none waits for the longest search then, and the programs are those of a single data set.
    """
    if many is None or not _one_by_one():
        return [(arrays, many)]
    stacked = {name: np.asarray(arrays[name]) for name in sorted(many.stacked)}
    return [
        ({**arrays, **jax.device_put({name: a[k] for name, a in stacked.items()})}, None) for k in range(many.number)
    ]


def slopes(potential: Potential, arrays: Arrays, many: Sets | None = None) -> AtPoints:
    """Minus the log density and its gradient, ``(sets, B, d) -> (sets, B), (sets, B, d)``; one set without ``many``.

    Any number of points goes through one program. At a point that is not finite both are not numbers, and on
    a CPU cost nothing: so blocks are filled up, and so data sets are left out.
    """
    kept = (potential, many, _one_by_one())
    if kept not in _PROGRAMS:
        each = partial(_each, potential)
        _PROGRAMS[kept] = jax.jit(partial(_of_sets, each, many) if many else each)
    program = _PROGRAMS[kept]

    def computed(points: Any) -> Any:
        found = program(beside(points, arrays) if many else points[0], arrays)
        return jax.tree.map(lambda part: np.asarray(part) if many else np.asarray(part)[None], found)

    def in_blocks(points: Any) -> tuple[Any, Any]:
        number, copied = points.shape[1], NUMBERS // points.shape[2]
        size = max(FEW, min(BLOCK, copied)) if _one_by_one() else TOGETHER if number >= TOGETHER else FEW
        full = np.pad(points, ((0, 0), (0, -number % size), (0, 0)), constant_values=np.nan)
        parts = zip(*(computed(full[:, k : k + size]) for k in range(0, number, size)), strict=True)
        value, slope = (np.concatenate(part, axis=1)[:, :number] for part in parts)
        return value, slope

    return in_blocks


def _of_sets(each: Potential, many: Sets, points: Any, arrays: Arrays) -> Any:
    """Points of every data set: one set after the other on a CPU, so that one left out takes no time."""
    if not _one_by_one():
        return jax.vmap(each, in_axes=(0, many.axes))(points, arrays)
    stacked = {name: arrays[name] for name in sorted(many.stacked)}
    return jax.lax.map(lambda of: each(of[0], {**arrays, **of[1]}), (points, stacked))


def _one_by_one() -> bool:
    return jax.default_backend() == "cpu" and jax.device_count() == 1


def _each(potential: Potential, points: Any, arrays: Arrays) -> Any:
    """Value and gradient, neither of which is computed at a point that is not finite."""
    gradient = jax.value_and_grad(potential)

    def found(point: Any) -> Any:
        nothing = jnp.full((), jnp.nan, point.dtype), jnp.full_like(point, jnp.nan)
        return jax.lax.cond(jnp.isfinite(point).all(), lambda: gradient(point, arrays), lambda: nothing)

    return each_draw(found, points, most=TOGETHER)


def beside(values: Any, arrays: Arrays) -> Any:
    """Values with a leading axis of data sets, on the devices among which the arrays' sets are split."""
    from jax.sharding import NamedSharding, PartitionSpec

    for array in arrays.values():
        sharding = getattr(array, "sharding", None)
        if isinstance(sharding, NamedSharding) and any(sharding.spec):
            return jax.device_put(values, NamedSharding(sharding.mesh, PartitionSpec(sharding.spec[0])))
    return values


def stream(key: Any, *numbers: int) -> np.random.Generator:
    """Random numbers for the host from a JAX key; other ``numbers`` give another stream."""
    words = np.asarray(jax.random.key_data(key)).tolist()
    return np.random.default_rng(np.random.SeedSequence(words, spawn_key=numbers))
