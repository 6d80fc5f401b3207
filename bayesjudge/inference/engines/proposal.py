"""A split Student-t to importance-sample a posterior from: at its mode first, then with its moments.

The curvature at the mode says little of a posterior whose spreads are uncertain: towards small spreads it is
narrow and far away. So the weights of a round of draws give the next round its median, covariance and skew
(adaptive importance sampling, Cappé et al. 2008; scales of their own above and below, the split-t of Geweke
1989), tempered until enough of them count (Koblents & Míguez 2015). Nothing here decides whether the last
proposal is good enough: fresh draws from it do, by k̂ of their weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular

from bayesjudge.inference.engines.mode import Mode
from bayesjudge.inference.programs.at_points import TOGETHER, AtPoints

__all__ = ["MOMENTS_UP_TO", "ROUNDS", "Proposal", "Round", "first_proposal", "improved", "round_draws",
           "weighted_draws"]  # fmt: skip

#: Fewest degrees of freedom, and parameters for each: tails heavier than the posterior's keep weights bounded
#: and cost the more draws the more parameters share one radius.
FREEDOM, PARAMETERS = 5, 2
#: Draws of a round for each parameter, as a covariance needs; the fewest batches of ``TOGETHER``.
ROUND, LEAST_ROUND = 500, 2
#: Fewest and most rounds: the effective draws of the first do not see a heavy tail.
ROUNDS = (3, 12)
#: Share of effective draws at which a proposal needs no further round, and at which weights are tempered.
CLOSE, FEWEST = 0.6, 0.1
#: Effective draws of a round over those of the last below which more rounds promise little.
BETTER = 1.1
#: Variances of the next round over those of this one's weighted draws: too wide costs less than too narrow.
WIDER = 1.4
#: Largest ratio of the scales above and below.
MOST_SKEW = 5.0
#: Parameters beyond which a round's draws do not give a covariance.
MOMENTS_UP_TO = 200


class Proposal(NamedTuple):
    """A split Student-t on unconstrained space: ``at + root @ (s * above)`` where ``s > 0``, else ``below``.

    Attributes
    ----------
    at : array (d,)
        Its median.
    root : array (d, d)
        Cholesky factor of its scale.
    above, below : array (d,)
        Scales on either side of the median, along the axes of the Cholesky factor.
    """

    at: Any
    root: Any
    above: Any
    below: Any


class Round(NamedTuple):
    """Where the rounds have come to.

    Attributes
    ----------
    proposal : Proposal
        Of the next round.
    effective : scalar
        Effective draws of the last.
    settled : scalar of bool
        Whether a further one promises little.
    """

    proposal: Proposal
    effective: Any
    settled: Any


def first_proposal(mode: Mode) -> Proposal:
    """The proposal at a mode, or at many with a leading axis of data sets."""
    even = np.ones_like(mode.at)
    return Proposal(mode.at, np.linalg.cholesky(mode.covariance), even, even)


def round_draws(parameters: int) -> int:
    """Draws of a round: enough for a covariance where there is to be one, whole batches of ``TOGETHER``."""
    needed = ROUND * parameters if parameters <= MOMENTS_UP_TO else 0
    return TOGETHER * max(LEAST_ROUND, ceil(needed / TOGETHER))


def improved(z: Any, log_ratio: Any, before: Round, frozen: Any) -> Round:
    """The next proposal from draws (draws, d) and log ratios (draws,) of this one; unless it is frozen."""
    effective, draws = _effective(log_ratio), log_ratio.shape[0]
    little = (effective >= FEWEST * draws) & (effective < BETTER * before.effective)
    proposal = _moments(z, _tempered(log_ratio), before.proposal)
    after = Round(proposal, effective, (effective >= CLOSE * draws) | little)
    chosen: Round = jax.tree.map(lambda old, new: jnp.where(frozen, old, new), before, after)
    return chosen


def weighted_draws(
    potential: AtPoints, proposal: Proposal, rngs: Sequence[np.random.Generator], draws: int
) -> tuple[Any, Any]:
    """Draws (sets, draws, d) of each data set's proposal, and log ratios (sets, draws) of posterior to it."""
    size = proposal.at.shape[-1]
    freedom, shape = _freedom(size), (draws, size)
    normal = np.stack([rng.standard_normal(shape) for rng in rngs])
    standard = normal / np.sqrt([rng.chisquare(freedom, (draws, 1)) / freedom for rng in rngs])
    at, root, above, below = map(np.asarray, proposal)
    scales = np.where(standard > 0, above[:, None], below[:, None])
    z = at[:, None] + (standard * scales) @ root.swapaxes(1, 2)
    log_proposal = -0.5 * (freedom + size) * np.log1p((standard**2).sum(-1) / freedom)
    log_proposal -= np.log(scales).sum(-1)
    log_posterior = -potential(z)
    return z, np.where(np.isfinite(log_posterior), log_posterior, -np.inf) - log_proposal


