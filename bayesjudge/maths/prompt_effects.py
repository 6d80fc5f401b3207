"""Covariances of strengths where battles share prompts or voters: a sandwich, and effects of prompts.

The sandwich is for contrasts one at a time: with fewer clusters than models its rank is too small for a
posterior. Effects of model × prompt, fitted by moments, have full rank with any number of prompts
(METHODS 4.6).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesjudge.errors import UsageError
from bayesjudge.maths.battle_sums import BattleSums, Floats
from bayesjudge.maths.bradley_terry import PER_LOGIT
from bayesjudge.maths.strengths import Clusters, Strengths

#: (16 √3 / 15 π)², and the flattened variance past which effects of any size look equal.
_FLATTER, _FLATTEST = 0.346, 1.2


def sandwich_meat(at: Strengths, clusters: BattleSums) -> Floats:
    """``G/(G − 1) Σ_c S_c S_c'``: covariance of the score where clusters are the independent units, (RQ, RQ).

    Intervals take Student's t with G − 1 degrees of freedom (Cameron & Miller 2015).
    """
    groups = clusters.times[np.unique(clusters.cluster)].sum()
    if groups < 2:
        raise UsageError(
            f"clustered errors need 2 clusters or more, and there is {groups:.0f}: "
            "cluster='none' takes battles as independent"
        )
    return np.asarray(at.grouped(clusters).meat * groups / (groups - 1))


@dataclass(frozen=True, eq=False, kw_only=True)
class PromptEffects:
    """Effects of a model on a prompt, ``θ_rip = θ_ri + u_rip`` with ``cov(u_rip, u_sip) = σ_rs``.

    parts: Scores and curvatures of each kind of cluster.
    moments, sizes: ``G/(G − 1) Σ_c S_cr · S_cs − tr B_rs`` and ``Σ_c tr(H_cr H_cs)``.
    working: Their quotients; positive semi-definite. Two things make them smaller than σ_rs: the curvature counts a
        battle with itself, and a logistic function flattens.
    meat: ``P = B + Σ_l working_l Σ_c H_c H_c'``: of full rank with any number of clusters.
    """

    at: Strengths
    parts: Sequence[Clusters]
    moments: Floats
    sizes: Floats
    working: Floats
    meat: Floats

    @functools.cached_property
    def variance(self) -> tuple[Floats, Floats]:
        """σ_rr in squared logits, not cut off at 0, and its standard error, (L, R) each.

        NaN where no cluster has two battles. A battle covaries with the others and not with itself, so that
        single battles leave ``Σ_c tr H_c²``. What covaries is ``σ(d + e)`` with ``e ~ N(0, 2 σ_rr)``, whose
        regression on e is flatter than the logistic function by ``κ² = 1 + .346 · 2 σ_rr`` (Zeger, Liang &
        Albert 1988): moments give ``σ_rr / κ²``.
        """
        own, at = np.arange(self.at.sums.raters), self.at
        whole = self.sizes[:, own, own]
        others = whole - np.diag(_sizes(at.grouped(at.sums), at))
        others = np.where(others > 1e-9 * whole, others, np.nan)
        flat = self.moments[:, own, own] / others
        left = 1 - 2 * _FLATTER * np.clip(flat, 0.0, _FLATTEST)
        error = np.array([_estimating(part, at, flat[k] * others[k]) for k, part in enumerate(self.parts)])
        return flat / left, error.reshape(flat.shape) / others / left**2

    def spread(self, *, prob: float = 0.95) -> Floats:
        """σ_u of each kind of cluster and rater in Elo, (L, R, 3): point and limits, none below 0."""
        from scipy.stats import norm

        variance, error = self.variance
        reach = float(norm.ppf((1 + prob) / 2)) * error
        ends = np.stack([variance, variance - reach, variance + reach], axis=-1)
        return np.asarray(PER_LOGIT * np.sqrt(np.maximum(ends, 0.0)))


def prompt_effects(at: Strengths, clusters: Sequence[BattleSums]) -> PromptEffects:
    """Effects of model × cluster by moments: ``[Σ_c |S_c|² − tr B] / Σ_c tr H_c²`` for each kind of cluster.

    clusters: The same targets by prompt, by voter, ...; components add up. Where kinds overlap (a prompt of one voter)
        each takes what they share, so that errors are too large rather than too small.
    """
    sums, width = at.sums, at.sums.width
    parts = [at.grouped(one) for one in clusters]
    shape = (len(parts), sums.raters, sums.raters)
    moments = np.array([_excess(part, at) for part in parts]).reshape(shape)
    sizes = np.array([_sizes(part, at) for part in parts]).reshape(shape)
    raw = np.divide(moments, sizes, out=np.zeros(shape), where=sizes > 0)
    working = np.array([_nearest(one) for one in raw]).reshape(shape)
    meat = at.meat.copy()
    for kind, part in enumerate(parts):
        for r, s in np.ndindex(sums.raters, sums.raters):
            block = working[kind, r, s] * part.curvature_products(r, s)
            meat[r * width : (r + 1) * width, s * width : (s + 1) * width] += block
    return PromptEffects(at=at, parts=parts, moments=moments, sizes=sizes, working=working, meat=meat)


def _excess(part: Clusters, at: Strengths) -> Floats:
    """``G/(G − 1) Σ_c S_cr · S_cs − tr B_rs``, (R, R): what clusters share beyond their battles.

    Strengths were fitted to the same scores, which takes one part in G of them.
    """
    of_rater = np.repeat(np.eye(at.sums.raters), at.sums.width, axis=0)
    present = (abs(part.scores) @ of_rater > 0).astype(float)
    groups = (present.T * part.times) @ present
    # Effects that two raters share cannot be learned from one cluster.
    factor = np.divide(groups, groups - 1, out=np.zeros_like(groups), where=groups > 1)
    battles = np.where(groups > 1, _block_traces(at.meat, at), 0.0)
    return np.asarray(factor * _block_traces(part.meat, at) - battles)


def _block_traces(matrix: Floats, at: Strengths) -> Floats:
    """Traces over strengths of the blocks of every two raters, (R, R): effects have other units."""
    raters, models = at.sums.raters, at.sums.models
    blocks = matrix.reshape(raters, at.sums.width, raters, at.sums.width)[:, :models, :, :models]
    return np.asarray(np.einsum("risi->rs", blocks))


def _sizes(part: Clusters, at: Strengths) -> Floats:
    """``Σ_c tr(H_cr H_cs)`` over strengths, (R, R)."""
    only = [_of_strengths(curvature, at) for curvature in part.curvatures]
    times = np.repeat(part.times, at.sums.models)
    return np.array([[times @ np.asarray(a.multiply(b).sum(axis=1)).reshape(-1) for b in only] for a in only])


def _of_strengths(curvature: Any, at: Strengths) -> Any:
    """Rows and columns of strengths, (G·M, M)."""
    rows = np.flatnonzero(np.arange(curvature.shape[0]) % at.sums.width < at.sums.models)
    return curvature[rows][:, : at.sums.models]


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


def _estimating(part: Clusters, at: Strengths, excess: Floats) -> Floats:
    """Standard deviation of each rater's excess, from how its terms vary over clusters, (R,)."""
    found, models, width, times = [], at.sums.models, at.sums.width, part.times
    groups, battles = len(times), np.diag(_block_traces(at.meat, at))
    for r, curvature in enumerate(part.curvatures):
        own = _of_strengths(curvature, at)
        squares = np.asarray(part.scores[:, r * width : r * width + models].power(2).sum(axis=1)).reshape(-1)
        sizes = np.asarray(own.power(2).sum(axis=1)).reshape(groups, models).sum(axis=1)
        diagonal = own[np.arange(groups * models), np.tile(np.arange(models), groups)]
        traces = np.asarray(diagonal).reshape(groups, models).sum(axis=1)
        # Battles add to E|S_c|² as they add to the curvature, effects as they add to its square.
        expected = battles[r] * _share(traces, times) + excess[r] * _share(sizes, times)
        count = times[traces > 0].sum()
        found.append(np.sqrt((times * (squares - expected) ** 2).sum() * count / max(count - 1, 1)))
    return np.array(found)


def _share(values: Floats, times: Floats) -> Floats:
    return np.asarray(values / (times @ values) if values.any() else values)
