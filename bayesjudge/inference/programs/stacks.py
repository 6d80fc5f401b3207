"""Data sets of one model brought to one shape and stacked, so that one program runs them side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from bayesjudge.errors import UsageError
from bayesjudge.inference.programs import accelerator
from bayesjudge.inference.programs.density import Sets
from bayesjudge.model import Data


@dataclass(frozen=True, eq=False, kw_only=True)
class Stack:
    """Arrays of many data sets.

    first: One of them, padded to the common shape.
    arrays: Those that differ have a leading axis of data sets, the others are there once.
    differing: Which these are.
    """

    first: Data
    arrays: dict[str, Any]
    differing: frozenset[str]

    def part(self, chosen: Any) -> tuple[Sets, dict[str, Any]]:
        """Arrays of the data sets at these indices, and how they are stacked."""
        arrays = {name: a[chosen] if name in self.differing else a for name, a in self.arrays.items()}
        return Sets(number=len(chosen), names=tuple(sorted(arrays)), stacked=self.differing), arrays

    def take(self, chosen: Any) -> Stack:
        """Some of the data sets, in a stack of the same shape."""
        return replace(self, arrays=self.part(chosen)[1])


def stack(batch: Sequence[Data]) -> Stack:
    """Data sets padded along their ragged axes to the longest among them, and stacked."""
    padded = _same_shape(batch)
    first = padded[0].arrays
    same = {name for name, a in first.items() if all(np.array_equal(a, data.arrays[name]) for data in padded[1:])}
    differing = frozenset(first) - same or frozenset(first)
    arrays = {
        name: np.stack([data.arrays[name] for data in padded]) if name in differing else a for name, a in first.items()
    }
    return Stack(first=padded[0], arrays=arrays, differing=differing)


def placed(arrays: dict[str, Any], sets: Sets, mesh: Any) -> dict[str, Any]:
    """On the device; or stacked arrays split over a mesh's first axis and shared ones on every device of it.

    The number of data sets must be a multiple of the number of devices.
    """
    if mesh is None:
        return accelerator.to_device(arrays)
    from jax.sharding import NamedSharding, PartitionSpec

    axis = mesh.axis_names[0]
    devices = mesh.shape[axis]
    if sets.number % devices:
        raise UsageError(f"{sets.number} data sets do not split over {devices} devices; choose batch= as a multiple")
    specs = {name: PartitionSpec(axis) if name in sets.stacked else PartitionSpec() for name in arrays}
    return {name: jax.device_put(a, NamedSharding(mesh, specs[name])) for name, a in arrays.items()}


def _same_shape(batch: Sequence[Data]) -> list[Data]:
    out = list(batch)
    for dim in batch[0].ragged:
        longest = max(data.size(dim) for data in out)
        out = [data.padded(dim, longest) for data in out]
    return [replace(data, arrays={name: np.asarray(a) for name, a in data.arrays.items()}) for data in out]
