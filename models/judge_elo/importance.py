"""Hyperparameters of many posteriors that differ little, by importance sampling from one proposal.

The posterior of all data is explored first: a Student-t of its mean and covariance is what the leave-one-out
folds draw from, who differ from it by one model's votes. Whether that was good enough for a fold is for its
weights to say (k̂, Vehtari et al. 2024); where it was not, its own weights give further proposals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, gammaln, ndtri, softmax

from bayesjudge.models.judge_elo.marginal import Marginal, Priors, combined, find_mode, log_prior, unpacked
from bayesjudge.models.judge_elo.scales import joint_scale

type Floats = NDArray[np.float64]
#: Draws for each hyperparameter.
DRAWS = 48
#: Degrees of freedom of a first proposal, and of those that follow: logarithms of small spreads have a long tail.
FREEDOM, HEAVIER = 7.0, 2.0
#: Rounds of proposals at most, and when no further one is needed: evenly spread draws of one good proposal, or as many
#: effective ones of several as the first round has.
_ROUNDS, _GOOD_K, _GOOD_SHARE = 6, 0.4, 0.4
#: Likely hyperparameters that expectations are taken over.
_POINTS = 48
#: Largest logarithm of a scale, and logit.
_FURTHEST = 12.0
#: More than any quadratic form: what keeps a bordered matrix positive definite.
_BORDER = 1e12
#: Numbers in an array of covariances: 1 MB, which a core's cache holds, takes an eighth less time than 32 MB.
_AT_A_TIME = 150_000


@dataclass(frozen=True, eq=False, kw_only=True)
class Functional:
    """``contrast' θ + ε``: a difference of people's strengths and an error that may covary with y's.

    variance: Of ε.
    shared: Covariance of ε with the noise of y.
    """

    contrast: Floats
    variance: float
    shared: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class Weighted:
    """Weighted draws of the hyperparameters, and what each says of a functional.

    u: Unconstrained hyperparameters.
    weight: Smoothed importance weights, sum 1.
    pareto_k, ess: k̂ and 1/Σw².
    """

    u: Floats
    weight: Floats
    mean: Floats
    variance: Floats
    pareto_k: float
    ess: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Proposal:
    """A multivariate Student-t about ``centre`` (d,), of scale ``root root'`` (d, d)."""

    centre: Floats
    root: Floats
    freedom: float = FREEDOM

    def moved(self, u: Floats, weight: Floats) -> Proposal:
        """With the mean and covariance of weighted draws, as far as they are effective."""
        centre = weight @ u
        apart = u - centre
        trust = 1 / (1 + 2 * len(centre) * (weight**2).sum())
        mixed = trust * (apart.T * weight) @ apart + (1 - trust) * self.root @ self.root.T
        return Proposal(centre=trust * centre + (1 - trust) * self.centre, root=np.linalg.cholesky(mixed))

    def draw(self, draws: int, seed: int) -> Floats:
        """Points of a scrambled Sobol sequence, which fill the space evenly."""
        from scipy.stats import qmc

        d = len(self.centre)
        uniform = qmc.Sobol(d + 1, rng=np.random.default_rng(seed)).random(draws)
        uniform = np.clip(uniform, 1e-9, 1 - 1e-9)
        chi2 = 2 * gammaincinv(self.freedom / 2, uniform[:, -1])
        z = ndtri(uniform[:, :-1]) * np.sqrt(self.freedom / chi2)[:, None]
        # Past these limits scales overflow; no posterior has weight there.
        return np.clip(self.centre + z @ self.root.T, -_FURTHEST, _FURTHEST)

    def log_density(self, u: Floats) -> Floats:
        """At points (S, d), up to a constant that all proposals share."""
        d, freedom = len(self.centre), self.freedom
        z = np.linalg.solve(self.root, (u - self.centre).T)
        whole = gammaln((freedom + d) / 2) - gammaln(freedom / 2) - d / 2 * np.log(freedom)
        density = whole - (freedom + d) / 2 * np.log1p((z**2).sum(axis=0) / freedom)
        return np.asarray(density - np.log(np.diagonal(self.root)).sum())


def explored(marginal: Marginal, priors: Priors, *, seed: int) -> Proposal:
    """What is known of the hyperparameters of one posterior, from its mode on."""
    first = _about_mode(marginal, priors)
    found = weighted(marginal, first, priors, _nothing(marginal), seed=seed, times=2)
    return first.moved(found.u, found.weight)


def _about_mode(marginal: Marginal, priors: Priors) -> Proposal:
    mode = find_mode(marginal, priors)
    return Proposal(centre=mode.at, root=np.linalg.cholesky(np.linalg.inv(mode.curvature)))


def _nothing(marginal: Marginal) -> Functional:
    return Functional(contrast=np.zeros(marginal.design.shape[2]), variance=0.0, shared=np.zeros(len(marginal.y)))


@dataclass(frozen=True, eq=False, kw_only=True)
class Points:
    """Hyperparameters (S, d) that were equally likely where they had these log densities (S,)."""

    u: Floats
    log_density: Floats


