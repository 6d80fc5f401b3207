"""`fit`: one model, one table, one posterior, with everything needed to judge it and to find it again."""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import xarray as xr

from bayesjudge.estimates import Estimates
from bayesjudge.inference import tree
from bayesjudge.inference.engines import Engine, Job, engine_of
from bayesjudge.inference.gate import Gate, gate_of
from bayesjudge.inference.programs import accelerator, compiled_programs
from bayesjudge.inference.storage import write_tree
from bayesjudge.model import Data, Describes, Model

__all__ = ["Fit", "fit"]


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
    model: Model, table: Any, *, engine: Engine | str = "nuts", seed: int = 0, progress: bool = False
) -> Fit:
    """Fit a model to a table.

    Parameters
    ----------
    model : Model
        Any generative model of the protocol.
    table : table, counts or Data
        What ``model.prepare`` takes, or its result.
    engine : Nuts, Hmc, Laplace or PyMC, or one of "nuts", "hmc", "laplace", "pymc"
        How to draw; a name stands for the engine with its defaults. `Nuts` is NumPyro's No-U-Turn sampler;
        `Hmc` takes one number of steps for all chains, faster where a model has many well-determined
        parameters; `Laplace` approximates, and gives way to NUTS with a warning where k̂ > 0.7; `PyMC` samples
        the PyMC twin.
    seed : int
        Equal seeds give equal draws on one kind of device.
    progress : bool
        Show a progress bar on standard error.

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
    >>> from bayesjudge.inference import Laplace
    >>> from bayesjudge.models.judge_error import JudgeError
    >>> log = simulate_verdicts(seed=1).verdicts
    >>> result = fit(JudgeError(pooling="shared"), log, engine=Laplace(draws=500))
    >>> result.gate.passed, result.posterior["theta"].dims
    (True, ('chain', 'draw', 'model'))
    """
    chosen = engine_of(engine)
    accelerator.prepare()
    compiled_programs.release_when_many()
    data = table if isinstance(table, Data) else model.prepare(table)
    job = Job(model=model, data=data, seed=seed, progress=progress)
    drawn, target = chosen.run(job), job.target
    posterior = tree.posterior_dataset(target, data, drawn.flat)
    described = model.describe(posterior, data) if isinstance(model, Describes) else {}
    length = {"chains": chosen.chains, "draws": chosen.draws, "tune": chosen.tune}
    result = tree.assemble(model, data, target, posterior=posterior, flat=drawn.flat, stats=drawn.stats,
                           seed=seed, facts={**length, **drawn.facts, **described})  # fmt: skip
    return Fit(model=model, data=data, tree=result, gate=gate_of(posterior, result["sample_stats"].dataset))
