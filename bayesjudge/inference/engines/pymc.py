"""The PyMC engine: a model's twin sampled by PyMC, its draws read back as this package's own sites."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import jax
import numpy as np

from bayesjudge.errors import EngineError, UsageError
from bayesjudge.inference.engines.base import Drawn, Engine, Job

Sampler = Literal["numpyro", "pymc"]


@dataclass(frozen=True, kw_only=True)
class PyMC(Engine):
    """A model as written in PyMC.

    Attributes
    ----------
    chains, draws, tune, target_accept
        As in `Engine`.
    sampler : {"numpyro", "pymc"}
        NumPyro's NUTS on PyMC's compiled density, or PyMC's own NUTS.

    Raises
    ------
    UsageError
        No sampler of that name.

    Examples
    --------
    >>> PyMC(sampler="pymc", draws=500).target_accept
    0.95
    """

    name: ClassVar[str] = "pymc"

    target_accept: float = 0.95
    sampler: Sampler = "numpyro"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sampler not in get_args(Sampler):
            raise UsageError(f"sampler={self.sampler!r} is not one of {', '.join(get_args(Sampler))}")

    def run(self, job: Job) -> Drawn:
        """Draws from one posterior.

        Raises
        ------
        EngineError
            PyMC is not installed.
        """
        values, stats = self._sampled(job)
        unconstrain = jax.vmap(jax.vmap(job.target.unconstrain, in_axes=(0, None)), in_axes=(0, None))
        flat = unconstrain(values, job.arrays)
        facts = {"engine": f"pymc ({self.sampler})", "target_accept": self.target_accept}
        return Drawn(np.asarray(flat), stats, facts)

    def _sampled(self, job: Job) -> tuple[dict[str, Any], dict[str, Any]]:
        """Constrained values by site, (chains, draws, ...), and sampler statistics."""
        tree = sampled(job.model.pymc(job.data), self, seed=job.seed, progress=job.progress)
        posterior, stats = tree["posterior"].dataset, tree["sample_stats"].dataset
        latent = [name for name in job.target.dims if name in posterior]
        values = {name: posterior[name].transpose("chain", "draw", ...).to_numpy() for name in latent}
        names = ("diverging", "energy", "lp", "n_steps", "acceptance_rate")
        return values, {name: np.asarray(stats[name]) for name in names if name in stats}


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
