"""One batch of data sets: sampled side by side, as many at a time as suit the device, and again with care."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from bayesjudge.inference.engines.base import SideBySide
from bayesjudge.inference.engines.hmc import run_from
from bayesjudge.inference.programs import accelerator, compiled_programs
from bayesjudge.inference.programs.density import Density, Sets, density
from bayesjudge.inference.programs.progress import Report, shared
from bayesjudge.inference.programs.stacks import Stack, placed, stack
from bayesjudge.model import Data, Model

__all__ = ["TOGETHER", "Batch", "chains_from", "fit_batch"]

#: Data sets that share a program on a CPU. More at once run no faster there, and every number of data sets
#: would be a program of its own.
TOGETHER = 16


@dataclass(frozen=True, eq=False, kw_only=True)
class Batch:
    """Data sets to be brought to one shape; plain values, so that it can travel to another process."""

    model: Model
    data: Sequence[Data]
    engine: SideBySide
    seed: int
    repeat: bool
    mesh: Any

    @property
    def together(self) -> int:
        """Data sets in one program: a few on a CPU, all of them elsewhere."""
        alone = self.mesh is None and jax.default_backend() == "cpu"
        return min(len(self.data), TOGETHER) if alone else len(self.data)


def fit_batch(job: Batch, report: Report | None = None) -> tuple[Any, dict[str, Any]]:
    """Draws (sets, chains, draws, d) and statistics of one batch of equal shape."""
    accelerator.prepare()
    compiled_programs.release_when_many()
    whole = stack(job.data)
    flat, stats = _sampled(job, whole, np.arange(len(job.data)), job.together, report)
    return _repeated(job, whole, flat, stats) if job.repeat and "diverging" in stats else (flat, stats)


def chains_from(job: Batch, points: Any) -> Any:
    """Chains (sets, chains, draws, d) of `Hmc` that start at ``points`` (sets, d); see `hmc.run_from`."""
    accelerator.prepare()
    parts = _parts(job, stack(job.data), np.arange(len(job.data)), job.together)
    found = [run_from(*part.of, job.engine, many=part.sets, points=points[part.chosen]).flat
             for part in parts]  # fmt: skip
    return np.concatenate(found)[: len(job.data)]


def _repeated(job: Batch, whole: Stack, flat: Any, stats: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Results in which the data sets whose chains diverged have been sampled again, with shorter steps."""
    diverged, engine = np.flatnonzero(np.asarray(stats["diverging"]).any(axis=(1, 2))), job.engine.careful
    if not len(diverged) or engine is None:
        return flat, stats
    careful = replace(job, engine=engine, seed=job.seed + 1)
    new_flat, new_stats = _sampled(careful, whole, diverged, _again(job, len(diverged)), None)
    flat = flat.copy()
    flat[diverged] = new_flat
    kept = {name: values.copy() for name, values in stats.items()}
    for name, values in kept.items():
        values[diverged] = new_stats[name]
    return flat, kept


def _again(job: Batch, diverged: int) -> int:
    """Data sets in a program of the second run: as many as in the first, so that nothing is compiled.

    Where that is a large batch a power of two will do: few sizes, so few programs. On a mesh the number must
    stay a multiple of the devices.
    """
    if job.mesh is not None or job.together < len(job.data) or job.together <= TOGETHER:
        return job.together
    return min(1 << (diverged - 1).bit_length(), job.together)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Part:
    """Data sets that run in one program: their indices, how they are stacked, and what a sampler takes."""

    chosen: Any
    sets: Sets
    of: tuple[Density, dict[str, Any], Any]


def _parts(job: Batch, whole: Stack, chosen: Any, size: int) -> Iterator[_Part]:
    """Parts of equal size; the last is filled up with what is in it, and the results of that are cut off."""
    target = density(job.model, whole.first)
    pieces = [chosen[k : k + size] for k in range(0, len(chosen), size)]
    for piece, key in zip(pieces, jax.random.split(jax.random.key(job.seed), len(pieces)), strict=True):
        index = np.resize(piece, size)
        sets, arrays = whole.part(index)
        yield _Part(chosen=index, sets=sets, of=(target, placed(arrays, sets, job.mesh), key))


def _sampled(
    job: Batch, whole: Stack, chosen: Any, size: int, report: Report | None
) -> tuple[Any, dict[str, Any]]:
    """Draws and statistics of the chosen data sets, ``size`` of them in a program."""
    parts = list(_parts(job, whole, chosen, size))
    jobs = list(zip(parts, shared(report, len(parts)), strict=True))
    # The first alone: it compiles what the others share. Each runs on one processor, so they run on all.
    found = [_drawn(job, *jobs[0])]
    with ThreadPoolExecutor(max_workers=_processors()) as pool:
        found += pool.map(lambda one: _drawn(job, *one), jobs[1:])
    flat = np.concatenate([flat for flat, _ in found])[: len(chosen)]
    stats = {name: np.concatenate([stats[name] for _, stats in found])[: len(chosen)] for name in found[0][1]}
    return flat, stats


def _processors() -> int:
    """Those this process may use, where the operating system tells."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _drawn(job: Batch, part: _Part, report: Report | None) -> tuple[Any, dict[str, Any]]:
    drawn = job.engine.draw_many(*part.of, many=part.sets, report=report)
    return np.asarray(drawn.flat), {name: np.asarray(values) for name, values in drawn.stats.items()}
