"""Counts of the ways in which battles end, as a NumPyro distribution."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from numpyro import distributions as dist
from numpyro.distributions import constraints
from scipy.special import softmax

from bayesjudge.models.common.binomial import binomial
from bayesjudge.models.common.pattern_counts import NEVER


class OutcomeSource(NamedTuple):
    """Log probabilities of the outcomes of each pattern and its battles; both with a leading axis of draws."""

    log_p: Any
    total: Any

    def drawn(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Counts (draws, R, K)."""
        return rng.multinomial(self.total.astype(np.int64), softmax(np.nan_to_num(self.log_p, nan=NEVER), axis=-1))


class OutcomeCounts(dist.Distribution):  # type: ignore[misc] # NumPyro has no types
    """How often the battles of each pattern end in each of K ways, (R, K): three, or joint ones of raters.

    The multinomial coefficient does not depend on the parameters and is left out.

    log_p: Log probabilities of the outcomes of one battle.
    """

    arg_constraints: dict[str, Any] = {}  # noqa: RUF012 - the name and type NumPyro asks for
    support = constraints.nonnegative_integer

    def __init__(self, log_p: Any, total: Any) -> None:
        self.log_p, self.total = log_p, total
        super().__init__(batch_shape=jnp.shape(log_p), event_shape=())

    @property
    def source(self) -> OutcomeSource:
        """What NumPy draws the counts from."""
        return OutcomeSource(self.log_p, self.total)

    def log_prob(self, value: Any) -> Any:
        """``n log p`` for each entry."""
        return value * self.log_p

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        """K − 1 binomials a pattern: how many end in the first way, in the second among the rest, and so on.

        In a loop, so that one binomial is compiled.
        """
        shape = (*sample_shape, *self.total.shape)
        total = jnp.broadcast_to(jnp.asarray(self.total, self.log_p.dtype), shape)
        p = jnp.moveaxis(jnp.exp(self.log_p), -1, 0)
        still = jnp.maximum(jnp.cumsum(p[::-1], axis=0)[::-1], jnp.finfo(p.dtype).tiny)
        shares = jnp.minimum(p / still, 1.0)[:-1]

        def stage(left: Any, at: Any) -> tuple[Any, Any]:
            drawn = binomial(at[0], left, at[1])
            return left - drawn, drawn

        rest, drawn = jax.lax.scan(stage, total, (jax.random.split(key, len(shares)), shares))
        return jnp.moveaxis(jnp.concatenate([drawn, rest[None]]), 0, -1)
