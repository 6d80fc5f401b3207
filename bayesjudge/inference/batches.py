"""Data sets of one shape side by side: as many in a program as suit the device, on all processors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from bayesjudge.inference.engines.base import Engine, SideBySide
from bayesjudge.inference.engines.hmc import run_from
from bayesjudge.inference.programs import accelerator
from bayesjudge.inference.programs.density import Density, Sets, density
from bayesjudge.inference.programs.progress import Report, shared
from bayesjudge.inference.programs.stacks import Stack, placed
from bayesjudge.maths.one_thread import one_thread
from bayesjudge.model import Model

#: Data sets that share a program on a CPU. More at once run no faster there, and every number of data sets
#: would be a program of its own.
TOGETHER = 16


@dataclass(frozen=True, eq=False, kw_only=True)
class Batch:
    """Data sets of one shape; plain values, so that they can travel to another process.

    stack: The data sets.
    numbers: Their positions in the list of all: data set i has the key ``fold_in(key(seed), i)``.
    together: Data sets in one program.
    """

    model: Model
    engine: SideBySide
    stack: Stack
    numbers: tuple[int, ...]
    together: int
    seed: int
    mesh: Any = None


def together(mesh: Any) -> int | None:
    """Data sets in one program: a few on a CPU, all of them (None) elsewhere."""
    return TOGETHER if mesh is None and jax.default_backend() == "cpu" else None


def fit_batch(job: Batch, report: Report | None = None) -> tuple[Any, dict[str, Any]]:
    """Draws (sets, chains, draws, d) and statistics of one batch."""
    accelerator.prepare()
    accelerator.release_when_many()
    parts = list(_parts(job))
    jobs = list(zip(parts, shared(report, len(parts)), strict=True))
    # The first alone: it compiles what the others share. Each runs on one processor, so they run on all.
    with one_thread(), ThreadPoolExecutor(max_workers=_processors()) as pool:
        found = [_drawn(job, *jobs[0])]
        found += pool.map(lambda one: _drawn(job, *one), jobs[1:])
    number = len(job.numbers)
    flat = np.concatenate([flat for flat, _ in found])[:number]
    return flat, {name: np.concatenate([stats[name] for _, stats in found])[:number] for name in found[0][1]}


def chains_from(job: Batch, kernel: Engine, points: Any) -> Any:
    """Chains (sets, chains, draws, d) that start at ``points`` (sets, d); see `hmc.run_from`."""
    accelerator.prepare()
    found = [run_from(*part.of, kernel, many=part.sets, points=points[part.chosen]).flat for part in _parts(job)]
    return np.concatenate(found)[: len(job.numbers)]


@dataclass(frozen=True, eq=False, kw_only=True)
class _Part:
    """Data sets that run in one program: their indices, how they are stacked, and what a sampler takes."""

    chosen: Any
    sets: Sets
    of: tuple[Density, dict[str, Any], Any]


def _parts(job: Batch) -> Iterator[_Part]:
    """Parts of equal size; the last is filled up with what is in it, and the results of that are cut off."""
    target, size = density(job.model, job.stack.first), job.together
    key = jax.random.key(job.seed)
    for k in range(0, len(job.numbers), size):
        index = np.resize(np.arange(len(job.numbers))[k : k + size], size)
        sets, arrays = job.stack.part(index)
        keys = jax.vmap(jax.random.fold_in, in_axes=(None, 0))(key, np.array(job.numbers)[index])
        yield _Part(chosen=index, sets=sets, of=(target, placed(arrays, sets, job.mesh), keys))


def _processors() -> int:
    """Those this process may use, where the operating system tells."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _drawn(job: Batch, part: _Part, report: Report | None) -> tuple[Any, dict[str, Any]]:
    drawn = job.engine.draw_many(*part.of, many=part.sets, report=report)
    return np.asarray(drawn.flat), {name: np.asarray(values) for name, values in drawn.stats.items()}
