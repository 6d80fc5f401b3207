"""Covariances of strengths where battles share prompts or voters: a sandwich, effects of prompts, and their mean.

The sandwich is for contrasts one at a time: with fewer clusters than models its rank is too small for a
posterior. Effects of model × prompt, fitted by moments, have full rank with any number of prompts, but one
σ_u for all models, where prompts matter more to some (METHODS 4.6). On MT-bench, prompts drawn again, effects
alone left the worst difference of two models at .83 to .87 where 95 % was promised, a mean of both at .88 to .91.
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
from bayesjudge.maths.definite import nearest_definite
from bayesjudge.maths.strengths import Clusters, Strengths

#: Share of a strength's curvature, and number of even shares, above which a cluster hides much of its error.
_MUCH, _EVEN_SHARES = 0.25, 2.0
#: Share of the products of curvatures below which clusters have no two battles.
_NOTHING = 1e-9
#: Most weight of the effects in the mean: alone they were too sure on MT-bench.
_MOST_EFFECTS = 0.5
#: Most that an error may be of its variance where a limit is on the logarithmic scale.
_MOST_SHARE = 1.2
#: (16 √3 / 15 π)², and the flattened variance past which effects of any size look equal.
_FLATTER, _FLATTEST = 0.346, 1.2


def sandwich_meat(at: Strengths, clusters: BattleSums) -> Floats:
    """``G/(G − 1) Σ_c S_c S_c'``: covariance of the score where clusters are the independent units, (RQ, RQ).

    Intervals take Student's t with G − 1 degrees of freedom (Cameron & Miller 2015).
    """
    groups = clusters.groups
    if groups < 2:
        raise UsageError(
            f"clustered errors need 2 clusters or more, and there is {groups:.0f}: "
            "cluster='none' takes battles as independent"
        )
    return np.asarray(at.grouped(clusters).meat * groups / (groups - 1))


def crossed_meat(at: Strengths, clusters: Sequence[BattleSums], single: Floats) -> Floats:
    """The sandwich of several kinds of cluster: what each adds to the meat of single votes adds up.

    What clusters hide that hold much of a strength is added at the mean design effect, 1 or more (Morel, Bokossa &
    Neerchal 2003). Of 150 logs of 60 prompts, Elo of a model with 30 battles on one, two or three prompts was covered
    in .11, .62 and .79, now in .97, .91 and .93; where prompts matter by .5 logits in .06, .70, .77, now .78, .87, .90.
    """
    meat = np.zeros_like(at.meat)
    for one in clusters:
        plain, hidden = sandwich_meat(at, one), _hidden(at, one)
        effect = np.trace(at.inverse @ plain) / np.trace(at.inverse @ at.meat) if hidden.any() else 1.0
        meat += plain + max(effect, 1.0) * hidden
    return np.asarray(meat - (len(clusters) - 1) * single)


def _hidden(at: Strengths, clusters: BattleSums) -> Floats:
    """``Σ_c H_c H⁻¹ H_c`` of clusters with much of a strength: what the fit takes out of ``Σ_c S_c S_c'``, (RQ, RQ).

    Where all battles of a model are on one prompt, its score of that prompt is 0, whatever its error.
    """
    part, least = at.grouped(clusters), max(_MUCH, _EVEN_SHARES / clusters.groups)
    found, width = np.zeros_like(at.information), at.sums.width
    for r, curvature in enumerate(part.curvatures):
        own, entries = slice(r * width, (r + 1) * width), curvature.tocoo()
        diagonal = entries.row % width == entries.col
        cluster, column, held = entries.row[diagonal] // width, entries.col[diagonal], entries.data[diagonal]
        total = np.diag(at.information)[own][column]
        for c in np.unique(cluster[held > least * total]):
            block = curvature[c * width : (c + 1) * width].toarray()
            found[own, own] += part.times[c] * block @ at.inverse[own, own] @ block
    return found


def shared_meat(at: Strengths, clusters: Sequence[BattleSums], single: Floats, *, least_effects: float = 0.0) -> Floats:
    """Mean of the effects' meat and of the sandwich, (RQ, RQ): of full rank, and knowing that prompts matter unevenly.

    The weight of the effects is the sandwich's noise over its squared distance from them, both in covariances of
    strengths (Ledoit & Wolf 2003, eq. 14), a half at most.

    single: Meat of single votes: what two kinds of cluster have in common.
    least_effects: Least weight of the effects, where more hangs on the mean's inverse than on its entries.
    """
    sandwich, effects = crossed_meat(at, clusters, single), prompt_effects(at, clusters).meat
    noise = sum(_sandwich_noise(at, one) for one in clusters)
    distance = float((at.covariance(effects - sandwich) ** 2).sum())
    share = max(min(noise / max(distance, 1e-300), _MOST_EFFECTS), min(least_effects, 1.0))
    return np.asarray(share * effects + (1 - share) * sandwich)


def _sandwich_noise(at: Strengths, clusters: BattleSums) -> float:
    """Variance of the sandwich's covariance of strengths, summed over its entries."""
    part = at.grouped(clusters)
    fourth = part.times @ ((part.scores @ at.inverse) ** 2).sum(axis=1) ** 2
    return float(fourth - (at.covariance(part.meat) ** 2).sum() / clusters.groups)


