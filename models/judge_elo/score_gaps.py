"""Score gaps of several judges: Student-t about the mean of each battle, scale and tails by judge."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.special import gammaln
from numpyro import distributions as dist
from numpyro.distributions import constraints
from numpyro.util import is_prng_key

__all__ = ["ScoreGaps"]


class ScoreGaps(dist.Distribution):  # type: ignore[misc] # NumPyro has no types
    """Student-t gaps whose constants are worked out once for each judge.

    NumPyro's StudentT evaluates the gamma function, and its derivative, for every battle: most of the cost
    of a log of a thousand gaps.

    Parameters
    ----------
    centre : array (B,)
        Mean gap of each battle.
    noise, freedom : array (J,)
        Scale and degrees of freedom of each judge.
    own : array (B, J)
        1 for the judge of each battle, else 0.

    Examples
    --------
    >>> one = ScoreGaps(jnp.zeros(1), jnp.ones(1), jnp.array([3.0]), jnp.ones((1, 1)))
    >>> known = dist.StudentT(3.0).log_prob(jnp.array([0.7]))
    >>> bool(jnp.allclose(one.log_prob(jnp.array([0.7])), known, rtol=1e-12))
    True
    """

    arg_constraints: dict[str, Any] = {}  # noqa: RUF012 - the name and type NumPyro asks for
    support = constraints.real

    def __init__(self, centre: Any, noise: Any, freedom: Any, own: Any) -> None:
        self.centre, self.noise, self.freedom, self.own = centre, noise, freedom, own
        super().__init__(batch_shape=jnp.shape(centre), event_shape=())

    def log_prob(self, value: Any) -> Any:
        """Log density of each gap, (B,)."""
        half = (self.freedom + 1) / 2
        constant = gammaln(half) - gammaln(self.freedom / 2) - 0.5 * jnp.log(jnp.pi * self.freedom)
        by_judge = jnp.stack([constant - jnp.log(self.noise), half, self.freedom * self.noise**2], axis=1)
        constants, power, spread = (self.own @ by_judge).T
        return constants - power * jnp.log1p((value - self.centre) ** 2 / spread)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        """New gaps."""
        assert is_prng_key(key)  # noqa: S101 - the check every NumPyro distribution makes
        noise, freedom = self.own @ self.noise, self.own @ self.freedom
        drawn = jax.random.t(key, freedom, shape=(*sample_shape, *jnp.shape(self.centre)))
        return self.centre + noise * drawn
