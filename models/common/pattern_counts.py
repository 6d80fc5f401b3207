"""Counts of observed patterns: the likelihood that every verdict model shares.

Items are exchangeable given the parameters, so the rows of a table enter a likelihood only through
``n_r``, how often pattern ``r`` of verdicts and labels occurs, as ``Σ_r n_r log p_r``. The patterns
of one stratum (one model's labelled answers, say) are the outcomes of one multinomial. Its coefficient
does not depend on the parameters and is left out, in NumPyro and in PyMC alike.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from numpyro import distributions as dist
from numpyro.distributions import constraints
from numpyro.util import is_prng_key
from scipy.special import softmax

from bayesjudge.models.common.binomial import binomial

#: Log probability of what cannot be, with which a stratum of nothing else is still drawn from.
NEVER = -1e300


class PatternSource(NamedTuple):
    """Log probability and stratum of each pattern, and totals of strata; all with a leading axis of draws."""

    log_p: Any
    stratum: Any
    total: Any

    def drawn(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Counts (draws, patterns); strata and their totals are the design's, equal in every draw."""
        found = np.zeros(self.log_p.shape)
        possible = np.nan_to_num(self.log_p, nan=NEVER, neginf=NEVER)
        for code, total in enumerate(self.total[0]):
            inside = self.stratum[0] == code
            if inside.any():
                found[:, inside] = rng.multinomial(int(total), softmax(possible[:, inside], axis=1))
        return found


class PatternCounts(dist.Distribution):  # type: ignore[misc]
    """How often each pattern occurs; one entry a pattern, strata drawn as independent multinomials.

    log_p: Log probability of each pattern within its stratum.
    """

    arg_constraints: dict[str, Any] = {}  # noqa: RUF012 - the name and type NumPyro asks for
    support = constraints.nonnegative_integer

    def __init__(self, log_p: Any, stratum: Any, total: Any) -> None:
        self.log_p, self.stratum, self.total = log_p, stratum, total
        super().__init__(batch_shape=jnp.shape(log_p), event_shape=())

    @property
    def source(self) -> PatternSource:
        """What NumPy draws the counts from."""
        return PatternSource(self.log_p, self.stratum, self.total)

    def log_prob(self, value: Any) -> Any:
        """``n_r log p_r`` for each pattern; a pattern that never occurred adds nothing even where ``p_r`` is 0."""
        occurred = value != 0
        return jnp.where(occurred, value * jnp.where(occurred, self.log_p, 0.0), 0.0)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        """Multinomial counts by successive conditional binomials along each stratum."""
        assert is_prng_key(key)  # noqa: S101 - the check every NumPyro distribution makes
        p = jnp.exp(self.log_p)
        strata = self.total.shape[0]
        mass = jax.ops.segment_sum(p, self.stratum, strata)
        before = jnp.cumsum(p) - p
        start = jnp.concatenate([jnp.array([True]), self.stratum[1:] != self.stratum[:-1]])
        first = jax.ops.segment_sum(jnp.where(start, before, 0.0), self.stratum, strata)
        left = mass[self.stratum] - (before - first[self.stratum])
        share = jnp.clip(p / jnp.maximum(left, jnp.finfo(p.dtype).tiny), 0.0, 1.0)
        last = jnp.concatenate([start[1:], jnp.array([True])])
        share = jnp.where(last, 1.0, share)

        def step(remaining: Any, row: Any) -> tuple[Any, Any]:
            row_key, row_share, is_first, total = row
            remaining = jnp.where(is_first, total, remaining)
            drawn = binomial(row_key, remaining, row_share)
            return remaining - drawn, drawn

        def one(one_key: Any) -> Any:
            keys = jax.random.split(one_key, p.shape[0])
            totals = self.total[self.stratum].astype(p.dtype)
            return jax.lax.scan(step, jnp.zeros((), p.dtype), (keys, share, start, totals))[1]

        size = 1
        for length in sample_shape:
            size *= length
        drawn = jax.vmap(one)(jax.random.split(key, size))
        return drawn.reshape((*sample_shape, p.shape[0]))
