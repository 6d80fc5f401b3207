"""`fit`: one model, one table, one posterior, with everything needed to judge it and to find it again."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
import xarray as xr

from bayesjudge.errors import UsageError
from bayesjudge.estimates import Estimates
from bayesjudge.inference import tree
from bayesjudge.inference.batches import Batch, fit_batch
from bayesjudge.inference.engines.laplace import run_laplace
from bayesjudge.inference.engines.nuts import CAREFUL, Draws, NutsOptions, run_nuts
from bayesjudge.inference.engines.pymc import run_pymc
from bayesjudge.inference.gate import MOST_PARETO_K, Gate, gate_of
from bayesjudge.inference.programs import accelerator, compiled_programs
from bayesjudge.inference.programs.density import Density, density
from bayesjudge.inference.programs.progress import Report, bar
from bayesjudge.inference.storage import write_tree
from bayesjudge.model import Data, Describes, Model

__all__ = ["ENGINES", "Fit", "LaplaceFallbackWarning", "fit"]

ENGINES = ("nuts", "hmc", "laplace", "pymc")


class LaplaceFallbackWarning(UserWarning):
    """The Laplace approximation was not good enough and NUTS was run instead."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Fit:
    """A fitted model.

    Attributes
    ----------
    model : Model
        What was fitted.
    data : Data
        What it was fitted to.
    tree : xarray.DataTree
        ArviZ tree: posterior, sample_stats, log_likelihood, log_prior, posterior_predictive, prior,
        prior_predictive, observed_data, constant_data.
    gate : Gate
        Whether the draws may be read as the posterior.
    """

    model: Model
    data: Data
    tree: xr.DataTree
    gate: Gate

    @property
    def manifest(self) -> dict[str, Any]:
        """Versions, seed, engine, options and data hash."""
        found: dict[str, Any] = json.loads(self.tree.attrs["manifest"])
        return found

    @property
    def posterior(self) -> xr.Dataset:
        """Posterior draws, dims ``chain, draw, ...``."""
        return self.tree["posterior"].to_dataset()

    def estimates(self, *, prob: float = 0.95, **options: Any) -> Estimates:
        """What the posterior says; every row carries a note when the gate failed.

        ``options`` go to the model: ``population="items"`` where it has accuracies.
        """
        found = self.model.estimates(self.posterior, self.data, prob=prob, **options)
        return found.with_note(self.gate.note)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write to one NetCDF file; `load_fit` reads it."""
        return write_tree(self.tree, path)


def fit(
    model: Model, table: Any, *, engine: str = "nuts", chains: int = 4, draws: int = 1000, tune: int = 1000,
    seed: int = 0, progress: bool = False, target_accept: float = 0.95, pymc_sampler: str = "numpyro",
) -> Fit:  # fmt: skip
    """Fit a model to a table.

    Parameters
    ----------
    model : Model
        Any generative model of the protocol.
    table : table, counts or Data
        What ``model.prepare`` takes, or its result.
    engine : {"nuts", "hmc", "laplace", "pymc"}
        NUTS in NumPyro; HMC with one number of steps for all chains (`inference.hmc`), faster where a model
        has many well-determined parameters; Laplace approximation, widened and skewed until importance
        weights are even, with Pareto-smoothed importance sampling, which falls back to NUTS with a warning
        when k̂ > 0.7; the PyMC twin.
    chains, draws, tune : int
        Chains, kept draws of each, warm-up draws of each.
    seed : int
        Equal seeds give equal draws on one kind of device.
    progress : bool
        Show a progress bar on standard error.
    target_accept : float
        Target acceptance rate of NUTS and HMC. A run with divergent transitions is repeated once at 0.99; the
        manifest says so.
    pymc_sampler : {"numpyro", "pymc"}
        Which NUTS samples the twin.

    Returns
    -------
    Fit

    Raises
    ------
    UsageError, InputError
        An unknown engine; a table the model cannot use.

    Examples
    --------
    >>> from bayesjudge.datasets import simulate_verdicts
    >>> from bayesjudge.models.judge_error import JudgeError
    >>> log = simulate_verdicts(seed=1).verdicts
    >>> result = fit(JudgeError(pooling="shared"), log, engine="laplace", draws=500)
    >>> result.gate.passed, result.posterior["theta"].dims
    (True, ('chain', 'draw', 'model'))
    """
    if engine not in ENGINES:
        raise UsageError(f"engine={engine!r} is not one of {', '.join(ENGINES)}")
    accelerator.prepare()
    compiled_programs.release_when_many()
    data = table if isinstance(table, Data) else model.prepare(table)
    options = NutsOptions(chains=chains, draws=draws, tune=tune, target_accept=target_accept)
    job = _Job(model=model, data=data, target=density(model, data), options=options, seed=seed,
               progress=progress, pymc_sampler=pymc_sampler)  # fmt: skip
    drawn = {"nuts": _nuts, "hmc": _hmc, "laplace": _laplace, "pymc": _pymc}[engine](job)
    posterior = tree.posterior_dataset(job.target, data, drawn.flat)
    described = model.describe(posterior, data) if isinstance(model, Describes) else {}
    facts = {"chains": chains, "draws": draws, "tune": tune, **drawn.facts, **described}
    result = tree.assemble(model, data, job.target, posterior=posterior, flat=drawn.flat, stats=drawn.stats,
                           seed=seed, facts=facts)  # fmt: skip
    return Fit(model=model, data=data, tree=result, gate=gate_of(posterior, result["sample_stats"].dataset))


@dataclass(frozen=True, eq=False, kw_only=True)
class _Job:
    """What an engine needs to know."""

    model: Model
    data: Data
    target: Density
    options: NutsOptions
    seed: int
    progress: bool
    pymc_sampler: str

    @property
    def arrays(self) -> dict[str, Any]:
        return accelerator.to_device(self.data.arrays)

    @property
    def key(self) -> Any:
        return jax.random.key(self.seed)


class _Drawn(NamedTuple):
    """What an engine gives: unconstrained draws (chains, draws, d), statistics, facts for the manifest."""

    flat: Any
    stats: dict[str, Any]
    facts: dict[str, Any]


def _nuts(job: _Job) -> _Drawn:
    def sample(options: NutsOptions, _: int, report: Report | None) -> Draws:
        return run_nuts(job.target, job.arrays, job.key, options, report=report)

    return _sampled(job, "nuts", sample)


def _hmc(job: _Job) -> _Drawn:
    """The sampler of `fit_many` on one data set: every chain takes the same number of steps."""

    def sample(options: NutsOptions, seed: int, report: Report | None) -> Draws:
        batch = Batch(model=job.model, data=[job.data], engine="hmc", options=options, seed=seed,
                      repeat=False, mesh=None)  # fmt: skip
        flat, stats = fit_batch(batch, report)
        return Draws(flat=flat[0], stats={name: values[0] for name, values in stats.items()})

    return _sampled(job, "hmc", sample)


def _sampled(job: _Job, engine: str, sample: Callable[[NutsOptions, int, Report | None], Draws]) -> _Drawn:
    """Draws, made once more with care where transitions diverged, and what the manifest says of that."""

    def drawn(options: NutsOptions, seed: int) -> Draws:
        title = f"{job.model.label}: {options.chains} chains"
        with bar(title) if job.progress else nullcontext() as report:
            return sample(options, seed, report)

    facts: dict[str, Any] = {"engine": engine, "target_accept": job.options.target_accept}
    found = drawn(job.options, job.seed)
    diverged = int(found.stats["diverging"].sum())
    if diverged and job.options.target_accept < CAREFUL:
        found = drawn(replace(job.options, target_accept=CAREFUL), job.seed + 1)
        facts |= {"target_accept": CAREFUL, "repeated_after_divergences": diverged}
    return _Drawn(found.flat, found.stats, facts)


def _laplace(job: _Job) -> _Drawn:
    options = job.options
    drawn = run_laplace(job.target, job.arrays, job.key, draws=options.chains * options.draws)
    k, ess = float(drawn.pareto_k), float(drawn.ess)
    if not k <= MOST_PARETO_K:
        said = f"Pareto k {k:.2f} (above {MOST_PARETO_K}); running NUTS instead"
        warnings.warn(f"{job.model.label}: the Laplace approximation has {said}", LaplaceFallbackWarning, 3)
        again = _nuts(job)
        return again._replace(facts={**again.facts, "engine": "nuts after laplace", "laplace_pareto_k": k})
    flat = np.asarray(drawn.flat).reshape(options.chains, options.draws, -1)
    stats = {"pareto_k": np.full(flat.shape[:2], k), "importance_ess": np.full(flat.shape[:2], ess)}
    return _Drawn(flat, stats, {"engine": "laplace", "laplace_pareto_k": k, "importance_ess": ess})


def _pymc(job: _Job) -> _Drawn:
    values, stats = run_pymc(job.model, job.data, job.target, options=job.options, seed=job.seed,
                             sampler=job.pymc_sampler, progress=job.progress)  # fmt: skip
    unconstrain = jax.vmap(jax.vmap(job.target.unconstrain, in_axes=(0, None)), in_axes=(0, None))
    flat = unconstrain({name: np.asarray(v) for name, v in values.items()}, job.arrays)
    facts = {"engine": f"pymc ({job.pymc_sampler})", "target_accept": job.options.target_accept}
    return _Drawn(np.asarray(flat), stats, facts)
