"""Flip rates of infinitely many trials by maximum likelihood: a beta-binomial over items, with ties a Dirichlet.

Every item has outcome probabilities of its own, ``(p_a, p_b, p_tie) ~ Dirichlet(s(1 − t)/2, s(1 − t)/2, s t)``: which
response is called a is arbitrary, so a and b share one parameter, and without ties this is the symmetric
beta-binomial (Skellam 1948). ``1 − E max p`` is the flip rate of infinitely many trials, of which the observed
``1 − max/N`` is too low by construction. Intervals invert the likelihood ratio in s, at each s with its own best t.

They cover where items' probabilities are spread smoothly. Where some items are certain and others even, one beta fits
neither: the rate comes out too low, and with ten trials or more the observed one is better.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayesjudge.baselines.common.moments import Array
from bayesjudge.maths.clusters import sum_variances
from bayesjudge.maths.majority import TRIALS, majority_probability, most_likely

#: Logarithms of s at which every item is taken to be certain, and all to be the same.
LOG_LOW, LOG_HIGH = -9.0, 12.0
#: Midpoint quantiles of each of the two beta distributions that a Dirichlet is made of.
NODES = 400
#: Half of the step in log s over which scores are differences of log likelihoods.
_STEP = 1e-3


@dataclass(frozen=True, eq=False, kw_only=True)
class ItemDirichlet:
    """Maximum likelihood of s and t, with the interval of s.

    log_s: Estimate, lower and upper limit; flip rates rise with s.
    share: t at each of them.
    """

    log_s: tuple[float, float, float]
    share: tuple[float, float, float]

    @cached_property
    def _nodes(self) -> list[Array]:
        return [_nodes(*ends) for ends in zip(self.log_s, self.share, strict=True)]

    def flip_rate(self) -> tuple[float, float, float]:
        """1 − E max p: estimate, lower, upper."""
        return self._ordered([1 - p.max(1).mean() for p in self._nodes])

    def error(self, trials: int) -> tuple[float, float, float]:
        """Probability that the majority of K trials is not the true majority: estimate, lower, upper."""
        return self._ordered([1 - majority_probability(p, most_likely(p), trials=trials).mean() for p in self._nodes])

    def minimum_trials(self, target: float) -> tuple[float, float, float]:
        """Smallest number of trials that reaches the target, infinite where none of `TRIALS` does."""
        reached = np.array([[1 - one for one in self.error(trials)] for trials in TRIALS]) >= target
        smallest = np.where(reached.any(0), np.array(TRIALS, dtype=float)[reached.argmax(0)], np.inf)
        return self._ordered(smallest.tolist())

    @staticmethod
    def _ordered(values: list[float]) -> tuple[float, float, float]:
        point, *ends = (float(value) for value in values)
        return point, min(point, *ends), max(point, *ends)


def item_dirichlet(
    n: NDArray[np.int64], *, weight: Array | None = None, cluster: NDArray[np.int64] | None = None, prob: float
) -> ItemDirichlet | None:
    """Fit counts (I, 3) of a, b and tie; None where no item has two trials, which say nothing about s.

    weight: Of each row (I,); rows of one item that share a weight of 1 count as one item.
    cluster: What each row (I,) goes with. The likelihood ratio may then be as many times larger as the variance of
        clusters' scores is larger than the information (Chandler & Bate 2007).
    """
    from scipy.optimize import brentq, minimize_scalar
    from scipy.special import chdtri, expit, logit

    weight = np.ones(len(n)) if weight is None else weight
    used = n.sum(1) > 0
    if not (n.sum(1) > 1).any():
        return None
    sides = np.column_stack([np.sort(n[used, :2], axis=1), n[used, 2]])
    patterns, place = np.unique(sides, axis=0, return_inverse=True)
    repeats = np.bincount(place.reshape(-1), weights=weight[used])
    ties = bool(patterns[:, 2].any())

    def profile(log_s: float) -> tuple[float, float]:
        """Largest log likelihood at one s, and the t that has it."""
        if not ties:
            return _log_likelihood(log_s, 0.0, patterns, repeats), 0.0
        found = minimize_scalar(
            lambda x: -_log_likelihood(log_s, float(expit(x)), patterns, repeats),
            bounds=(logit(1e-6), logit(1 - 1e-6)),
            method="bounded",
            options={"xatol": 1e-8},
        )
        return -float(found.fun), float(expit(found.x))

    grid = np.linspace(LOG_LOW, LOG_HIGH, 43)
    start = int(np.argmax([profile(s)[0] for s in grid]))
    ends = grid[max(start - 1, 0)], grid[min(start + 1, len(grid) - 1)]
    best = float(minimize_scalar(lambda s: -profile(s)[0], bounds=ends, method="bounded", options={"xatol": 1e-8}).x)
    # A search inside an interval never returns its end, where items that all agree have their estimate.
    best = max((best, *ends), key=lambda s: profile(s)[0])
    top = profile(best)[0]
    allowed = chdtri(1, 1 - prob) / 2
    if cluster is not None:
        # Along the profile, so that what t takes up of the score in s is left out.
        low, high = (_row_likelihood(s, profile(s)[1], patterns) for s in (best - _STEP, best + _STEP))
        score = (high - low)[place.reshape(-1)]
        together, alone = sum_variances(weight[used] * score, cluster[used])[0], float(weight[used] @ score**2)
        allowed *= max(1.0, together / alone) if alone > 0 else 1.0

    def drop(log_s: float) -> float:
        return top - profile(log_s)[0] - float(allowed)

    least = LOG_LOW if drop(LOG_LOW) <= 0 else float(brentq(drop, LOG_LOW, best))
    most = LOG_HIGH if drop(LOG_HIGH) <= 0 else float(brentq(drop, best, LOG_HIGH))
    log_s = best, least, most
    first, second, third = (profile(s)[1] for s in log_s)
    return ItemDirichlet(log_s=log_s, share=(first, second, third))


def _log_likelihood(log_s: float, share: float, patterns: NDArray[np.int64], repeats: Array) -> float:
    return float(repeats @ _row_likelihood(log_s, share, patterns))


def _row_likelihood(log_s: float, share: float, patterns: NDArray[np.int64]) -> Array:
    from scipy.special import gammaln

    s = np.exp(log_s)
    total = gammaln(s) - gammaln(s + patterns.sum(1))
    for k, alpha in enumerate((s * (1 - share) / 2, s * (1 - share) / 2, s * share)):
        if alpha > 0:
            total = total + gammaln(alpha + patterns[:, k]) - gammaln(alpha)
    return np.asarray(total)


def _nodes(log_s: float, share: float) -> Array:
    """Outcome probabilities (Q, 3), equally weighted."""
    s = np.exp(log_s)
    first = _quantiles(log_s, s * (1 - share) / 2, s * (1 - share) / 2)
    if not share:
        return np.column_stack([first, 1 - first, np.zeros(NODES)])
    tie = _quantiles(log_s, s * share, s * (1 - share))
    first, tie = (part.ravel() for part in np.meshgrid(first[::8], tie[::8]))
    return np.column_stack([(1 - tie) * first, (1 - tie) * (1 - first), tie])


def _quantiles(log_s: float, a: float, b: float) -> Array:
    """Midpoint quantiles of a beta distribution; its limits at both ends of s."""
    from scipy.special import betaincinv

    at, mean = (np.arange(NODES) + 0.5) / NODES, a / (a + b)
    if log_s <= LOG_LOW:
        return (at > 1 - mean).astype(np.float64)
    return np.full(NODES, mean) if log_s >= LOG_HIGH else np.asarray(betaincinv(a, b, at))
