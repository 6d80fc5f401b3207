"""The PyMC engine: a model's twin sampled by PyMC, its draws read back as this package's own sites."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesjudge.errors import EngineError, UsageError
from bayesjudge.inference.engines.nuts import NutsOptions
from bayesjudge.inference.programs.density import Density
from bayesjudge.model import Data, Model

__all__ = ["run_pymc"]


def run_pymc(
    model: Model,
    data: Data,
    target: Density,
    *,
    options: NutsOptions,
    seed: int,
    sampler: str,
    progress: bool,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Sample the PyMC twin.

    Parameters
    ----------
    sampler : {"numpyro", "pymc"}
        NumPyro's NUTS on PyMC's compiled density, or PyMC's own NUTS.

    Returns
    -------
    dict, dict
        Constrained values by site, (chains, draws, ...), and sampler statistics.

    Raises
    ------
    EngineError
        PyMC is not installed.
    UsageError
        No sampler of that name.
    """
    if sampler not in {"numpyro", "pymc"}:
        raise UsageError(f"pymc_sampler={sampler!r} is not one of numpyro, pymc")
    try:
        import pymc as pm
    except ImportError as error:
        raise EngineError("engine='pymc' needs PyMC: pip install 'bayesjudge[pymc]'") from error
    # PyMC gives NumPyro one device a chain, so on a single device chains would run one after another.
    together = {"chain_method": "vectorized"} if sampler == "numpyro" else {}
    chosen: Any = sampler
    with model.pymc(data):
        tree = pm.sample(
            draws=options.draws, tune=options.tune, chains=options.chains, cores=1, nuts_sampler=chosen,
            nuts={"target_accept": options.target_accept, **together}, random_seed=seed, progressbar=progress,
            quiet=not progress, compute_convergence_checks=False,
        )  # fmt: skip
    posterior, stats = tree["posterior"].dataset, tree["sample_stats"].dataset
    latent = [name for name in target.dims if name in posterior]
    values = {name: posterior[name].transpose("chain", "draw", ...).to_numpy() for name in latent}
    names = {"diverging": "diverging", "energy": "energy", "lp": "lp", "n_steps": "n_steps",
             "acceptance_rate": "acceptance_rate"}  # fmt: skip
    return values, {ours: np.asarray(stats[theirs]) for ours, theirs in names.items() if theirs in stats}
