"""The posterior of choices among several options, by importance sampling.

The y_i and t_i are integrated out. Given the others they are independent, and each has an importance sample of
its own: `nodes` of a normal at its mode, drawn once, at the mode of the rest. The few numbers that are left (γ, σ,
μ, ν, σ_tie, ρ) are drawn from Student-t's, each fitted to the weighted draws of those before, and weighted by the
mixture of all (Cornuet et al. 2012); Pareto's k̂ says whether that was enough (Vehtari et al. 2024). Nothing is
compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, gammaln, logsumexp, ndtri

from bayesjudge.models.repeated_trials.choices import Array, Choices, Codes, Unknowns, probabilities, utilities

#: Fewest and most nodes of an item, and what all nodes and trials together may come to.
_NODES, _WORK = (32, 256), 400_000
#: Numbers of all trials' nodes that points are evaluated together by: few enough to stay in a processor's cache.
_TOGETHER = 120_000
#: Draws of a round, rounds, and effective draws that are enough: `inference.gate` asks for as many.
_DRAWS, _ROUNDS, ENOUGH = 700, 15, 400
#: Rounds that choose where nodes belong: the draws of a round with other nodes are of another likelihood.
_PLACED = 2
#: Items that a first mode is looked for with.
_FEW = 150
#: Steps to the mode of what items share, at most, and a gain after which no further one is made.
_MOVES, _LITTLE = 12, 0.2
#: Newton steps to an item's mode; its density is log-concave.
_STEPS = 12
#: Degrees of freedom of proposals: tails heavier than the posterior's keep weights bounded.
_FREEDOM = 6
#: Below this a product of probabilities may have lost digits on its way.
_SMALL = 1e-280
#: Variance of proposals over that of a normal at the mode.
_WIDER = 1.3


def _modes(data: Choices, unknown: Unknowns) -> tuple[Array, Array]:
    """Mode of each item's values (I, D) given the rest, and a root (I, D, D) of what proposals vary by."""
    trials = data.n.sum(2)
    count = trials / (1 + np.maximum(trials - 1, 0) * unknown.rho[0])
    design = np.zeros((len(data.n), data.size + 1, data.size - 1 + data.ties))
    design[:, :-1, : data.size - 1] = data.basis
    design[:, -1, data.size - 1 :] = 1.0
    precision = np.concatenate(
        [np.repeat(unknown.spread**-2.0, data.size - 1), unknown.tie_spread[: data.ties] ** -2.0]
    )
    centre = np.zeros((len(data.n), len(precision)))
    centre[:, : data.size - 1] = unknown.advantage[0] * data.right
    y = centre.copy()
    share = data.n / np.maximum(trials, 1)[..., None]
    for _ in range(_STEPS):
        p = probabilities(data, y, unknown, data.slots)
        pull = np.einsum("ikd,ia,iak->id", design, count, share - p) - precision * (y - centre)
        spread = -np.einsum("ia,iak,ial->ikl", count, p, p)
        spread[:, np.arange(data.size + 1), np.arange(data.size + 1)] += np.einsum("ia,iak->ik", count, p)
        curvature = design.swapaxes(1, 2) @ spread @ design + np.diag(precision)
        step = np.linalg.solve(curvature, pull[..., None])[..., 0]
        y += step / np.maximum(1.0, np.abs(step).max(axis=1, keepdims=True) / 2)
    return y, np.linalg.cholesky(_WIDER * np.linalg.inv(curvature))


