"""One batch of data sets in one program: stacked, placed on the device, sampled, and again with more care."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from bayesjudge.errors import UsageError
from bayesjudge.inference import accelerator, compiled_programs
from bayesjudge.inference.density import Sets, density
from bayesjudge.inference.hmc import run_from, run_hmc
from bayesjudge.inference.laplace import run_laplace
from bayesjudge.inference.nuts import CAREFUL, Draws, NutsOptions, run_nuts
from bayesjudge.model import Data, Model

__all__ = ["SAMPLERS", "Batch", "chains_from", "fit_batch"]

SAMPLERS: dict[str, Callable[..., Draws]] = {"hmc": run_hmc, "nuts": run_nuts}


@dataclass(frozen=True, eq=False, kw_only=True)
class Batch:
    """Data sets of one shape that share a program; plain values, so that it can travel to another process."""

    model: Model
    data: Sequence[Data]
    engine: str
    options: NutsOptions
    seed: int
    repeat: bool
    mesh: Any


def fit_batch(job: Batch, report: Callable[[int, int], None] | None = None) -> tuple[Any, dict[str, Any]]:
    """Draws (sets, chains, draws, d) and statistics of one batch of equal shape."""
    accelerator.prepare()
    compiled_programs.release_when_many()
    padded, options = _same_shape(job.data), job.options
    sets, arrays = _stack(padded)
    placed = accelerator.to_device(arrays) if job.mesh is None else _shard(arrays, sets, job.mesh)
    target, key = density(job.model, padded[0]), jax.random.key(job.seed)
    if job.engine in SAMPLERS:
        drawn = SAMPLERS[job.engine](target, placed, key, options, many=sets, report=report)
        return _repeated(job, np.array(drawn.flat), drawn.stats)
    total = options.chains * options.draws
    weighted = run_laplace(target, placed, key, draws=total, many=sets)
    shape = (len(job.data), options.chains, options.draws)
    figures = {"pareto_k": weighted.pareto_k, "importance_ess": weighted.ess}
    stats = {name: np.broadcast_to(np.asarray(v)[:, None, None], shape) for name, v in figures.items()}
    return np.asarray(weighted.flat).reshape(*shape, -1), stats


def chains_from(job: Batch, points: Any) -> Any:
    """Chains (sets, chains, draws, d) that start at ``points`` (sets, d); see `hmc.run_from`."""
    accelerator.prepare()
    padded = _same_shape(job.data)
    sets, arrays = _stack(padded)
    target, key = density(job.model, padded[0]), jax.random.key(job.seed)
    placed = accelerator.to_device(arrays)
    return np.asarray(run_from(target, placed, key, job.options, many=sets, points=points).flat)


def _repeated(job: Batch, flat: Any, stats: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Results in which the data sets whose chains diverged have been sampled again, with shorter steps."""
    diverged = np.flatnonzero(np.asarray(stats["diverging"]).any(axis=(1, 2)))
    if not (job.repeat and len(diverged)) or job.options.target_accept >= CAREFUL:
        return flat, stats
    careful = replace(job.options, target_accept=CAREFUL)
    # On a mesh the number of data sets must stay what it was, a multiple of the devices.
    again = np.arange(len(flat)) if job.mesh is not None else _rounded_up(diverged, len(flat))
    chosen = [_same_shape(job.data)[k] for k in again]
    new_flat, new_stats = fit_batch(replace(job, data=chosen, options=careful, seed=job.seed + 1))
    taken = [int(np.flatnonzero(again == k)[0]) for k in diverged]
    flat[diverged] = new_flat[taken]
    kept = {name: np.array(values) for name, values in stats.items()}
    for name, values in kept.items():
        values[diverged] = np.asarray(new_stats[name])[taken]
    return flat, kept


def _rounded_up(chosen: Any, most: int) -> Any:
    """The chosen data sets and some once more, a power of two in all: few sizes, so few programs."""
    size = min(1 << (len(chosen) - 1).bit_length(), most)
    return np.resize(chosen, size)


def _same_shape(batch: Sequence[Data]) -> list[Data]:
    """The data sets padded along their ragged axes to the longest among them."""
    out = list(batch)
    for dim in batch[0].ragged:
        longest = max(data.size(dim) for data in out)
        out = [data.padded(dim, longest) for data in out]
    return [replace(data, arrays={name: np.asarray(a) for name, a in data.arrays.items()}) for data in out]


def _stack(batch: Sequence[Data]) -> tuple[Sets, dict[str, Any]]:
    """Arrays that differ between data sets stacked along a new first axis; the others once."""
    first = batch[0].arrays
    same = {
        name for name, a in first.items() if all(np.array_equal(a, data.arrays[name]) for data in batch[1:])
    }
    stacked = frozenset(first) - same or frozenset(first)
    arrays = {name: np.stack([data.arrays[name] for data in batch]) if name in stacked else a
              for name, a in first.items()}  # fmt: skip
    return Sets(number=len(batch), names=tuple(sorted(first)), stacked=stacked), arrays


def _shard(arrays: dict[str, Any], sets: Sets, mesh: Any) -> dict[str, Any]:
    """Stacked arrays split over the mesh's first axis by data set, shared ones on every device.

    The number of data sets must be a multiple of the number of devices.
    """
    from jax.sharding import NamedSharding, PartitionSpec

    axis = mesh.axis_names[0]
    devices = mesh.shape[axis]
    if sets.number % devices:
        raise UsageError(
            f"{sets.number} data sets do not split over {devices} devices; choose batch= as a multiple"
        )
    specs = {name: PartitionSpec(axis) if name in sets.stacked else PartitionSpec() for name in arrays}
    return {name: jax.device_put(a, NamedSharding(mesh, specs[name])) for name, a in arrays.items()}
