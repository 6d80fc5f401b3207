"""Outcomes of one cell of repeated trials: Davidson's ties, and trials that repeat each other.

Davidson (1970) with margin η and readiness to tie ν: ``P(a) : P(b) : P(tie) = e^{η/2} : e^{−η/2} : e^ν``.

Trials of one cell (judge, item, order, prompt, temperature) share a verdict distribution
``π ~ Dirichlet(φ p)``, so their counts are Dirichlet-multinomial. With the correlation ``ρ = 1/(1+φ)`` of two
trials and ``N = Σ n_k``, the rising factorials give

    P(n) = N!/Π n_k! · Π_k Π_{t<n_k} (p_k(1−ρ) + tρ) / Π_{t<N} (1−ρ+tρ).

Factors at t = 0 hold ``1−ρ`` each and are cancelled by hand, so ρ = 0 is exactly multinomial and no digits
are lost as φ grows, as they would be with log-gamma functions. The coefficient does not depend on the
parameters and is left out, in NumPyro and in PyMC alike.
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

from bayesjudge.models.common.pattern_counts import binomial
from bayesjudge.models.repeated_trials.verdict_draws import dirichlet
from bayesjudge.priors.gamma import log_gamma
from bayesjudge.tables.words import OUTCOMES

#: Below this a probability is as good as 0; a Dirichlet with no mass at all cannot be drawn from.
_TINY = 1e-12
#: Trials whose factors are multiplied before a logarithm is taken: 12 factors, none below ρ or p, stay far
#: above the smallest number.
_TOGETHER = 4


class TrialSource(NamedTuple):
    """Log probability of each outcome, correlation and number of trials of each cell; with a leading axis of draws."""

    log_p: Any
    rho: Any
    total: Any

    def drawn(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Counts (draws, C, 3) of new trials: each cell's π, then its outcomes."""
        nothing = np.zeros((self.total.shape[1], len(OUTCOMES)), dtype=np.int64)
        found = []
        for log_p, rho, total in zip(*self, strict=True):
            pi = dirichlet(np.exp(log_p.T), rho, nothing, rng)
            found.append(rng.multinomial(total, pi / pi.sum(-1, keepdims=True)))
        return np.stack(found)


class TrialOutcomes(dist.Distribution):  # type: ignore[misc] # NumPyro has no types
    """Dirichlet-multinomial counts (C, 3) of the outcomes of each cell.

    log_p: Log probability of each outcome, (3, C): an axis of three as the last one is several times slower.
    rho: Correlation of two trials of the cell; 0 is multinomial.
    """

    arg_constraints: dict[str, Any] = {}  # noqa: RUF012 - the name and type NumPyro asks for
    support = constraints.independent(constraints.nonnegative_integer, 1)

    def __init__(self, log_p: Any, rho: Any, total: Any, *, most: int) -> None:
        self.log_p, self.total, self.most = log_p, total, most
        self.rho = jnp.broadcast_to(rho, jnp.shape(total))
        super().__init__(batch_shape=jnp.shape(total), event_shape=(len(OUTCOMES),))

    @property
    def source(self) -> TrialSource:
        """What NumPy draws the counts from."""
        return TrialSource(self.log_p, self.rho, self.total)

    def log_prob(self, value: Any) -> Any:
        """Log probability of the counts without their coefficient, (C,)."""
        n = jnp.moveaxis(value, -1, 0)
        total = jnp.where(n > 0, self.log_p, 0.0).sum(0)
        return total if self.most == 1 else total + self._log_rising(n)

    def _log_rising(self, n: Any) -> Any:
        """Every factor that ρ brings in, by logarithms of products: a few of them in place of one a trial."""
        rho, total = self.rho, self.total
        start = jnp.exp(self.log_p) * (1 - rho)
        first = jnp.arange(1, self.most, _TOGETHER).reshape(-1, *[1] * jnp.ndim(n))
        above: Any = 1.0
        below: Any = 1.0
        for t in (first + k for k in range(min(_TOGETHER, self.most - 1))):
            above *= jnp.where(t < n, start + t * rho, 1.0)
            below *= jnp.where(t < total, 1 + (t - 1) * rho, 1.0)
        a, b, tie = jnp.moveaxis(above, 1, 0)
        kinds = (n > 0).sum(0)
        shared = jnp.where(kinds > 1, 1 - rho, 1.0) * jnp.where(kinds > 2, 1 - rho, 1.0)
        return jnp.log(a * b * tie / below[:, 0]).sum(0) + jnp.log(shared)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        """Counts of new trials: each cell's π, then its outcomes by two conditional binomials."""
        assert is_prng_key(key)  # noqa: S101 - the check every NumPyro distribution makes
        key_p, key_a, key_b = jax.random.split(key, 3)
        shape, p = (*sample_shape, *self.batch_shape), jnp.exp(self.log_p).T
        concentration = p * ((1 - self.rho) / jnp.maximum(self.rho, _TINY))[:, None]
        drawn = log_gamma(key_p, jnp.maximum(concentration, _TINY), (*shape, len(OUTCOMES)))
        shared = jax.nn.softmax(drawn, axis=-1)
        pi = jnp.where((self.rho > _TINY)[:, None], shared, p)
        a = binomial(key_a, self.total, pi[..., 0], shape)
        rest = jnp.where(pi[..., 0] < 1, pi[..., 1] / jnp.maximum(pi[..., 1] + pi[..., 2], _TINY), 0.0)
        b = binomial(key_b, self.total - a, rest, shape)
        return jnp.stack([a, b, self.total - a - b], axis=-1)


