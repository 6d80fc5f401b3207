"""Distributions of moments of scores: cell means with shared response effects, and sums of squares."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from numpyro import distributions as dist
from numpyro.distributions import constraints
from numpyro.util import is_prng_key

__all__ = ["CellMeans", "ScaledChiSquares"]


class CellMeans(dist.Distribution):  # type: ignore[misc] # NumPyro has no types
    """Means of one response's scores by every block, its own effect integrated out.

    ``ȳ_b = c_b + λ_b u + v_b + ε̄_b`` with ``u ~ N(0, 1)`` shared by the blocks, ``v_b ~ N(0, σ_b)``,
    ``ε̄_b ~ N(0, σ²_ε/n_b)``: the covariance is diagonal plus rank one, so Sherman–Morrison gives
    the density.

    Parameters
    ----------
    centre : array (B,)
        Mean of each block.
    shared : array (B,)
        λ_b, how far a standard deviation of the responses moves the block's scores.
    own, noise : array (B,)
        σ_b and σ_ε.
    n : int array (R, B)
        Scores in each cell; 0 where there are none, whose mean is 0 and has no density.
    """

    arg_constraints: dict[str, Any] = {}  # noqa: RUF012 - the name and type NumPyro asks for
    support = constraints.real_vector

    def __init__(self, centre: Any, shared: Any, own: Any, noise: Any, n: Any) -> None:
        self.centre, self.shared, self.n = centre, shared, n
        self.spread = own**2 + noise**2 / jnp.maximum(n, 1)
        super().__init__(batch_shape=jnp.shape(n)[:1], event_shape=jnp.shape(n)[1:])

    def log_prob(self, value: Any) -> Any:
        """Log density of each response's means, (R,)."""
        seen = self.n > 0
        off = value - self.centre
        weight = jnp.where(seen, 1 / self.spread, 0.0)
        inflated = 1 + (weight * self.shared**2).sum(-1)
        pull = (weight * self.shared * off).sum(-1)
        quadratic = (weight * off**2).sum(-1) - pull**2 / inflated
        alone = jnp.where(seen, jnp.log(2 * jnp.pi * self.spread), 0.0).sum(-1)
        return -0.5 * (quadratic + jnp.log(inflated) + alone)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        """Means of new responses."""
        assert is_prng_key(key)  # noqa: S101 - the check every NumPyro distribution makes
        key_u, key_v = jax.random.split(key)
        u = self.shared * jax.random.normal(key_u, (*sample_shape, *self.batch_shape, 1))
        v = jnp.sqrt(self.spread) * jax.random.normal(key_v, (*sample_shape, *jnp.shape(self.n)))
        return jnp.where(self.n > 0, self.centre + u + v, 0.0)


class ScaledChiSquares(dist.Distribution):  # type: ignore[misc] # NumPyro has no types
    """Sums of squares ``σ² χ²_f``, elementwise; without degrees of freedom 0 for certain."""

    arg_constraints: dict[str, Any] = {}  # noqa: RUF012 - the name and type NumPyro asks for
    support = constraints.nonnegative

    def __init__(self, squared: Any, freedom: Any) -> None:
        self.spread, self.freedom = squared, freedom
        super().__init__(batch_shape=jnp.shape(freedom), event_shape=())

    def log_prob(self, value: Any) -> Any:
        """Log density, 0 where there are no degrees of freedom."""
        half = jnp.maximum(self.freedom, 1) / 2
        safe = jnp.where(self.freedom > 0, jnp.maximum(value, 1e-300), 1.0)
        log_p = (half - 1) * jnp.log(safe) - safe / (2 * self.spread) - half * jnp.log(2 * self.spread)
        return jnp.where(self.freedom > 0, log_p - jax.scipy.special.gammaln(half), 0.0)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        """New sums of squares."""
        assert is_prng_key(key)  # noqa: S101 - the check every NumPyro distribution makes
        half = jnp.maximum(self.freedom, 1) / 2
        drawn = 2 * self.spread * jax.random.gamma(key, half, (*sample_shape, *self.batch_shape))
        return jnp.where(self.freedom > 0, drawn, 0.0)
