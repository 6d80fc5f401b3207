"""The marginal density of `judge_elo` in NumPyro."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from numpyro import distributions as dist

from bayesjudge.maths.bradley_terry import PER_LOGIT
from bayesjudge.model import Data
from bayesjudge.models.judge_elo.scales import LEAST_SHARING, joint_scale, vine_shapes
from bayesjudge.priors import InUse


def numpyro_model(data: Data, prior: InUse) -> None:
    """Hyperparameters, and the observation with strengths and effects integrated out."""
    judges = data.size("judge")
    tau = numpyro.sample("spread", prior.numpyro("strength", per=PER_LOGIT))
    with numpyro.plate("judge", judges, dim=-1):
        slope = numpyro.sample("slope", prior.numpyro("slope"))
        deviation = numpyro.sample("deviation_spread", prior.numpyro("deviation_spread", per=PER_LOGIT))
    scale = joint_scale(jnp, tau, slope, deviation, *_correlations(judges))
    # Padding has no design; with this variance the density of its zeros is 1.
    noise = jnp.where(data["present"] > 0, 1.0, 1 / (2 * jnp.pi))
    covariance = jnp.tensordot(scale.reshape(-1) @ _above(judges + 1), data["gram"], axes=1) + data["known"]
    covariance = covariance + noise * np.eye(data.size("contrast"))
    mean = jnp.zeros(data.size("contrast"))
    # NumPyro would compile some thirty programs to check that this is a covariance.
    y = Observation(mean, covariance_matrix=covariance, validate_args=False)
    numpyro.sample("y", y, obs=data.arrays.get("y"), infer={"event_dims": ("contrast",)})


def _above(raters: int) -> Any:
    """What takes the upper triangle out of a matrix in one row, (R², pairs): indices compile to far more."""
    one, two = np.triu_indices(raters)
    return np.eye(raters**2)[:, one * raters + two]


def _correlations(judges: int) -> tuple[Any, Any]:
    """Partial correlations of deviations, and the correlation that all judges share."""
    if judges == 1:
        return jnp.zeros(0), jnp.zeros(())
    shapes = jnp.array([shape for *_, shape in vine_shapes(judges)])
    with numpyro.plate("judge_pair", len(shapes), dim=-1):
        partial = numpyro.sample("deviation_partial", dist.Beta(shapes, shapes))
    shared = numpyro.sample("deviation_shared", dist.Uniform(0, 1)) if judges >= LEAST_SHARING else jnp.zeros(())
    return partial, shared


class Observation(dist.MultivariateNormal):  # type: ignore[misc] # NumPyro has no types
    """A normal whose density has its derivative stated.

    That of a Cholesky factor takes twice as long to compile.
    """

    def log_prob(self, value: Any) -> Any:
        """Log density."""
        return _log_density(value, self.covariance_matrix)


@jax.custom_jvp
def _log_density(y: Any, covariance: Any) -> Any:
    return _solved(y, covariance)[0]


@_log_density.defjvp
def _(at: Any, moved: Any) -> Any:
    value, weights, inverse = _solved(*at)
    return value, ((jnp.outer(weights, weights) - inverse) * moved[1]).sum() / 2 - weights @ moved[0]


def _solved(y: Any, covariance: Any) -> tuple[Any, Any, Any]:
    """Log density of y ~ N(0, K), ``K⁻¹ y`` and ``K⁻¹``."""
    root = jnp.linalg.cholesky(covariance, symmetrize_input=False)
    whitening = jax.scipy.linalg.solve_triangular(root, np.eye(len(y)), lower=True)
    white = whitening @ y
    value = -(white @ white + len(y) * np.log(2 * np.pi)) / 2 - jnp.log(jnp.diagonal(root)).sum()
    return value, white @ whitening, whitening.T @ whitening