def jax_log_outcomes(margin: Any, shift: Any, tie: Any, order: Any, *, any_unknown: bool) -> Any:
    """Log probability of each outcome, (3, C).

    order: 1 where a was shown first, −1 where b was, 0 where nobody knows: then either with probability ½.
    any_unknown: Whether any order is 0.
    """

    def given(sign: Any) -> Any:
        half = 0.5 * (margin + sign * shift)
        size = jnp.where(half < 0, -half, half)
        norm = jnp.logaddexp(size + jnp.log1p(jnp.exp(-2 * size)), tie)
        return jnp.stack([half - norm, -half - norm, -norm])

    log_p = given(order)
    if any_unknown:
        shown_first = jnp.ones_like(order)
        either = jnp.logaddexp(given(shown_first), given(-shown_first)) - jnp.log(2.0)
        log_p = jnp.where(order == 0, either, log_p)
    # Last, as no sum of logarithms has a gradient where all are −∞, which ``tie`` is where nothing tied.
    return jnp.stack([log_p[0], log_p[1], log_p[2] + tie])


def jax_gap(margin: Any, shift: Any, tie: Any, order: Any) -> tuple[Any, Any]:
    """P(a) − P(b), and the variance of 1 for a, −1 for b, 0 for a tie, (C,); order 0 as if unbiased.

    With probabilities a, b and t the variance is ``4ab + t(a + b)``, which is a + b − (a − b)² without its
    cancellation.
    """
    half = 0.5 * (margin + order * shift)
    size = jnp.where(half < 0, -half, half)
    far = jax.lax.stop_gradient(jnp.maximum(size, tie))
    first, second, even = jnp.exp(half - far), jnp.exp(-half - far), jnp.exp(tie - far)
    norm = first + second + even
    either = first + second
    return (first - second) / norm, (4 * first * second + even * either) / norm**2


def pytensor_log_outcomes(margin: Any, shift: Any, tie: Any, order: Any) -> Any:
    """The same in PyTensor, from the ratios of probabilities themselves."""
    import pytensor.tensor as pt

    def given(sign: Any) -> Any:
        half = np.float64(0.5) * (margin + sign * shift)
        norm = pt.logsumexp(pt.stack([half, -half, tie], axis=-1), axis=-1)
        return pt.stack([half - norm, -half - norm, -norm], axis=-1)

    one = np.ones(len(order))
    either = pt.logaddexp(given(one), given(-one)) - np.log(2.0)
    log_p = pt.switch((order == 0)[:, None], either, given(order.astype(float)))
    return pt.stack([log_p[:, 0], log_p[:, 1], log_p[:, 2] + tie], axis=-1)


def pytensor_log_prob(counts: Any, log_p: Any, rho: Any) -> Any:
    """Log probability of counts (C, 3) in PyTensor, (C,), with every rising factorial written out."""
    import pytensor.tensor as pt

    counts, zero = counts.astype(float), np.float64(0)
    total, trials = pt.as_tensor(np.zeros(len(counts))), counts.sum(1)
    p = pt.exp(log_p) * (np.float64(1) - rho)[:, None]
    for t in map(np.float64, range(int(trials.max(initial=0)))):
        # The first factor from log p: a probability that underflows still has a logarithm.
        rising = (log_p + pt.log1p(-rho)[:, None]) if t == 0 else pt.log(p + t * rho[:, None])
        total = total + pt.switch(t < counts, rising, zero).sum(-1)
        total = total - pt.switch(t < trials, pt.log(np.float64(1) - rho + t * rho), zero)
    return total
