"""`fit`: one model, one table, one posterior, with everything needed to judge it and to find it again."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import jax
import numpy as np
import xarray as xr

from bayesjudge.errors import UsageError
from bayesjudge.estimates import Estimates
from bayesjudge.inference import accelerator, tree
from bayesjudge.inference.density import Density, density
from bayesjudge.inference.gate import MOST_PARETO_K, Gate, gate_of
from bayesjudge.inference.laplace import run_laplace
from bayesjudge.inference.nuts import NutsOptions, run_nuts
from bayesjudge.inference.progress import bar
from bayesjudge.inference.storage import write_tree
from bayesjudge.inference.twin import run_pymc
from bayesjudge.model import Data, Model

__all__ = ["ENGINES", "Fit", "LaplaceFallbackWarning", "fit"]

ENGINES = ("nuts", "laplace", "pymc")
#: Target acceptance of the second run, made when the first one diverged.
CAREFUL = 0.99


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

    def estimates(self, *, prob: float = 0.95) -> Estimates:
        """What the posterior says; every row carries a note when the gate failed."""
        return self.model.estimates(self.posterior, self.data, prob=prob).with_note(self.gate.note)

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
    engine : {"nuts", "laplace", "pymc"}
        NUTS in NumPyro; Laplace approximation with Pareto-smoothed importance sampling, which falls
        back to NUTS with a warning when k̂ > 0.7; the PyMC twin.
    chains, draws, tune : int
        Chains, kept draws of each, warm-up draws of each.
    seed : int
        Equal seeds give equal draws on one kind of device.
    progress : bool
        Show a progress bar on standard error.
    target_accept : float
        Target acceptance rate of NUTS. A run with divergent transitions is repeated once at 0.99; the
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
    >>> result = fit(JudgeError(pooling="shared"), simulate_verdicts(seed=1).verdicts, engine="laplace", draws=500)
    >>> result.gate.passed, result.posterior["theta"].dims
    (True, ('chain', 'draw', 'model'))
    """
    if engine not in ENGINES:
        raise UsageError(f"engine={engine!r} is not one of {', '.join(ENGINES)}")
    accelerator.prepare()
    data = table if isinstance(table, Data) else model.prepare(table)
    target = density(model, data)
    options = NutsOptions(chains=chains, draws=draws, tune=tune, target_accept=target_accept)
    run = {"nuts": _nuts, "laplace": _laplace, "pymc": _pymc}[engine]
    flat, stats, facts = run(model, data, target, options, seed, progress, pymc_sampler)
    posterior = tree.posterior_dataset(target, data, flat)
    result = tree.assemble(model, data, target, posterior, flat, stats, seed=seed,
                           facts={"chains": chains, "draws": draws, "tune": tune, **facts})  # fmt: skip
    return Fit(model=model, data=data, tree=result, gate=gate_of(posterior, result["sample_stats"].dataset))


def _nuts(
    model: Model, data: Data, target: Density, options: NutsOptions, seed: int, progress: bool, _: str
) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    arrays, key = accelerator.to_device(data.arrays), jax.random.key(seed)
    facts: dict[str, Any] = {"engine": "nuts", "target_accept": options.target_accept}
    drawn = _with_bar(
        model, options, progress, lambda report: run_nuts(target, arrays, key, options, report=report)
    )
    diverged = int(drawn.stats["diverging"].sum())
    if diverged and options.target_accept < CAREFUL:
        careful = NutsOptions(
            chains=options.chains, draws=options.draws, tune=options.tune, target_accept=CAREFUL
        )
        drawn = _with_bar(
            model, careful, progress, lambda report: run_nuts(target, arrays, key, careful, report=report)
        )
        facts |= {"target_accept": CAREFUL, "repeated_after_divergences": diverged}
    return drawn.flat, drawn.stats, facts


def _with_bar(model: Model, options: NutsOptions, progress: bool, run: Callable[[Any], Any]) -> Any:
    shown = bar(f"{model.label}: {options.chains} chains") if progress else nullcontext()
    with shown as report:
        return run(report)


def _laplace(
    model: Model, data: Data, target: Density, options: NutsOptions, seed: int, progress: bool, sampler: str
) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    total = options.chains * options.draws
    drawn = run_laplace(target, accelerator.to_device(data.arrays), jax.random.key(seed), draws=total)
    k = float(drawn.pareto_k)
    if not k <= MOST_PARETO_K:
        warnings.warn(
            f"{model.label}: the Laplace approximation has Pareto k {k:.2f} (above {MOST_PARETO_K}); running NUTS instead",
            LaplaceFallbackWarning, stacklevel=3,
        )  # fmt: skip
        flat, stats, facts = _nuts(model, data, target, options, seed, progress, sampler)
        return flat, stats, {**facts, "engine": "nuts after laplace", "laplace_pareto_k": k}
    flat = np.asarray(drawn.flat).reshape(options.chains, options.draws, -1)
    stats = {"pareto_k": np.full(flat.shape[:2], k), "importance_ess": np.full(flat.shape[:2], float(drawn.ess))}
    return flat, stats, {"engine": "laplace", "laplace_pareto_k": k, "importance_ess": float(drawn.ess)}


def _pymc(
    model: Model, data: Data, target: Density, options: NutsOptions, seed: int, progress: bool, sampler: str
) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    values, stats = run_pymc(
        model, data, target, options=options, seed=seed, sampler=sampler, progress=progress
    )
    flat = jax.vmap(jax.vmap(target.unconstrain))({name: np.asarray(v) for name, v in values.items()})
    return np.asarray(flat), stats, {"engine": f"pymc ({sampler})", "target_accept": options.target_accept}
