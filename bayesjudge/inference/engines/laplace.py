"""The Laplace engine: Newton to the mode, a Student-t fitted from there, Pareto-smoothed importance sampling.

For posteriors near a normal it answers in milliseconds, and it knows when it is wrong: k̂ of the importance
weights (Vehtari et al. 2024) above 0.7 means that the approximation has missed part of the posterior, and
the caller must fall back to NUTS, loudly.

The curvature at the mode says little of a posterior whose spreads are uncertain: towards small spreads it is
narrow and far away. So the weights of a round of draws give the next round its median, covariance and skew
(adaptive importance sampling, Cappé et al. 2008; scales of their own above and below, the split-t of Geweke
1989), tempered until enough of them count (Koblents & Míguez 2015). Nothing here decides whether the last
proposal is good enough: fresh draws from it do, by k̂ of their weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import softmax

from bayesjudge.inference.engines.metric import cholesky
from bayesjudge.inference.engines.starts import Mode, find_starts
from bayesjudge.inference.gate import LEAST_ESS, MOST_PARETO_K
from bayesjudge.inference.programs.at_points import TOGETHER, AtPoints, apart, slopes, stream
from bayesjudge.inference.programs.density import Arrays, Density, Sets

#: Parameters for which one more weighted draw is made for each that is returned, and the most: weights are
#: the more unequal the more parameters there are.
PER_DRAW, MOST = 2, 8
#: Times as many, where few of them are effective although their k̂ is fine: one far point in a tail can weigh as much
#: as hundreds. Twelve models without pooling have 330 effective of four times as many, 840 of eight.
AGAIN = (1, 2, 4, 8)


@dataclass(frozen=True, eq=False, kw_only=True)
class LaplaceDraws:
    """Importance-resampled draws of one posterior or of many.

    flat: Draws resampled by their smoothed weights.
    pareto_k: k̂ of each posterior's weights.
    ess: Smallest effective number of proposals of any parameter's mean, 5 % and 95 % quantile.
    gradient_norm: Largest absolute gradient where Newton stopped; infinite where there is no mode to start from.
    """

    flat: Any
    pareto_k: Any
    ess: Any
    gradient_norm: Any


def run_laplace(target: Density, arrays: Arrays, key: Any, *, draws: int, many: Sets | None = None) -> LaplaceDraws:
    """Approximate, weight and resample.

    arrays: Its data; with ``many`` the arrays it names have a leading axis of data sets.
    key: Equal keys give equal draws; with ``many`` a key for each data set.
    draws: Draws returned, resampled from up to ``MOST`` times as many, or eight times that where it helps.
    """
    found: list[_Resampled] = []
    norms = []
    for own, sets in apart(arrays, many):
        mode = find_starts(target, own, sets)
        keys = (key if many else [key])[len(found) : len(found) + len(mode.at)]
        rngs = partial(_rngs, keys)
        found += _weighted(slopes(target.potential, own, sets), mode, draws, rngs)
        norms.append(mode.gradient_norm)
    flat, k, ess = (np.stack(part) if many else part[0] for part in zip(*found, strict=True))
    norm = np.concatenate(norms) if many else norms[0][0]
    return LaplaceDraws(flat=flat, pareto_k=k, ess=ess, gradient_norm=norm)


def _rngs(keys: Any, *numbers: int) -> list[np.random.Generator]:
    return [stream(key, 0, *numbers) for key in keys]


def _weighted(
    at_points: AtPoints, mode: Mode, draws: int, rngs: Callable[..., list[np.random.Generator]]
) -> list[_Resampled]:
    """Draws of data sets that are computed together."""
    parameters = mode.at.shape[1]
    size = round_draws(parameters)

    def draw(proposals: Sequence[Proposal], number: int) -> tuple[Any, Any]:
        return weighted_draws(at_points, proposals, rngs(number), size)

    proposals = _fitted(draw, [first_proposal(*of) for of in zip(mode.at, mode.covariance, strict=True)])
    least = ceil(draws * min(ceil(parameters / PER_DRAW), MOST) / size)
    # Numbers that no round of the fit has had: draws that chose a proposal would flatter it.
    return _until_enough(lambda number: draw(proposals, ROUNDS[1] + number), least, draws, rngs)


def _fitted(draw: Callable[[Sequence[Proposal], int], tuple[Any, Any]], first: Sequence[Proposal]) -> list[Proposal]:
    """The proposals that rounds of draws lead to.

    A data set whose proposal has converged keeps it while others continue, so that it is what it would be alone.
    """
    found = [Round(proposal, 0.0, converged=False) for proposal in first]
    for turn in range(ROUNDS[1] if len(first[0].at) <= MOMENTS_UP_TO else 0):
        done = [one.converged and turn >= ROUNDS[0] for one in found]
        if all(done):
            break
        drawn = draw([one.proposal for one in found], turn)
        found = [
            one if kept else improved(z, log_ratio, one)
            for kept, one, z, log_ratio in zip(done, found, *drawn, strict=True)
        ]
    return [one.proposal for one in found]


class _Resampled(NamedTuple):
    """Draws of one posterior, and what their weights say of them."""

    flat: Any
    pareto_k: float
    ess: float

    def wants_more(self, draws: int) -> bool:
        """Whether there are too few effective proposals, and more would be of use."""
        return self.pareto_k <= MOST_PARETO_K and self.ess < min(draws, LEAST_ESS)


def _until_enough(
    draw: Callable[[int], Any], least: int, draws: int, rngs: Callable[..., list[np.random.Generator]]
) -> list[_Resampled]:
    """Every data set's draws, from as many rounds as it needs itself."""
    rounds: list[tuple[Any, Any]] = []
    found: list[_Resampled] = []
    for again in AGAIN:
        rounds += [draw(number) for number in range(len(rounds), again * least)]
        z, log_ratio = (np.concatenate(part, axis=1) for part in zip(*rounds, strict=True))
        enough = [not one.wants_more(draws) for one in found] or [False] * len(z)
        found = [found[k] if enough[k] else _resample(z[k], log_ratio[k], draws, rng) for k, rng in enumerate(rngs())]
        if not any(one.wants_more(draws) for one in found):
            break
    return found


