"""`pointwise_scores` in NumPyro, for scores as numbers and as levels.

``P(level ≤ k) = σ((c_k − η)/s)``, so a level between cuts a < b has ``σ(b) − σ(a) = σ(b) σ(−a) (1 −
e^{a−b})``.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from numpyro import distributions as dist
from numpyro.distributions import constraints
from numpyro.util import is_prng_key

from bayesjudge.effects import Formula
from bayesjudge.model import Data
from bayesjudge.models.common.added_terms import numpyro_shift
from bayesjudge.models.common.pattern_counts import OutcomeCounts
from bayesjudge.models.common.units import Guess
from bayesjudge.priors import InUse
from bayesjudge.priors.gamma import log_gamma


def gaussian(data: Data, prior: InUse, formula: Formula | None) -> None:
    """Moments of numbers; priors are in units of the scores' own spread.

    Two blocks have three moments of responses, two variances and a covariance: σ_b = λ_b σ there, or nothing would
    say which of λ_b and σ_b makes them differ.
    """
    per, blocks = 1 / data["scale"][0], data.size("block")
    mean = numpyro.sample("mean_score", prior.numpyro("mean", per=per, zero=data["location"][0]))
    shared = numpyro.sample("response_spread", prior.numpyro("response_spread", per=per))
    trial: Any = 0.0
    own: Any = jnp.zeros(blocks)
    if blocks == 2:
        own = numpyro.sample("interaction_spread", prior.numpyro("interaction_spread", per=per))
    with numpyro.plate("block", blocks, dim=-1):
        noise = numpyro.sample("noise", prior.numpyro("noise", per=per))
        if blocks > 2:
            own = numpyro.sample("interaction_spread", prior.numpyro("interaction_spread", per=per))
        if blocks > 1:
            mean = mean + numpyro.sample("leniency", prior.numpyro("leniency", per=per))
            log_scale = numpyro.sample("log_scale", prior.numpyro("log_scale"))
            loading = jnp.exp(log_scale - log_scale.mean())
            shared, own = shared * loading, own * loading if blocks == 2 else own
        if data.facts["trials"]:
            trial = numpyro.sample("trial_spread", prior.numpyro("trial_spread", per=per))
    mean = jnp.broadcast_to(mean, (blocks,))
    if formula is not None:
        mean = mean + data["scale"] * numpyro_shift(formula, data, prior, judges=blocks).T
    with numpyro.plate("target", data.size("target"), dim=-1):
        cells = CellMeans(mean, jnp.broadcast_to(shared, (blocks,)), own, noise, data["n"])
        numpyro.sample("mean", cells, obs=data.arrays.get("mean"))
    variance = jnp.stack([noise**2, noise**2 + data["complete"] * trial**2], axis=-1)
    with numpyro.plate("block", blocks, dim=-2), numpyro.plate("source", 2, dim=-1):
        squares = ScaledChiSquares(variance, data["freedom"])
        numpyro.sample("squares", squares, obs=data.arrays.get("squares"))


def ordinal(data: Data, prior: InUse, formula: Formula | None) -> None:
    """Counts of levels; the latent variable's residual is standard logistic for the mean judge."""
    spread = numpyro.sample("response_spread", prior.numpyro("response_spread"))
    cuts = _cuts(data, prior)
    leniency, scale, own = _judges(data, prior)
    leniency = leniency + numpyro_shift(formula, data, prior, judges=data.size("block"))
    # Levels lie half-way between cuts, or a unit past the last.
    rough = data["share"] @ jnp.concatenate([cuts[:1] - 1, (cuts[1:] + cuts[:-1]) / 2, cuts[-1:] + 1])
    guess = _scored(rough + leniency, cuts, scale, data)
    units = guess.blurred(own).over(0).around(-rough).units(spread)
    with numpyro.plate("response", data.size("response"), dim=-1):
        z = numpyro.sample("response_effect", dist.Normal(units.centre, units.width))
    margin = units.effect(z) + leniency
    if data.size("block") > 1:
        units = _scored(margin, cuts, scale, data).units(own)
        with (
            numpyro.plate("block", data.size("block"), dim=-2),
            numpyro.plate("response", data.size("response"), dim=-1),
        ):
            z = numpyro.sample("interaction", dist.Normal(units.centre, units.width))
        margin = margin + units.effect(z)
    log_p = jnp.moveaxis(jax_log_levels(margin, cuts, scale), 0, -1).reshape(-1, data.size("level"))
    with numpyro.plate("cell", data.size("cell"), dim=-2), numpyro.plate("level", data.size("level"), dim=-1):
        numpyro.sample("levels", OutcomeCounts(log_p, data["total"]), obs=data.arrays.get("levels"))


def _judges(data: Data, prior: InUse) -> tuple[Any, Any, Any]:
    """Leniency, scale of the latent variable and spread of the interaction of every block, (blocks, 1)."""
    if data.size("block") == 1:
        return jnp.zeros((1, 1)), jnp.ones((1, 1)), jnp.zeros((1, 1))
    with numpyro.plate("block", data.size("block"), dim=-1):
        leniency = numpyro.sample("leniency", prior.numpyro("leniency"))
        log_scale = numpyro.sample("log_noise", prior.numpyro("log_scale"))
        own = numpyro.sample("interaction_spread", prior.numpyro("interaction_spread"))
    return leniency[:, None], jnp.exp(log_scale - log_scale.mean())[:, None], own[:, None]


