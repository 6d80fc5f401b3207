"""The logit of a Beta variable in NumPyro, exact far out, where the variable itself rounds to 0 or 1."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.special import gammaln
from numpyro import distributions as dist
from numpyro.distributions import constraints

from bayesjudge.priors.gamma import beta_logit


class LogitBeta(dist.Distribution):  # type: ignore[misc] # NumPyro has no types
    """Log odds of a Beta(a, b) probability."""

    arg_constraints = {"a": constraints.positive, "b": constraints.positive}  # noqa: RUF012 - NumPyro's name and type
    reparametrized_params = ["a", "b"]  # noqa: RUF012 - NumPyro's name and type

    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b
        super().__init__(batch_shape=jnp.broadcast_shapes(jnp.shape(a), jnp.shape(b)))

    @property
    def support(self) -> Any:
        """All numbers."""
        return constraints.real

    def log_prob(self, value: Any) -> Any:
        """Log density of a logit."""
        # JAX's betaln is off by 1e-7.
        constant = gammaln(self.a) + gammaln(self.b) - gammaln(self.a + self.b)
        return self.a * jax.nn.log_sigmoid(value) + self.b * jax.nn.log_sigmoid(-value) - constant

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        """Logits, from two log-gamma variables."""
        return beta_logit(key, self.a, self.b, (*sample_shape, *self.batch_shape))