def _freedom(parameters: int) -> int:
    return max(FREEDOM, ceil(parameters / PARAMETERS))


def _effective(log_weight: Any) -> Any:
    """Effective number of weighted draws, (Σw)²/Σw²; 0 where no weight is a positive number."""
    largest = jnp.max(log_weight)
    weight = jnp.exp(log_weight - jnp.where(jnp.isfinite(largest), largest, 0.0))
    total = weight.sum()
    return jnp.where(total > 0, total**2 / (weight**2).sum(), 0.0)


def _tempered(log_ratio: Any) -> Any:
    """Weights that sum to 1, to the largest power at most 1 that leaves ``FEWEST`` of the draws effective."""
    finite = jnp.where(jnp.isfinite(log_ratio), log_ratio, -jnp.inf)
    least = FEWEST * log_ratio.shape[0]

    def halved(_: Any, bounds: Any) -> Any:
        low, high = bounds
        middle = (low + high) / 2
        enough = _effective(middle * finite) >= least
        return jnp.where(enough, middle, low), jnp.where(enough, high, middle)

    low, _ = jax.lax.fori_loop(0, 30, halved, (0.0, 1.0))
    power = jnp.where(_effective(finite) >= least, 1.0, low)
    return jax.nn.softmax(power * finite)


def _moments(z: Any, weight: Any, proposal: Proposal) -> Proposal:
    """A proposal with the weighted draws' median, covariance and skew; the old one where they have none."""
    mean = weight @ z
    centred = z - mean
    covariance = (centred * weight[:, None]).T @ centred
    freedom = _freedom(z.shape[1])
    root = jnp.linalg.cholesky(covariance * WIDER * (freedom - 2) / freedom)
    standard = solve_triangular(root, centred.T, lower=True).T
    median = _median(standard, weight)
    above, below = (_scale(standard - median, weight, side) for side in (1, -1))
    ratio = jnp.clip(above / below, 1 / MOST_SKEW, MOST_SKEW)
    even = jnp.sqrt((ratio**2 + 1) / 2)
    moved = Proposal(mean + root @ median, root, ratio / even, 1 / even)
    sound = jnp.all(jnp.array([jnp.all(jnp.isfinite(part)) for part in moved]))
    return Proposal(*(jnp.where(sound, new, old) for new, old in zip(moved, proposal, strict=True)))


def _median(standard: Any, weight: Any) -> Any:
    """Weighted median of every column, by halving: columns have a variance near 1."""

    def halved(_: Any, bounds: Any) -> Any:
        low, high = bounds
        middle = (low + high) / 2
        enough = weight @ (standard <= middle) >= 0.5
        return jnp.where(enough, low, middle), jnp.where(enough, middle, high)

    edge = jnp.full(standard.shape[1], 4.0)
    return jax.lax.fori_loop(0, 30, halved, (-edge, edge))[1]


def _scale(standard: Any, weight: Any, side: int) -> Any:
    """Root mean square of every column over its weighted draws on one side of 0."""
    beyond = weight[:, None] * (side * standard > 0)
    return jnp.sqrt((beyond * standard**2).sum(0) / beyond.sum(0))
