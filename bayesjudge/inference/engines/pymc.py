"""A model's twin sampled by PyMC, its draws read back as this package's own sites."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from bayesjudge.errors import EngineError
from bayesjudge.inference.engines.base import Drawn, Job
from bayesjudge.inference.engines.options import PyMC


def run_pymc(job: Job, options: PyMC) -> Drawn:
    """Draws from one posterior."""
    tree = sampled(job.model.pymc(job.data), options, seed=job.seed, progress=job.progress)
    posterior, stats = tree["posterior"].dataset, tree["sample_stats"].dataset
    latent = [name for name in job.target.dims if name in posterior]
    values = {name: posterior[name].transpose("chain", "draw", ...).to_numpy() for name in latent}
    unconstrain = jax.vmap(jax.vmap(job.target.unconstrain, in_axes=(0, None)), in_axes=(0, None))
    names = ("diverging", "energy", "lp", "n_steps", "acceptance_rate")
    return Drawn(
        np.asarray(unconstrain(values, job.arrays)),
        {name: np.asarray(stats[name]) for name in names if name in stats},
        {"engine": f"pymc ({options.sampler})", "target_accept": options.target_accept},
    )


def sampled(model: Any, engine: PyMC, *, seed: int, progress: bool) -> Any:
    """PyMC's tree of a ``pm.Model``: posterior and sampler statistics."""
    try:
        import pymc as pm
    except ImportError as error:
        raise EngineError("engine='pymc' needs PyMC: pip install 'bayesjudge[pymc]'") from error
    # PyMC gives NumPyro one device a chain, so on a single device chains would run one after another.
    together = {"chain_method": "vectorized"} if engine.sampler == "numpyro" else {}
    with model:
        return pm.sample(
            draws=engine.draws,
            tune=engine.tune,
            chains=engine.chains,
            cores=1,
            nuts_sampler=engine.sampler,
            nuts={"target_accept": engine.target_accept, **together},
            random_seed=seed,
            progressbar=progress,
            quiet=not progress,
            compute_convergence_checks=False,
        )