@dataclass(frozen=True, eq=False, kw_only=True)
class Nodes:
    """An importance sample of every item's values, y (I, S, D), and its log density ``log_q`` (I, S)."""

    data: Choices
    y: Array
    log_q: Array

    @classmethod
    def around(cls, data: Choices, point: Array, rng: np.random.Generator) -> Self:
        """A Student-t around each item's mode at one point (d,)."""
        from scipy.stats import qmc

        mode, root = _modes(data, data.unpack(point[None]))
        size, half = mode.shape[1], _FREEDOM / 2
        count = 2 ** int(np.log2(np.clip(_WORK / len(data.trials[0]), *_NODES)))
        sobol = qmc.Sobol(size + 1, seed=rng).random(count)
        # Shifted for each item by itself, so that the errors of items do not add up.
        uniform = np.clip((sobol + rng.random((len(mode), 1, size + 1))) % 1.0, 1e-12, 1 - 1e-12)
        standard = ndtri(uniform[..., 1:]) / np.sqrt(gammaincinv(half, uniform[..., :1]) / half)
        log_q = gammaln(half + size / 2) - gammaln(half) - size / 2 * np.log(2 * half)
        log_q = log_q - (half + size / 2) * np.log1p((standard**2).sum(2) / _FREEDOM)
        log_q -= np.log(np.diagonal(root, axis1=1, axis2=2)).sum(1)[:, None]
        return cls(data=data, y=mode[:, None] + standard @ root.swapaxes(1, 2), log_q=log_q)

    @cached_property
    def _parts(self) -> tuple[Array, Array]:
        """e^v (I, K, S) and e^t (I, 1, S), over the largest e^v."""
        v, t = utilities(self.data, self.y)
        top = np.where(self.data.basis.any(2)[:, None], v, -np.inf).max(axis=2, keepdims=True)
        return np.exp(v - top).swapaxes(1, 2), np.exp(t[..., None] - top).swapaxes(1, 2)

    @cached_property
    def _of_trials(self) -> Array:
        """The one of `_parts` that belongs to each trial's outcome, (trials, S)."""
        item, _, outcome, _ = self.data.trials
        return np.concatenate(self._parts, axis=1)[item, outcome]

    @cached_property
    def _first(self) -> Codes:
        """Each item's first trial."""
        return np.flatnonzero(np.diff(self.data.trials[0], prepend=-1))

    @cached_property
    def _later(self) -> list[tuple[Codes, Codes]]:
        """Which items have a second trial and which it is, a third one, and so on: NumPy's `reduceat` is slow here."""
        trials = np.diff(self._first, append=len(self.data.trials[0]))
        having = [np.flatnonzero(trials > k) for k in range(1, int(trials.max()))]
        return [(items, self._first[items] + k) for k, items in enumerate(having, start=1)]

    @cached_property
    def _outcomes(self) -> Array:
        """Sum over an item's trials of the logarithms of `_of_trials`, (I, S)."""
        return np.asarray(np.add.reduceat(np.log(self._of_trials), self._first, axis=0))

    @cached_property
    def _squares(self) -> tuple[Array, Array, Array, Array]:
        """|y|² and y'B'1[right] of the preferences (I, S), the square of the latter's vector (I, 1), and t² (I, S)."""
        own, right = self.y[..., : self.data.size - 1], self.data.right
        square = (right**2).sum(1, keepdims=True)
        return (
            (own**2).sum(2),
            np.einsum("isk,ik->is", own, right),
            square,
            (self.y[..., self.data.size - 1 :] ** 2).sum(2),
        )

    def log_weights(self, unknown: Unknowns) -> Array:
        """Log likelihood and prior of every node over its density (B, I, S), at B values of the rest.

        The constant of the normals and the coefficients of the multinomials are left out.
        """
        data, (option, tie), even, weight = self.data, self._parts, np.exp(unknown.tie), unknown.weight
        total = weight[:, data.slots] @ option + even[:, None, None, None] * tie
        square, along, right, ties = self._squares
        shift, scale, tied, rho = (
            part[:, None, None] for part in (unknown.advantage, unknown.spread, unknown.tie_spread, unknown.rho)
        )
        prior = -0.5 * (square - 2 * shift * along + shift**2 * right) / scale**2 - (data.size - 1) * np.log(scale)
        if data.ties:
            prior -= 0.5 * ties / tied**2 + np.log(tied)
        slot = np.column_stack([weight, even])[:, data.trial_slots]
        return np.asarray(self._log_likelihood(total, slot, rho) + prior - self.log_q)

    def _log_likelihood(self, total: Array, slot: Array, rho: Array) -> Array:
        """Of every item's trials (B, I, S): sums of weights by arrangement (B, I, A, S), weights by trial (B, T)."""
        data = self.data
        item, cell, _, number = data.trials
        if not data.repeats:
            apart = np.add.reduceat(np.log(slot), self._first, axis=1)[..., None]
            return np.asarray(self._outcomes + apart - np.einsum("ia,bias->bis", data.n.sum(2), np.log(total)))
        p = self._of_trials * slot[..., None] / total[:, item, cell] * (1 - rho) + number[:, None] * rho
        # One logarithm an item in place of one a trial, where no product leaves the range of doubles.
        product = p[:, self._first]
        for items, trials in self._later:
            product[:, items] *= p[:, trials]
        if product.min() > _SMALL:
            return np.asarray(np.log(product))
        return np.asarray(np.add.reduceat(np.log(p), self._first, axis=1))

    def log_marginal(self, points: Array) -> Array:
        """Log posterior of points (B, d), up to a constant, (B,)."""
        return self.evaluated(points, np.zeros((len(points), 0)))[0]

    def evaluated(self, points: Array, uniform: Array) -> tuple[Array, NDArray[np.int16]]:
        """The same, and nodes of the first items by their weights, chosen by uniform numbers (B, items)."""
        unknown, known = self.data.unpack(points), uniform.shape[1]
        found, chosen = self.data.log_prior(points), np.empty(uniform.shape, dtype=np.int16)
        if self.data.repeats:
            trials, rho = self.data.n.sum(2), unknown.rho
            found -= sum(np.log(1 - rho + t * rho) * (trials > t).sum() for t in range(int(trials.max())))
        together = max(_TOGETHER // self._of_trials.size, 1)
        for b in (slice(first, first + together) for first in range(0, len(points), together)):
            log_weight = self.log_weights(unknown.at(b))
            top = log_weight.max(axis=2, keepdims=True)
            weight = np.cumsum(np.exp(log_weight - top), axis=2)
            found[b] += (np.log(weight[..., -1]) + top[..., 0]).sum(1)
            chosen[b] = (weight[:, :known] < uniform[b][..., None] * weight[:, :known, -1:]).sum(2)
        return np.where(np.isfinite(found), found, -np.inf), chosen


@dataclass(frozen=True, eq=False, kw_only=True)
class ChoicePosterior:
    """Draws of the posterior, resampled by their weights, and what the weights say of them.

    points: Of `Choices.names`.
    y: Of the items' values.
    log_prior, log_likelihood: Of the points, up to constants.
    pareto_k, ess: Of the weights of the points.
    noise: Root mean square error of an item's likelihood, relative: what the nodes leave open.
    """

    data: Choices
    points: Array
    y: Array
    log_prior: Array
    log_likelihood: Array
    pareto_k: float
    ess: float
    noise: float


def sample(data: Choices, *, draws: int = 400, seed: int = 0) -> ChoicePosterior:
    """Draw from the posterior of one judge's choices."""
    rng = np.random.default_rng(seed)
    point, covariance = np.zeros(len(data.names)), np.eye(len(data.names))
    # The mode of some of the items is where to look for that of all; nodes belong to a point.
    few = np.unique(np.linspace(0, len(data.n) - 1, min(_FEW, len(data.n))).astype(int))
    for part in (data.where(few), data):
        for _ in range(_MOVES):
            point, covariance, gain = _moved(Nodes.around(part, point, rng), point, covariance)
            if gain < _LITTLE:
                break
    for turn in range(_ROUNDS):
        if turn < _PLACED:
            nodes, centre, proposals = Nodes.around(data, point, rng), point, []
            z, log_density = np.empty((0, len(point))), np.empty(0)
            chosen = np.empty((0, len(data.n)), dtype=np.int16)
        proposals.append(Proposal(at=point, root=np.linalg.cholesky(_WIDER * covariance)))
        new = proposals[-1].draw(_DRAWS, rng)
        density, picks = nodes.evaluated(new, rng.random((_DRAWS, len(data.n))))
        z, log_density = np.concatenate([z, new]), np.concatenate([log_density, density])
        chosen = np.concatenate([chosen, picks])
        log_ratio = log_density - logsumexp([each.log_density(z) for each in proposals], axis=0)
        weight, pareto_k = _smoothed(log_ratio)
        ess = float(1 / (weight**2).sum())
        if pareto_k <= 0.7 and ess >= ENOUGH:
            break
        point, covariance = _moments(z, log_ratio)
    edges = (rng.random() + np.arange(draws)) / draws
    index = rng.permutation(np.minimum(np.searchsorted(np.cumsum(weight), edges), len(weight) - 1))
    log_prior = data.log_prior(z[index])
    return ChoicePosterior(
        data=data,
        points=z[index],
        y=nodes.y[np.arange(len(nodes.y)), chosen[index]],
        log_prior=log_prior,
        log_likelihood=log_density[index] - log_prior,
        pareto_k=pareto_k,
        ess=ess,
        noise=_noise(nodes, centre),
    )


def _moved(nodes: Nodes, at: Array, covariance: Array) -> tuple[Array, Array, float]:
    """One step of Newton's method on differences: point, inverse of the curvature, and what was gained."""
    root = np.linalg.cholesky(covariance)
    before, slope, curve = _differences(lambda u: nodes.log_marginal(at + u @ root.T), len(at))
    values, vectors = np.linalg.eigh(curve)
    # Where the density is not concave the step is one uphill, and no wider than before.
    inverse = (vectors / np.maximum(np.abs(values), 0.25)) @ vectors.T
    move = root @ inverse @ slope
    move *= min(1.0, 2.0 / max(float(np.abs(move).max()), 1e-12))
    for _ in range(4):
        (after,) = nodes.log_marginal((at + move)[None])
        if after >= before:
            return at + move, root @ inverse @ root.T, after - before
        move /= 4
    return at, root @ inverse @ root.T, 0.0


def _differences(value: Callable[[Array], Array], size: int) -> tuple[float, Array, Array]:
    """Value, slope (d,) and minus the curvature (d, d) at 0, over steps of half a unit."""
    step, (i, j) = 0.5 * np.eye(size), np.tril_indices(size, -1)
    centre, up, down, both = np.split(
        value(np.concatenate([0 * step[:1], step, -step, step[i] + step[j]])), np.cumsum([1, size, size])
    )
    curve = np.diag(2 * centre - up - down)
    curve[i, j] = curve[j, i] = up[i] + up[j] - centre - both
    return float(centre[0]), up - down, 4 * curve


@dataclass(frozen=True, eq=False, kw_only=True)
class Proposal:
    """A Student-t at a point (d,), with a root (d, d) of its scale."""

    at: Array
    root: Array

    def draw(self, number: int, rng: np.random.Generator) -> Array:
        """Points (number, d)."""
        mixed = rng.chisquare(_FREEDOM, (number, 1)) / _FREEDOM
        return np.asarray(self.at + rng.standard_normal((number, len(self.at))) / np.sqrt(mixed) @ self.root.T)

    def log_density(self, points: Array) -> Array:
        """Of points (N, d), up to a constant that all of `sample` share."""
        standard, freedom = np.linalg.solve(self.root, (points - self.at).T), _FREEDOM + len(self.at)
        return np.asarray(-freedom / 2 * np.log1p((standard**2).sum(0) / _FREEDOM) - np.log(np.diag(self.root)).sum())


def _moments(z: Array, log_ratio: Array) -> tuple[Array, Array]:
    """Mean and covariance of draws by their weights, to the largest power that leaves a tenth of them effective."""
    power = 1.0
    while True:
        weight = np.exp(power * (log_ratio - log_ratio.max()))
        weight /= weight.sum()
        if 1 / (weight**2).sum() >= len(z) / 10 or power < 1e-6:
            mean = weight @ z
            return mean, ((z - mean) * weight[:, None]).T @ (z - mean) + 1e-12 * np.eye(len(mean))
        power *= 0.8


def _smoothed(log_ratio: Array) -> tuple[Array, float]:
    """Pareto-smoothed weights that sum to 1, and k̂."""
    from arviz_stats.base import array_stats

    log_weight, k = array_stats.psislw(-np.maximum(log_ratio, log_ratio.max() - 700.0))
    weight = np.exp(log_weight - np.max(log_weight))
    return weight / weight.sum(), float(k)


def _noise(nodes: Nodes, point: Array) -> float:
    weight = nodes.log_weights(nodes.data.unpack(point[None]))[0]
    weight = np.exp(weight - weight.max(axis=1, keepdims=True))
    share = (weight**2).sum(1) / weight.sum(1) ** 2
    return float(np.sqrt(np.mean(share)))