def _resample(z: Any, log_ratio: Any, draws: int, rng: np.random.Generator) -> _Resampled:
    """Systematic resampling by Pareto-smoothed weights, in random order."""
    from arviz_stats.base import array_stats

    log_ratio = np.maximum(log_ratio, np.max(log_ratio) - 700.0)
    log_weight, k = array_stats.psislw(-log_ratio)
    weight = np.exp(log_weight - np.max(log_weight))
    weight /= weight.sum()
    edges = (rng.random() + np.arange(draws)) / draws
    index = np.minimum(np.searchsorted(np.cumsum(weight), edges), len(weight) - 1)
    return _Resampled(z[rng.permutation(index)], float(k), _worst_effective(z, weight))


def _worst_effective(z: Any, weight: Any) -> float:
    """Smallest effective sample size of any parameter's mean, 5 % and 95 % quantile.

    Weights are largest where the proposal is thinnest, often in a tail: 1/Σw² would not see that a tail's
    share is known less well. For h of mean μ the variance of its estimate is Σw²(h − μ)² (Owen 2013,
    section 9.3).
    """
    order = np.argsort(z, axis=0)
    ranked = weight[order]
    share = np.cumsum(ranked, axis=0)
    centred = z - weight @ z
    found = [(weight @ centred**2) / (weight**2 @ centred**2)]
    for tail in (0.05, 0.95):
        away = (share <= tail) - tail
        found.append(tail * (1 - tail) / (ranked**2 * away**2).sum(axis=0))
    return float(np.min(found))


