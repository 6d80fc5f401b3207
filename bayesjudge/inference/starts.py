"""Where every engine starts, and on which scale: at the mode of each posterior, by one program for all."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from bayesjudge.inference.density import Arrays, Density, Sets
from bayesjudge.inference.mode import Mode, find_mode

__all__ = ["find_start", "find_starts"]

#: Dimensions up to which a mode is searched for: its Hessian costs as many gradients a step.
MODE_UP_TO = 500
#: Largest gradient of what may pass for a mode. A search that ran away stops at millions.
SETTLED = 1.0
_PROGRAMS: dict[tuple[Any, ...], Any] = {}


def find_starts(target: Density, arrays: Arrays, many: Sets | None = None) -> Mode:
    """Start of one posterior, or of many with a leading axis of data sets.

    Compiled once for each posterior in a process, so that an engine that falls back to another, or samples
    again with more care, need not compile the search again. Arguments as in `run_nuts`.
    """
    kept = (id(target), many)
    if kept not in _PROGRAMS:
        _PROGRAMS[kept] = jax.jit(partial(_starts, target, many))
    found: Mode = _PROGRAMS[kept](arrays)
    return found


def _starts(target: Density, many: Sets | None, arrays: Arrays) -> Mode:
    def one(arrays: Arrays) -> Mode:
        return find_start(lambda z: target.potential(z, arrays), target.start)

    if many is None:
        return one(arrays)
    if jax.default_backend() != "cpu" or jax.device_count() > 1:
        together: Mode = jax.vmap(one, in_axes=(many.axes,))(arrays)
        return together
    # One after the other on a CPU: searches need not wait for the longest, and less is compiled.
    stacked = {name: arrays[name] for name in sorted(many.stacked)}
    each: Mode = jax.lax.map(lambda own: one({**arrays, **own}), stacked)
    return each


def find_start(potential: Callable[[Any], Any], start: Any) -> Mode:
    """The mode, or ``start`` with unit scales where there is none.

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
