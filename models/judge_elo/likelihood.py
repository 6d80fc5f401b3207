"""The marginal density of `judge_elo` in NumPyro."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpyro
from numpyro import distributions as dist

from bayesjudge.maths.bradley_terry import PER_LOGIT
from bayesjudge.model import Data
from bayesjudge.models.judge_elo.scales import joint_scale, vine_shapes
from bayesjudge.priors import InUse


def numpyro_model(data: Data, prior: InUse) -> None:
    """Hyperparameters, and the observation with strengths and effects integrated out."""
    judges = data.size("judge")
    tau = numpyro.sample("spread", prior.numpyro("strength", per=PER_LOGIT))
    with numpyro.plate("judge", judges, dim=-1):
        slope = numpyro.sample("slope", prior.numpyro("slope"))
        deviation = numpyro.sample("deviation_spread", prior.numpyro("deviation_spread", per=PER_LOGIT))
    scale = joint_scale(jnp, tau, slope, deviation, _partial(judges))
    one, two = jnp.triu_indices(judges + 1)
    # Padding has no design; with this variance the density of its zeros is 1.
    noise = jnp.where(data["present"] > 0, 1.0, 1 / (2 * jnp.pi))
    covariance = jnp.tensordot(scale[one, two], data["gram"], axes=1) + data["known"]
    covariance = covariance + jnp.diag(noise)
    mean = jnp.zeros(data.size("contrast"))
    # NumPyro would compile some thirty programs to check that this is a covariance.
    y = dist.MultivariateNormal(mean, covariance_matrix=covariance, validate_args=False)
    numpyro.sample("y", y, obs=data.arrays.get("y"), infer={"event_dims": ("contrast",)})


def _partial(judges: int) -> Any:
    if judges == 1:
        return jnp.zeros(0)
    shapes = jnp.array([shape for *_, shape in vine_shapes(judges)])
    with numpyro.plate("judge_pair", len(shapes), dim=-1):
        return numpyro.sample("deviation_partial", dist.Beta(shapes, shapes))
