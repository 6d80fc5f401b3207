"""Effects of models on prompts: what battles that share a prompt, or a voter, have in common: METHODS 4.6."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesjudge.maths.battle_sums import Floats
from bayesjudge.maths.bradley_terry import PER_LOGIT
from bayesjudge.maths.strengths import Clusters, Strengths

__all__ = ["PromptEffects", "prompt_effects"]

#: (16 √3 / 15 π)², and the flattened variance past which effects of any size look alike.
_FLATTER, _FLATTEST = 0.346, 1.2


@dataclass(frozen=True, eq=False, kw_only=True)
class PromptEffects:
    """Effects of a model on a prompt, ``θ_rip = θ_ri + u_rip`` with ``cov(u_rip, u_sip) = σ_rs``.

    Attributes
    ----------
    working : float array (L, R, R)
        Variances that match the traces of ``G/(G − 1) Σ_c S_c S_c'``; positive semi-definite. Two things make
        them smaller than σ_rs: the curvature counts a battle with itself, and a logistic function flattens.
    meat : float array (RQ, RQ)
        ``P = B + Σ_l working_l Σ_c H_c H_c'``: of full rank with any number of clusters.
    variance, error : float array (L, R)
        σ_rr in squared logits, not cut off at 0, and its standard error; NaN where no cluster has two
        battles.
    """

    working: Floats
    meat: Floats
    variance: Floats
    error: Floats

    def spread(self, *, prob: float = 0.95) -> Floats:
        """σ_u of each kind and rater in Elo, (L, R, 3): point and limits, none below 0."""
        from scipy.stats import norm

        reach = float(norm.ppf((1 + prob) / 2)) * self.error
        ends = np.stack([self.variance, self.variance - reach, self.variance + reach], axis=-1)
        return np.asarray(PER_LOGIT * np.sqrt(np.maximum(ends, 0.0)))


def prompt_effects(at: Strengths) -> PromptEffects:
    """Effects of model × cluster for every kind of cluster that the sums tell apart, by moments.

    Examples
    --------
    Three prompts of four battles each, and all battles of a prompt end alike: variances are four times those
    of independent battles, and half as much again for so few prompts.

    >>> from bayesjudge.maths.battle_sums import sum_battles
    >>> from bayesjudge.maths.strengths import fit_strengths
    >>> zero, prompt = np.zeros(12, dtype=int), np.repeat(np.arange(3), 4)
    >>> sums = sum_battles(battle=np.arange(12), rater=zero, first=zero, second=zero + 1,
    ...                    target=np.array([1.0, 0.0, 0.0])[prompt], clusters=[prompt], models=2, raters=1)
    >>> at = fit_strengths(sums)
    >>> float((prompt_effects(at).meat[0, 0] / at.meat[0, 0]).round(2))
    6.0
    """
    sums, width = at.sums, at.sums.width
    kinds, raters = sums.cluster.shape[1], sums.raters
    parts = [at.clusters(kind) for kind in range(kinds)]
    moments = np.array([_excess(part, at) for part in parts]).reshape(kinds, raters, raters)
    gram = np.array([[_overlap(at, k, m) for m in range(kinds)] for k in range(kinds)])
    gram = gram.reshape(kinds, kinds, raters, raters)
    working = np.array([_nearest(one) for one in _solved(gram, moments)]).reshape(kinds, raters, raters)
    meat = at.meat.copy()
    for kind, part in enumerate(parts):
        for r in range(raters):
            for s in range(raters):
                block = (part.curvatures[r].T @ part.curvatures[s]).toarray()
                meat[r * width : (r + 1) * width, s * width : (s + 1) * width] += working[kind, r, s] * block
    variance, error = _unflattened(parts, at, gram, moments)
    return PromptEffects(working=working, meat=meat, variance=variance, error=error)


def _excess(part: Clusters, at: Strengths) -> Floats:
    """``G/(G − 1) Σ_c S_cr · S_cs − tr B_rs``, (R, R): what clusters share beyond their battles.

    Strengths were fitted to the same scores, which takes one part in G of them.
    """
    of_rater = np.repeat(np.eye(at.sums.raters), at.sums.width, axis=0)
    seen = (abs(part.scores) @ of_rater > 0).astype(float)
    groups = seen.T @ seen
    # Effects that two raters share cannot be told from one cluster.
    factor = np.divide(groups, groups - 1, out=np.zeros_like(groups), where=groups > 1)
    battles = np.where(groups > 1, _block_traces(at.meat, at), 0.0)
    return np.asarray(factor * _block_traces((part.scores.T @ part.scores).toarray(), at) - battles)


def _block_traces(matrix: Floats, at: Strengths) -> Floats:
    """Traces over strengths of the blocks of every two raters, (R, R): effects have other units."""
    raters, models = at.sums.raters, at.sums.models
    blocks = matrix.reshape(raters, at.sums.width, raters, at.sums.width)[:, :models, :, :models]
    return np.asarray(np.einsum("risi->rs", blocks))


def _overlap(at: Strengths, one: int, other: int) -> Floats:
    """``Σ tr(H_cr H_cs)`` over clusters c of both kinds at once, (R, R); strengths alone."""
    cluster = at.sums.cluster[:, one]
    if one != other:
        crossed = np.unique(at.sums.cluster[:, [one, other]], axis=0, return_inverse=True)[1]
        cluster = crossed.reshape(-1)
    only = [_of_strengths(part, at) for part in at.grouped(cluster).curvatures]
    return np.array([[a.multiply(b).sum() for b in only] for a in only])


def _of_strengths(curvature: Any, at: Strengths) -> Any:
    """Rows and columns of strengths, (G·M, M)."""
    rows = np.flatnonzero(np.arange(curvature.shape[0]) % at.sums.width < at.sums.models)
    return curvature[rows][:, : at.sums.models]


def _solved(gram: Floats, moments: Floats) -> Floats:
    """Variances (L, R, R) whose expected moments are those found.

    With one kind of cluster it is a quotient, left negative where it is; of several kinds none is below 0.
    """
    from scipy.optimize import nnls

    kinds, raters, _ = moments.shape
    found = np.zeros_like(moments)
    for r, s in np.ndindex(raters, raters):
        system, right = gram[:, :, r, s], moments[:, r, s]
        if not np.any(system):
            continue
        if kinds == 1:
            found[:, r, s] = right / system[0, 0]
        elif r == s:
            found[:, r, s] = nnls(system, right)[0]
        else:
            found[:, r, s] = np.linalg.lstsq(system, right, rcond=None)[0]
    return found


def _nearest(matrix: Floats) -> Floats:
    """A positive semi-definite matrix of the same diagonal, cut off at 0, and of correlations close by."""
    own = np.sqrt(np.maximum(np.diag(matrix), 0.0))
    scale = np.outer(own, own)
    correlation = np.divide(matrix, scale, out=np.zeros_like(matrix), where=scale > 0)
    correlation = np.clip(correlation, -1.0, 1.0)
    np.fill_diagonal(correlation, 1.0)
    values, vectors = np.linalg.eigh(correlation)
    positive = (vectors * np.maximum(values, 0.0)) @ vectors.T
    unit = np.sqrt(np.diag(positive))
    return np.asarray(positive / np.outer(unit, unit) * scale)


def _unflattened(
    parts: Sequence[Clusters], at: Strengths, gram: Floats, moments: Floats
) -> tuple[Floats, Floats]:
    """σ_rr and its standard error, (L, R).

    A battle covaries with the others, not with itself, so that ``Σ_b tr h_b²`` leaves the curvature. What
    covaries is ``σ(d + e)`` with ``e ~ N(0, 2 σ_rr)``, whose regression on e is flatter than the logistic
    function by ``κ² = 1 + .346 · 2 σ_rr`` (Zeger, Liang & Albert 1988): moments give ``σ_rr / κ²``.
    """
    kinds, raters = len(parts), at.sums.raters
    own, kind = np.arange(raters), np.arange(kinds)[:, None]
    others = np.maximum(gram - _battle_traces(at), 0.0)
    sizes = others[kind, kind, own, own].reshape(kinds, raters)
    none = sizes <= 1e-9 * gram[kind, kind, own, own].reshape(kinds, raters)
    flat = np.where(none, np.nan, _solved(others, moments)[:, own, own].reshape(kinds, raters))
    left = 1 - 2 * _FLATTER * np.clip(flat, 0.0, _FLATTEST)
    error = np.array([_estimating(part, at, flat[k] * sizes[k]) for k, part in enumerate(parts)])
    return flat / left, error.reshape(kinds, raters) / np.where(none, np.nan, sizes) / left**2


def _battle_traces(at: Strengths) -> Floats:
    """``Σ_b tr(h_br h_bs)`` of single battles, (R, R); of strengths alone, where ``(z'z)²`` is 4."""
    sums, p = at.sums, at.expected
    weight, half = p * (1 - p), np.where(at.sums.left == at.sums.right, 0.5, 1.0)
    found = np.zeros((sums.raters, sums.raters))
    terms = 4 * half * sums.nn * weight[sums.left] * weight[sums.right]
    np.add.at(found, (sums.rater[sums.left], sums.rater[sums.right]), terms)
    return np.asarray(found + found.T)


def _estimating(part: Clusters, at: Strengths, excess: Floats) -> Floats:
    """Standard deviation of each rater's excess, from how its terms vary over clusters, (R,)."""
    found, groups, models, width = [], part.number, at.sums.models, at.sums.width
    battles = np.diag(_block_traces(at.meat, at))
    for r, curvature in enumerate(part.curvatures):
        own = _of_strengths(curvature, at)
        squares = part.scores[:, r * width : r * width + models].power(2).sum(axis=1)
        sizes = own.power(2).sum(axis=1).reshape(groups, models).sum(axis=1)
        diagonal = own[np.arange(groups * models), np.tile(np.arange(models), groups)]
        traces = np.asarray(diagonal).reshape(groups, models).sum(axis=1)
        # Battles add to E|S_c|² as they add to the curvature, effects as they add to its square.
        expected = battles[r] * _share(traces) + excess[r] * _share(sizes)
        found.append(np.sqrt(((squares - expected) ** 2).sum() * groups / max(groups - 1, 1)))
    return np.array(found)


def _share(values: Floats) -> Floats:
    return np.asarray(values / values.sum() if values.any() else values)
