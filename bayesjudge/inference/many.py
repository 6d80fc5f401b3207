"""`fit_many`: thousands of posteriors of one model in vectorised programs.

Simulation studies, calibration and one-judge-at-a-time analyses fit the same density to many data sets
of one shape. They run side by side under ``vmap``: all of them on an accelerator or over a device mesh, some
at a time on each processor of a CPU, or batch by batch on any `concurrent.futures.Executor`.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import xarray as xr

from bayesjudge.errors import UsageError
from bayesjudge.estimates import Estimates
from bayesjudge.inference.batches import Batch, fit_batch
from bayesjudge.inference.engines import Engine, engine_of
from bayesjudge.inference.engines.base import SideBySide
from bayesjudge.inference.gate import Gate, gate_of
from bayesjudge.inference.programs.density import density
from bayesjudge.inference.programs.progress import Report, bar, shared
from bayesjudge.inference.tree import posterior_dataset
from bayesjudge.model import Data, Model

__all__ = ["ManyFits", "fit_many"]

#: Draws, and warm-up draws, of each chain of an engine that is named.
DRAWS = 500


@dataclass(frozen=True, eq=False, kw_only=True)
class ManyFits:
    """Posteriors of one model for many data sets, in the order they were given.

    Attributes
    ----------
    model : Model
        What was fitted.
    data : tuple of Data
        What to.
    flat : tuple of array (chains, draws, d)
        Unconstrained draws of each data set.
    stats : tuple of dict
        Sampler statistics of each, arrays (chains, draws).
    """

    model: Model
    data: tuple[Data, ...]
    flat: tuple[Any, ...]
    stats: tuple[dict[str, Any], ...]

    def __len__(self) -> int:
        return len(self.data)

    def posterior(self, index: int) -> xr.Dataset:
        """Posterior of one data set, dims ``chain, draw, ...``."""
        data = self.data[index]
        return posterior_dataset(density(self.model, data), data, self.flat[index])

    def gate(self, index: int) -> Gate:
        """Convergence gate of one data set."""
        stats = xr.Dataset({name: (("chain", "draw"), v) for name, v in self.stats[index].items()})
        return gate_of(self.posterior(index), stats)

    def estimates(self, *, prob: float = 0.95) -> tuple[Estimates, ...]:
        """Estimates of every data set, with a note where its gate failed."""
        return tuple(
            self.model.estimates(self.posterior(k), self.data[k], prob=prob).with_note(self.gate(k).note)
            for k in range(len(self))
        )


def fit_many(
    model: Model, tables: Sequence[Any], *, engine: Engine | str = "hmc", seed: int = 0,
    progress: bool = False, repeat: bool = True, batch: int | None = None, mesh: Any = None,
    executor: Executor | None = None,
) -> ManyFits:  # fmt: skip
    """Fit one model to many tables at once.

    Parameters
    ----------
    model : Model
        Any generative model of the protocol.
    tables : sequence
        Tables, counts or `Data`. Data sets whose facts agree are padded to one shape and share a program.
    engine : Hmc, Nuts or Laplace, or one of "hmc", "nuts", "laplace"
        Jittered HMC in lock step (the default: see `engines.hmc` for why), NUTS, or importance-weighted
        Laplace; a name stands for the engine with 500 draws and 500 warm-up draws of each chain. Check the
        gate of each posterior: nothing falls back to another engine here.
    seed : int
        Equal seeds give equal draws on one kind of device.
    progress : bool
        Show a progress bar on standard error.
    repeat : bool
        Run the posteriors that had divergent transitions once more, with the shorter steps that `fit` takes
        then; the second run is kept.
    batch : int, optional
        Posteriors padded to one shape, and run on one worker of an executor; default all that can be. An
        accelerator runs them all in one program, a CPU ``batches.TOGETHER`` at a time.
    mesh : jax.sharding.Mesh, optional
        Split the data sets of each batch over the mesh's first axis.
    executor : concurrent.futures.Executor, optional
        Run batches on it; any executor will do, a Dask client's among them.

    Returns
    -------
    ManyFits

    Examples
    --------
    >>> from bayesjudge.datasets import simulate_counts
    >>> from bayesjudge.models.judge_error import JudgeError
    >>> fits = fit_many(JudgeError(pooling="shared"), simulate_counts(datasets=3, seed=1), engine="laplace")
    >>> len(fits), fits.posterior(0)["theta"].shape
    (3, (4, 500, 2))
    """
    chosen = engine_of(engine, draws=DRAWS, tune=DRAWS)
    if not isinstance(chosen, SideBySide):
        raise UsageError(f"engine={chosen.name!r} is not one of hmc, nuts, laplace (fit_many runs no others)")
    prepared = [table if isinstance(table, Data) else model.prepare(table) for table in tables]
    flat: list[Any] = [None] * len(prepared)
    stats: list[Any] = [None] * len(prepared)
    parts = _batches(prepared, batch)
    common: dict[str, Any] = {"model": model, "engine": chosen, "repeat": repeat}
    jobs = [Batch(data=[prepared[i] for i in part], seed=seed + 7919 * k, mesh=mesh, **common)
            for k, part in enumerate(parts)]  # fmt: skip
    shown = bar(f"{model.label}: {len(prepared)} posteriors") if progress else nullcontext()
    with shown as report:
        results = _run(jobs, executor, report)
    for part, (many_flat, many_stats) in zip(parts, results, strict=True):
        for position, index in enumerate(part):
            flat[index] = many_flat[position]
            stats[index] = {name: values[position] for name, values in many_stats.items()}
    return ManyFits(model=model, data=tuple(prepared), flat=tuple(flat), stats=tuple(stats))


def _run(jobs: list[Batch], executor: Executor | None, report: Report | None) -> list[Any]:
    if executor is not None:
        return list(executor.map(fit_batch, jobs))
    return [fit_batch(job, part) for job, part in zip(jobs, shared(report, len(jobs)), strict=True)]


def _batches(prepared: Sequence[Data], batch: int | None) -> list[list[int]]:
    """Indices of data sets that can share a program: equal facts and axes, at most ``batch`` together."""
    shapes: dict[Any, list[int]] = {}
    for index, data in enumerate(prepared):
        fixed = tuple(
            sorted((dim, len(labels)) for dim, labels in data.coords.items() if dim not in data.ragged)
        )
        shapes.setdefault((fixed, tuple(sorted(data.facts.items()))), []).append(index)
    size = batch or len(prepared)
    return [group[k : k + size] for group in shapes.values() for k in range(0, len(group), size)]