@dataclass(frozen=True, eq=False, kw_only=True)
class PromptEffects:
    """Effects of a model on a prompt, ``θ_rip = θ_ri + u_rip`` with ``cov(u_rip, u_sip) = σ_rs``.

    parts: Scores and curvatures of each kind of cluster.
    moments, sizes: ``G/(G − 1) Σ_c S_cr · S_cs − tr B_rs`` and ``Σ_c tr(H_cr H_cs) − Σ_b tr(H_br H_bs)``: what is
        shared by a cluster's battles b, each with the others and not with itself.
    working: Their quotients; positive semi-definite, and smaller than σ_rs, since a logistic function flattens.
    meat: ``P = (B − Σ_l working_l Σ_b H_b H_b')₊ + Σ_l working_l Σ_c H_c H_c'``: what effects leave of single
        battles, and the effects; of full rank with any number of clusters.
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

        NaN where no cluster has two battles. What covaries is ``σ(d + e)`` with ``e ~ N(0, 2 σ_rr)``, whose
        regression on e is flatter than the logistic function by ``κ² = 1 + .346 · 2 σ_rr`` (Zeger, Liang &
        Albert 1988): moments give ``σ_rr / κ²``.
        """
        own, at = np.arange(self.at.sums.raters), self.at
        others = np.where(self.sizes[:, own, own] > 0, self.sizes[:, own, own], np.nan)
        flat = self.moments[:, own, own] / others
        left = 1 - 2 * _FLATTER * np.clip(flat, 0.0, _FLATTEST)
        error = np.array([_estimating(part, at, flat[k] * others[k]) for k, part in enumerate(self.parts)])
        return flat / left, error.reshape(flat.shape) / others / left**2

    def spread(self, *, prob: float = 0.95) -> Floats:
        """σ_u of each kind of cluster and rater in Elo, (L, R, 3): point and limits, none below 0.

        A variance that is estimated too small has too small an error. The upper limit is at the same number of errors
        on the logarithmic scale where that is further: votes on 20, 40 and 80 of MT-bench's prompts (300 logs each)
        were covered in .83, .87 and .96 by limits at equal distances, the truth nearly always above; now in .91, .94
        and .98.
        """
        from scipy.stats import norm

        variance, error = self.variance
        reach = float(norm.ppf((1 + prob) / 2))
        share = np.divide(error, variance, out=np.zeros_like(error), where=variance > 0)
        above = np.maximum(variance + reach * error, variance * np.exp(reach * np.minimum(share, _MOST_SHARE)))
        ends = np.stack([variance, variance - reach * error, above], axis=-1)
        return np.asarray(PER_LOGIT * np.sqrt(np.maximum(ends, 0.0)))


def prompt_effects(at: Strengths, clusters: Sequence[BattleSums]) -> PromptEffects:
    """Effects of model × cluster by moments, for each kind of cluster (`PromptEffects`).

    clusters: The same targets by prompt, by voter, ...; components add up. Where kinds overlap (a prompt of one voter)
        each takes what they share, so that errors are too large rather than too small.
    """
    shape = (len(clusters), at.sums.raters, at.sums.raters)
    if not clusters:
        nothing = np.zeros(shape)
        return PromptEffects(at=at, parts=[], moments=nothing, sizes=nothing, working=nothing, meat=at.meat)
    parts = [at.grouped(one) for one in clusters]
    alone, *together = (_products(part, at) for part in (at.grouped(at.sums), *parts))
    battles, *whole = (_block_traces(products, at) for products in (alone, *together))
    moments, sizes = np.array([_excess(part, at) for part in parts]), np.array(whole) - battles
    sizes = np.where(sizes > _NOTHING * np.array(whole), sizes, 0.0)
    raw = np.divide(moments, sizes, out=np.zeros(shape), where=sizes > 0)
    working = np.array([_nearest(one) for one in raw])
    working *= _possible(np.diag(working.sum(axis=0) * battles), np.diag(_block_traces(at.meat, at)))
    every = np.kron(working, np.ones((1, at.sums.width, at.sums.width)))
    meat = nearest_definite(at.meat - every.sum(axis=0) * alone) + (every * together).sum(axis=0)
    return PromptEffects(at=at, parts=parts, moments=moments, sizes=sizes, working=working, meat=meat)


def _products(part: Clusters, at: Strengths) -> Floats:
    """``Σ_c H_cr H_cs'`` of every two raters (RQ, RQ)."""
    raters = range(at.sums.raters)
    upper = {(r, s): part.curvature_products(r, s) for r in raters for s in raters if r <= s}
    return np.block([[upper[r, s] if r <= s else upper[s, r].T for s in raters] for r in raters])


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
    positive = nearest_definite(correlation)
    unit = np.sqrt(np.diag(positive))
    return np.asarray(positive / np.outer(unit, unit) * scale)


def _possible(explained: Floats, battles: Floats) -> Floats:
    """Factors (R, R) by which effects explain no more of single battles than there is."""
    share = np.divide(battles, explained, out=np.ones_like(battles), where=explained > battles)
    return np.asarray(np.sqrt(np.outer(share, share)))


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