def likely(
    marginal: Marginal, priors: Priors, placed: Floats, points: Points | None = None
) -> tuple[Floats, Floats, Points]:
    """Posterior mean (R, Q) and covariance (RQ, RQ) of strengths and effects, placed where a rater sees them.

    points: Those of a posterior that hardly differs; with its points only weights move from one to the other.
    """
    points, weight = _weighed(marginal, priors, points)
    flat = marginal.effects.reshape(len(marginal.y), -1)
    design = np.concatenate([marginal.design.reshape(len(flat), -1), flat], axis=1)
    models, means, within = marginal.design.shape[2], [], np.zeros((design.shape[1],) * 2)
    for share, scale in zip(weight, joint_scale(np, *unpacked(points.u, marginal.judges)), strict=True):
        prior = np.eye(design.shape[1])
        prior[: -flat.shape[1] or None, : -flat.shape[1] or None] = np.kron(scale, np.eye(models))
        gain = np.linalg.solve(marginal.covariance(scale), design @ prior).T
        means.append(gain @ marginal.y)
        within += share * (prior - gain @ design @ prior)
    mean = weight @ means
    covariance = within + np.cov(np.array(means).T, aweights=weight, bias=True)
    raters = marginal.judges + 1
    return (placed @ mean).reshape(raters, -1), np.asarray(placed @ covariance @ placed.T), points


def _weighed(marginal: Marginal, priors: Priors, points: Points | None) -> tuple[Points, Floats]:
    """The points with their weights here; new ones where there are none, or few are likely here."""
    if points is not None:
        weight = np.asarray(softmax(_at(marginal, points.u, priors, _nothing(marginal))[0] - points.log_density))
        if 1 / (weight**2).sum() >= _POINTS / 2:
            return points, weight
    found = weighted(marginal, _about_mode(marginal, priors), priors, _nothing(marginal), seed=0)
    at = np.searchsorted(np.cumsum(found.weight), (np.arange(_POINTS) + 0.5) / _POINTS)
    u = found.u[np.minimum(at, len(found.u) - 1)]
    points = Points(u=u, log_density=_at(marginal, u, priors, _nothing(marginal))[0])
    return points, np.full(_POINTS, 1 / _POINTS)


def weighted(
    marginal: Marginal, proposal: Proposal, priors: Priors, functional: Functional, *, seed: int, times: int = 1
) -> Weighted:
    """Draws of one posterior, ``times`` as many as usual, and what they say of a functional.

    Where weights are uneven, they move the next round's proposal, and all rounds' draws count as those of one
    mixture (adaptive multiple importance sampling; Cornuet et al. 2012): a tail that one proposal misses has no
    large weight where another covers it.
    """
    from arviz_stats.base import array_stats

    # A Sobol sequence is even where its length is a power of two.
    usual = times * 2 ** math.ceil(math.log2(DRAWS * len(proposal.centre)))
    proposals, drawn = list[Proposal](), list[tuple[Floats, ...]]()
    for turn in range(_ROUNDS):
        # Where two rounds were not enough, the posterior is skewed: more draws find it.
        own = proposal.draw(usual * 2 ** (turn // 2), seed + turn)
        proposals.append(proposal)
        drawn.append((own, *_at(marginal, own, priors, functional)))
        u, log_density, mean, variance = map(np.concatenate, zip(*drawn, strict=True))
        log_weight, k = array_stats.psislw(_mixed(proposals, [len(one) for one, *_ in drawn], u) - log_density)
        weight = np.asarray(softmax(log_weight))
        ess = 1 / (weight**2).sum()
        if k <= _GOOD_K and ess >= usual * (_GOOD_SHARE if turn == 0 else 1):
            break
        proposal = replace(proposal.moved(u, weight), freedom=HEAVIER)
    return Weighted(u=u, weight=weight, mean=mean, variance=variance, pareto_k=float(k), ess=float(ess))


def _mixed(proposals: Sequence[Proposal], draws: Sequence[int], u: Floats) -> Floats:
    """Log density of the mixture of proposals that points came from, each by its number of draws."""
    parts = [one.log_density(u) + np.log(n) for one, n in zip(proposals, draws, strict=True)]
    return np.asarray(np.logaddexp.reduce(parts))


def _at(marginal: Marginal, u: Floats, priors: Priors, functional: Functional) -> tuple[Floats, Floats, Floats]:
    """Log density, and mean and variance of the functional, at each draw."""
    scales = joint_scale(np, *unpacked(u, marginal.judges))
    contrast, size = functional.contrast, len(marginal.y)
    shared = scales[:, 0] @ (marginal.design @ contrast).T + functional.shared
    parts = marginal.parts(border=2)
    found, step = np.empty((3, len(u))), max(1, _AT_A_TIME // size**2)
    for start in range(0, len(u), step):
        part = slice(start, start + step)
        # Two rows below K: a Cholesky factor then holds both right-hand sides, solved.
        bordered = combined(parts, scales[part])
        unit = np.sqrt(1 + scales[part, 0, 0])[:, None]
        bordered[:, size, :size], bordered[:, size + 1, :size] = marginal.y, shared[part] / unit
        bordered[:, [size, size + 1], [size, size + 1]] = _BORDER
        root = np.linalg.cholesky(bordered)
        white, own = root[:, size, :size], root[:, size + 1, :size] * unit
        log_root = np.log(np.diagonal(root, axis1=1, axis2=2)[:, :size]).sum(axis=1)
        found[:, part] = (-log_root - (white**2).sum(axis=1) / 2, (white * own).sum(axis=1), (own**2).sum(axis=1))
    prior = scales[:, 0, 0] * (contrast @ contrast) + functional.variance
    return found[0] + log_prior(priors, u, marginal.judges), found[1], np.maximum(prior - found[2], 0.0)