def _scored(margin: Any, cuts: Any, scale: Any, data: Data) -> Guess:
    """What the levels say of how the latent means differ from ``margin``, (blocks, responses)."""
    shape = (data.size("block"), data.size("response"), data.size("level"))
    n = jnp.moveaxis(jnp.reshape(data["observed"], shape), -1, 0)
    p, lean = jax_lean(margin, cuts, scale)
    return Guess(information=n.sum(0) * (p * lean**2).sum(0), pull=(n * lean).sum(0))


def _cuts(data: Data, prior: InUse) -> Any:
    """Ordered cuts: their middle, and the gaps between neighbours."""
    middle = numpyro.sample("middle", prior.numpyro("middle_cut"))
    with numpyro.plate("gap", data.size("gap"), dim=-1):
        gaps = numpyro.sample("gaps", prior.numpyro("cut_gap"))
    steps = jnp.concatenate([jnp.zeros(1), jnp.cumsum(gaps)])
    return middle + steps - steps.mean()


def jax_log_levels(margin: Any, cuts: Any, scale: Any) -> Any:
    """Log probability of each level, (L, ...), from margins (...), cuts (L − 1,), and scales to match."""
    cuts = jnp.reshape(cuts, (-1, *[1] * jnp.ndim(margin)))
    at = (cuts - margin) / scale
    # log σ(−x) = log σ(x) − x; and what lies between two cuts does not depend on the margin.
    below = jax.nn.log_sigmoid(at)
    above = below - at
    apart = jnp.log(-jnp.expm1((cuts[:-1] - cuts[1:]) / scale))
    return jnp.concatenate([below[:1], below[1:] + above[:-1] + apart, above[-1:]])


def jax_lean(margin: Any, cuts: Any, scale: Any) -> tuple[Any, Any]:
    """Probability of each level, and how fast its logarithm grows with the margin, (L, ...) each.

    ``d log p_k / dη = (σ(b) + σ(a) − 1)/s`` for a level between cuts a < b.
    """
    below = jax.nn.sigmoid((jnp.reshape(cuts, (-1, *[1] * jnp.ndim(margin))) - margin) / scale)
    none, every = jnp.zeros_like(below[:1]), jnp.ones_like(below[:1])
    low, high = jnp.concatenate([none, below]), jnp.concatenate([below, every])
    return high - low, (low + high - 1) / scale


def pytensor_log_levels(margin: Any, cuts: Any, scale: Any) -> Any:
    """The same in PyTensor."""
    import pytensor.tensor as pt

    at = (cuts - margin[:, None]) / scale[:, None]
    middle = -pt.softplus(-at[:, 1:]) - pt.softplus(at[:, :-1]) + pt.log1p(-pt.exp(at[:, :-1] - at[:, 1:]))
    return pt.concatenate([-pt.softplus(-at[:, :1]), middle, np.float64(-1) * pt.softplus(at[:, -1:])], axis=1)


class CellMeans(dist.Distribution):  # type: ignore[misc] # NumPyro has no types
    """Means of one response's scores by every block around their centres (B,) or (R, B), its effect integrated out.

    ``ȳ_b = c_b + λ_b u + v_b + ε̄_b`` with ``u ~ N(0, 1)`` shared by the blocks, ``v_b ~ N(0, σ_b)``,
    ``ε̄_b ~ N(0, σ²_ε/n_b)``: the covariance is diagonal plus rank one, so Sherman–Morrison gives
    the density.

    n: Scores in each cell; 0 where there are none, whose mean is 0 and has no density.
    """

    arg_constraints: dict[str, Any] = {}  # noqa: RUF012 - the name and type NumPyro asks for
    support = constraints.real_vector

    def __init__(self, centre: Any, shared: Any, own: Any, noise: Any, n: Any) -> None:
        self.centre, self.shared, self.n = centre, shared, n
        self.spread = own**2 + noise**2 / jnp.maximum(n, 1)
        super().__init__(batch_shape=jnp.shape(n)[:1], event_shape=jnp.shape(n)[1:])

    def log_prob(self, value: Any) -> Any:
        """Log density of each response's means, (R,)."""
        present = self.n > 0
        off = value - self.centre
        weight = jnp.where(present, 1 / self.spread, 0.0)
        inflated = 1 + (weight * self.shared**2).sum(-1)
        pull = (weight * self.shared * off).sum(-1)
        quadratic = (weight * off**2).sum(-1) - pull**2 / inflated
        alone = jnp.where(present, jnp.log(2 * jnp.pi * self.spread), 0.0).sum(-1)
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
        drawn = 2 * self.spread * jnp.exp(log_gamma(key, half, (*sample_shape, *self.batch_shape)))
        return jnp.where(self.freedom > 0, drawn, 0.0)
