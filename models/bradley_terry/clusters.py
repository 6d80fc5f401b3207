"""What battles that share prompts, or voters, do to the errors of strengths (METHODS 4.6), and so to draws of Elo.

The likelihood takes battles as independent. On a prompt a model does better or worse than elsewhere,
θ_ip = θ_i + u_ip with u ~ N(0, σ_u²), and a leaderboard is for new prompts. With H the curvature and B the
meat of single votes, estimates then vary by H⁻¹PH⁻¹, where independent votes have H⁻¹BH⁻¹. The difference
changes the draws of Elo: mostly it widens them, and along a chain of pairs, where errors of neighbours cancel,
it narrows them and takes back what the prior pulled.

P is a mean of two meats: that of effects u, which has full rank with any number of prompts but one σ_u for all
models, and the clustered sandwich's, which knows that prompts matter more to some models but has rank G − 1.
On MT-bench, prompts drawn again, effects alone left the worst difference at .83 to .87 where 95 % was
promised, a mean of both at .88 to .92 (`benchmarks/prompts.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.counts.battles.clusters import PEOPLE
from bayesjudge.counts.battles.few_clusters import clusters_of_models
from bayesjudge.maths.prompt_effects import prompt_effects, sandwich_meat
from bayesjudge.maths.strengths import Strengths, fit_strengths
from bayesjudge.models.common.shared_items import RANK, root, student

from bayesjudge.maths.battle_sums import BattleSums
if TYPE_CHECKING:
    from bayesjudge.counts.battles.counts import BattleCounts


type Array = NDArray[np.float64]

#: Most weight of the effects: alone they were too sure on MT-bench.
_MOST_EFFECTS = 0.5
#: Parts of the draws, by how much the prior pulls, and steps of Newton's method.
_PARTS, _STEPS = 8, 20
#: Data have at least this share of what is known of a direction: draws leave a noise of their own.
_LEAST_SHARE = 1e-3
#: Clusters may make the variance of a direction smaller, as along a chain of pairs, to no less than this share.
_LEAST_RATIO = 0.1
#: Degrees of freedom past which Student's t is the normal distribution.
_INFINITE = 1e9
#: Names of the axes of what `shared_errors` gives.
DIMS = {
    "alone": ("system", "other_system"),
    "added": ("system", "other_system"),
    "cluster_df": (),
    "clusters": ("column", "system"),
    "all_clusters": ("column",),
}


def shared_errors(counts: BattleCounts, judge: str | None) -> dict[str, Any]:
    """Covariances of the strengths of one rater, and the clusters that they rest on; K columns that cluster.

    Returns: ``alone, added`` (M, M): covariance of the estimates from independent votes, in squared logits, and what
        clusters add to it; ``cluster_df``: degrees of freedom; ``clusters`` (K, M) and ``all_clusters`` (K,): clusters
        with a battle of each model, and in all.
    """
    rater, models = PEOPLE if judge is None else counts.code("judge", judge) + 1, len(counts.models)
    battles, *columns = (rows.of(rater) for rows in (counts.battles, *counts.clusters))
    own = np.array([clusters_of_models(rows, models) for rows in columns]).reshape(len(columns), models)
    total = np.array([rows.count() for rows in columns], dtype=np.int64)
    found = {
        "alone": np.zeros((models, models)),
        "added": np.zeros((models, models)),
        "cluster_df": np.array(np.inf),
        "clusters": own,
        "all_clusters": total,
    }
    if not columns or total.min() < 2:
        return found
    at = fit_strengths(battles.sums(models=models))
    tables = [rows.sums(models=models) for rows in columns]
    single = _single_votes(at, battles.label)
    sandwich = sum(sandwich_meat(at, one) for one in tables) - (len(tables) - 1) * single
    effects = prompt_effects(at, tables).meat
    share = _share_of_effects(at, tables, effects - sandwich)
    meat = share * effects + (1 - share) * sandwich
    return {
        **found,
        "alone": at.covariance(single),
        "added": at.covariance(meat - single),
        "cluster_df": np.array(float(total.min() - 1)),
    }


def with_errors(draws: Array, *, added: Array, prior: Array, df: float, seed: int = 0) -> Array:
    """Draws (D, P) as they would be had the likelihood known that its estimates vary by ``added`` more.

    Under a prior of mean 0 and precision π, a posterior of mean m and covariance S comes from an estimate
    θ̂ = K⁻¹ S⁻¹ m with errors K⁻¹ = (S⁻¹ − π)⁻¹, and with errors V ≤ K⁻¹ it would be N(C V⁻¹ θ̂, C), C = (V⁻¹ + π)⁻¹.
    Errors that are larger than K⁻¹ are added to C and leave the mean: weights of a few clusters are noise. As π is a
    parameter itself, all this is done for draws of about equal π at a time.

    prior: π of every draw (D,).
    df: Degrees of freedom of ``added``: draws are scaled by √(df/χ²_df).
    """
    parts = np.array_split(np.argsort(prior, kind="stable"), min(_PARTS, len(draws)))
    pulls, means = [prior[part].mean() for part in parts], [draws[part].mean(axis=0) for part in parts]
    away = np.concatenate([draws[part] - mean for part, mean in zip(parts, means, strict=True)])
    values, basis = np.linalg.eigh(away.T @ away / max(len(draws) - len(parts), 1))
    basis = basis[:, values > RANK * values.max()]
    own = _data_precision(values[-basis.shape[1] :], np.array(pulls))
    estimate = np.mean([(1 + pull / own) * (mean @ basis) for pull, mean in zip(pulls, means, strict=True)], axis=0)
    precision, more = _reweighted(own, basis.T @ added @ basis)
    found = np.empty_like(draws)
    for part, pull, mean in zip(parts, pulls, means, strict=True):
        covariance = np.linalg.inv(precision + pull * np.eye(len(own)))
        shift = covariance @ precision @ estimate - own / (own + pull) * estimate
        spread = root(covariance + covariance @ more @ covariance) * np.sqrt(own + pull)
        found[part] = mean + ((draws[part] - mean) @ basis @ spread.T + shift) @ basis.T
    middle = found.mean(axis=0)
    return np.asarray(middle + student(min(df, _INFINITE), draws.shape, seed=seed) * (found - middle))


def _data_precision(variance: Array, prior: Array) -> Array:
    """Precision k of the data in each direction, of which ``variance`` is the mean of 1/(k + prior)."""
    found = np.maximum(1 / variance - prior.mean(), _LEAST_SHARE / variance - prior.min())
    for _ in range(_STEPS):
        each = 1 / (found[:, None] + prior)
        found = found + (each.mean(axis=1) - variance) / (each**2).mean(axis=1)
    return np.asarray(np.maximum(found, _LEAST_SHARE / variance))


def _reweighted(own: Array, added: Array) -> tuple[Array, Array]:
    """V⁻¹ of errors no larger than 1/own, and V⁻¹(errors − V)V⁻¹ of what is more in others."""
    scale = np.sqrt(own)
    more, ways = np.linalg.eigh(scale[:, None] * added * scale)
    weights = 1 / np.clip(1 + more, _LEAST_RATIO, 1), np.maximum(more, 0)
    less, larger = (scale[:, None] * ((ways * values) @ ways.T) * scale for values in weights)
    return less, larger


def independent(arrays: dict[str, Any]) -> dict[str, Any]:
    """The same design where no two battles share anything: replicated battles are drawn so."""
    return arrays | {name: np.zeros_like(arrays[name]) for name in ("added", "group_added") if name in arrays}


def _share_of_effects(at: Strengths, tables: Sequence[BattleSums], apart: Array) -> float:
    """Weight of the effects' meat in the mean: the sandwich's noise over its squared distance from them.

    Both in covariances of strengths (Ledoit & Wolf 2003, eq. 14).
    """
    noise = 0.0
    for table in tables:
        part = at.grouped(table)
        scores = part.scores @ at.inverse
        groups, squares = part.times[np.unique(table.cluster)].sum(), (scores**2).sum(axis=1)
        noise += float(part.times @ squares**2 - (at.covariance(part.meat) ** 2).sum() / groups)
    return min(noise / max(float((at.covariance(apart) ** 2).sum()), 1e-300), _MOST_EFFECTS)


def _single_votes(at: Strengths, label: Array) -> Array:
    """Meat of single votes: those of one battle are kept apart."""
    sums = at.sums
    square = sums.total * (label - at.expected(sums)) ** 2
    found = np.zeros((sums.models, sums.models))
    for one, other, sign in ((0, 0, 1), (1, 1, 1), (0, 1, -1), (1, 0, -1)):
        sides = (sums.first, sums.second)
        np.add.at(found, (sides[one], sides[other]), sign * square)
    return found