#: Fewest degrees of freedom, and parameters for each: tails heavier than the posterior's keep weights bounded
#: and cost the more draws the more parameters share one radius.
FREEDOM, PER_DEGREE = 5, 2
#: Draws of a round for each parameter, as a covariance needs; the fewest batches of ``TOGETHER``.
ROUND, LEAST_ROUND = 500, 2
#: Fewest and most rounds: the effective draws of the first do not see a heavy tail.
ROUNDS = (3, 12)
#: Share of effective draws at which a proposal needs no further round, and at which weights are tempered.
CLOSE, FEWEST = 0.6, 0.1
#: Effective draws of a round that are enough whatever their share: of 44 and 92 parameters later rounds were no better
#: (k̂, and ESS of what is drawn in the end), and took two and three times as long.
ENOUGH = 1000
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

    at: Its median.
    root: Cholesky factor of its scale.
    above, below: Scales on either side of the median, along the axes of the Cholesky factor.
    """

    at: Any
    root: Any
    above: Any
    below: Any


class Round(NamedTuple):
    """Where the rounds have come to.

    proposal: Of the next round.
    effective: Effective draws of the last.
    converged: Whether a further one promises little.
    """

    proposal: Proposal
    effective: float
    converged: bool


def first_proposal(at: Any, covariance: Any) -> Proposal:
    """The proposal at a mode."""
    root = np.linalg.cholesky(covariance) if covariance.ndim == 2 else np.diag(np.sqrt(covariance))
    return Proposal(at, root, np.ones_like(at), np.ones_like(at))


def round_draws(parameters: int) -> int:
    """Draws of a round: enough for a covariance where there is to be one, whole batches of ``TOGETHER``."""
    needed = ROUND * parameters if parameters <= MOMENTS_UP_TO else 0
    return TOGETHER * max(LEAST_ROUND, ceil(needed / TOGETHER))


def improved(z: Any, log_ratio: Any, before: Round) -> Round:
    """The next proposal from draws (draws, d) and log ratios (draws,) of this one."""
    effective, draws = _effective(log_ratio), len(log_ratio)
    little = effective >= FEWEST * draws and effective < BETTER * before.effective
    weight = _tempered(log_ratio)
    proposal = before.proposal if weight is None else _moments(z, weight, before.proposal)
    return Round(proposal, effective, converged=effective >= min(CLOSE * draws, ENOUGH) or little)


def weighted_draws(
    at_points: AtPoints, proposals: Sequence[Proposal], rngs: Sequence[np.random.Generator], draws: int
) -> tuple[Any, Any]:
    """Draws (sets, draws, d) of each data set's proposal, and log ratios (sets, draws) of posterior to it."""
    at, root, above, below = map(np.stack, zip(*proposals, strict=True))
    size = at.shape[-1]
    freedom, shape = _freedom(size), (draws, size)
    normal = np.stack([rng.standard_normal(shape) for rng in rngs])
    standard = normal / np.sqrt([rng.chisquare(freedom, (draws, 1)) / freedom for rng in rngs])
    scales = np.where(standard > 0, above[:, None], below[:, None])
    z = at[:, None] + (standard * scales) @ root.swapaxes(1, 2)
    log_proposal = -0.5 * (freedom + size) * np.log1p((standard**2).sum(-1) / freedom)
    log_proposal -= np.log(scales).sum(-1)
    log_posterior = -at_points(z)[0]
    return z, np.where(np.isfinite(log_posterior), log_posterior, -np.inf) - log_proposal


def _freedom(parameters: int) -> int:
    return max(FREEDOM, ceil(parameters / PER_DEGREE))


def _effective(log_weight: Any) -> float:
    """Effective number of weighted draws, (Σw)²/Σw²; 0 where no weight is a positive number."""
    largest = np.max(log_weight)
    weight = np.exp(log_weight - (largest if np.isfinite(largest) else 0.0))
    total = weight.sum()
    return float(total**2 / (weight**2).sum()) if total > 0 else 0.0


def _tempered(log_ratio: Any) -> Any:
    """Weights that sum to 1, to the largest power at most 1 that leaves ``FEWEST`` of the draws effective; or none."""
    finite = np.where(np.isfinite(log_ratio), log_ratio, -np.inf)
    least = FEWEST * len(finite)

    def enough(power: float) -> bool:
        return _effective(power * finite) >= least

    power = 1.0 if enough(1.0) else _halved(enough, 0.0, 1.0)[0]
    return softmax(power * finite) if power > 0 else None


def _halved(below: Callable[[Any], Any], low: Any, high: Any) -> tuple[Any, Any]:
    """Bounds of what ``below`` is true up to, halved thirty times."""
    for _ in range(30):
        middle = (low + high) / 2
        under = below(middle)
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    return low, high


def _moments(z: Any, weight: Any, proposal: Proposal) -> Proposal:
    """A proposal with the weighted draws' median, covariance and skew; the old one where they have none."""
    mean = weight @ z
    centred = z - mean
    freedom = _freedom(z.shape[1])
    root = cholesky((centred * weight[:, None]).T @ centred * WIDER * (freedom - 2) / freedom)
    if root is None:
        return proposal
    standard = solve_triangular(root, centred.T, lower=True).T
    # Columns have a variance near 1.
    edge = np.full(standard.shape[1], 4.0)
    _, median = _halved(lambda middle: weight @ (standard <= middle) < 0.5, -edge, edge)
    with np.errstate(divide="ignore", invalid="ignore"):  # no draw on one side: no skew comes of it
        above, below = (_scale(standard - median, weight, side) for side in (1, -1))
        ratio = np.clip(above / below, 1 / MOST_SKEW, MOST_SKEW)
    even = np.sqrt((ratio**2 + 1) / 2)
    moved = Proposal(mean + root @ median, root, ratio / even, 1 / even)
    return moved if all(np.isfinite(part).all() for part in moved) else proposal


def _scale(standard: Any, weight: Any, side: int) -> Any:
    """Root mean square of every column over its weighted draws on one side of 0."""
    beyond = weight[:, None] * (side * standard > 0)
    return np.sqrt((beyond * standard**2).sum(0) / beyond.sum(0))
