"""What battles that share prompts, or voters, do to the errors of strengths (METHODS 4.6), and so to draws of Elo.

The likelihood takes battles as independent. On a prompt a model does better or worse than elsewhere,
θ_ip = θ_i + u_ip with u ~ N(0, σ_u²), and a leaderboard is for new prompts. With H the curvature and B the
meat of single votes, estimates then vary by H⁻¹PH⁻¹, where independent votes have H⁻¹BH⁻¹. The difference
changes the draws of Elo: mostly it widens them, and along a chain of pairs, where errors of neighbours cancel,
it narrows them and takes back what the prior pulled.
P is a mean of two meats, of effects u and of the sandwich (`prompt_effects.shared_meat`, `benchmarks/prompts.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from bayesjudge.counts.battles.clusters import PEOPLE, BattleClusters, clustered_variance
from bayesjudge.counts.battles.counts import BattleCounts
from bayesjudge.counts.battles.few_clusters import clusters_of_models
from bayesjudge.maths.battle_sums import BattleSums
from bayesjudge.maths.prompt_effects import crossed_meat, shared_meat
from bayesjudge.maths.strengths import fit_strengths, poorly_known
from bayesjudge.models.common.shared_items import RANK, adjust

type Array = NDArray[np.float64]

#: Clusters may make the variance of a direction smaller, as along a chain of pairs, to no less than this share.
_LEAST_RATIO = 0.1
#: Directions in which estimates vary less than this share of the most are compared by no battle.
_LEAST_VARIANCE = 1e-8
#: Values of τ.
_GRID = 400
#: The label of a tie, and a gap of strengths past which none is expected.
_TIE, _FURTHEST = 0.5, 30.0
#: Names of the axes of what `shared_errors` gives.
DIMS = {
    "alone": ("system", "other_system"),
    "added": ("system", "other_system"),
    "estimate": ("system",),
    "well_known": (),
    "tie_added": (),
    "effect_added": ("effect",),
    "cluster_df": (),
    "clusters": ("column", "system"),
    "all_clusters": ("column",),
}


def shared_errors(
    counts: BattleCounts, judge: str | None, *, effects: Callable[[BattleClusters], Array]
) -> dict[str, Any]:
    """Covariances of the strengths of one rater, and the clusters that they rest on; K columns that cluster.

    effects: Covariates x of rows, (R, E).

    Returns: ``alone, added`` (M, M): covariance of the estimates from independent votes, in squared logits, and what
        clusters add to it; ``estimate`` (M,): of strengths, and ``well_known``: 1 where a normal about it will do for
        all; ``tie_added`` and ``effect_added`` (E,): the same of log ν and of effects, in variances of independent
        votes, 0 or more; ``cluster_df``: degrees of freedom; ``clusters`` (K, M) and ``all_clusters`` (K,): clusters
        with a battle of each model, and in all.
    """
    rater, models = PEOPLE if judge is None else counts.code("judge", judge) + 1, len(counts.models)
    battles, *columns = (rows.of(rater) for rows in (counts.battles, *counts.clusters))
    own = np.array([clusters_of_models(rows, models) for rows in columns]).reshape(len(columns), models)
    total = np.array([rows.count() for rows in columns], dtype=np.int64)
    found = {
        "alone": np.zeros((models, models)),
        "added": np.zeros((models, models)),
        "estimate": np.zeros(models),
        "well_known": np.array(0),
        "tie_added": np.array(0.0),
        "effect_added": np.zeros(effects(battles).shape[1]),
        "cluster_df": np.array(np.inf),
        "clusters": own,
        "all_clusters": total,
    }
    if not columns or total.min() < 2:
        return found

    def sums(rows: BattleClusters) -> BattleSums:
        return rows.sums(models=models, x=effects(rows))

    at = fit_strengths(sums(battles))
    votes = battles.single()
    single = at.grouped(sums(votes)).meat
    clusters = [sums(rows) for rows in columns]
    alone, added = at.covariance(single), at.covariance(shared_meat(at, clusters, single) - single)
    strengths, own = slice(models), np.diag(alone)[models:]
    more = np.diag(at.covariance(crossed_meat(at, clusters, single) - single))[models:]
    return {
        **found,
        "alone": alone[strengths, strengths],
        "added": added[strengths, strengths],
        "estimate": at.estimate[0, strengths],
        "well_known": np.array(int(not poorly_known(at.sums).any())),
        "tie_added": np.array(_added_to_ties(at.estimate[0], votes, columns)),
        "effect_added": np.maximum(np.divide(more, own, out=np.zeros_like(own), where=own > 0), 0.0),
        "cluster_df": np.array(float(total.min() - 1)),
    }


def _added_to_ties(strength: Array, votes: BattleClusters, columns: Sequence[BattleClusters]) -> float:
    """By how many variances of independent votes those of log ν grow: people tie more on some prompts than on others.

    The score of log ν is ties less those expected at Davidson's strengths, about 1/(share of no ties) times Hard-Elo's.
    """
    times = votes.n * votes.times[votes.cluster]
    share = float(times @ (votes.label == _TIE) / times.sum())
    if not 0 < share < 1:
        return 0.0

    def expected(log_tie: float, rows: BattleClusters) -> Array:
        gap = np.clip((strength[rows.first] - strength[rows.second]) / (1 - share), -_FURTHEST, _FURTHEST)
        return expit(log_tie - np.log(2 * np.cosh(gap / 2)))

    log_tie = brentq(lambda at: float(times @ expected(at, votes)) / times.sum() - share, -2 * _FURTHEST, 2 * _FURTHEST)

    def score(rows: BattleClusters) -> Array:
        return np.asarray((rows.label == _TIE) - expected(log_tie, rows))

    alone, variance, _ = clustered_variance(votes, columns, score)
    return max(variance / alone - 1, 0.0)


def with_added(draws: Array, added: Array, *, df: float) -> Array:
    """Draws (D, E) further from their mean by what clusters add to the variance of each, in variances of its own."""
    if not np.any(added):
        return draws
    own = np.diag(1 / draws.var(axis=0, ddof=1))
    return adjust(draws, information=np.zeros_like(own), variance=added * own, df=df)


def with_errors(draws: Array, *, data: Mapping[str, Any], spread: Array, log_prior: Callable[[Array], Array]) -> Array:
    """Draws of strengths (D, M) as they would be had the likelihood known the errors that clusters leave.

    Larger errors are added about the same mean, since weights by a few clusters are noise: Σ becomes
    Σ + ΣK more KΣ, K = Σ⁻¹ − 1/τ² (`shared_items.adjust`). Where some are smaller, draws first become those that
    follow from them (`_reweighted`).

    data: What `shared_errors` gives.
    spread, log_prior: τ of every draw (D,), and its log prior density.
    """
    if not np.any(data["added"]):
        return draws
    less, more = _split(np.asarray(data["alone"]), np.asarray(data["added"]))
    if data["well_known"] and not np.allclose(less, data["alone"]):
        draws, spread = _reweighted(draws, data=data, less=less, spread=spread, log_prior=log_prior)
    values, basis = np.linalg.eigh(np.atleast_2d(np.cov(draws, rowvar=False)))
    basis, values = basis[:, values > RANK * values.max()], values[values > RANK * values.max()]
    own = (basis * np.maximum(1 / values - spread.mean() ** -2.0, 0)) @ basis.T
    return adjust(draws, information=np.zeros_like(own), variance=own @ more @ own, df=float(data["cluster_df"]))


def _split(alone: Array, added: Array) -> tuple[Array, Array]:
    """Errors no larger than ``alone`` in any direction, and what is more in others."""
    values, vectors = _compared(alone)
    scale, inverse = (vectors * values**power for power in (0.5, -0.5))
    more, ways = np.linalg.eigh(inverse.T @ added @ inverse)
    ways = scale @ ways
    less, larger = ((ways * share) @ ways.T for share in (np.clip(1 + more, _LEAST_RATIO, 1), np.maximum(more, 0)))
    return less, larger


def _compared(alone: Array) -> tuple[Array, Array]:
    """Variances and directions of what battles compare; the penalty holds the level, and parts that nothing links."""
    values, vectors = np.linalg.eigh(alone)
    kept = values > _LEAST_VARIANCE * values.max()
    return values[kept], vectors[:, kept]


def _reweighted(
    draws: Array, *, data: Mapping[str, Any], less: Array, spread: Array, log_prior: Callable[[Array], Array]
) -> tuple[Array, Array]:
    """Draws that an estimate θ̂ with errors V leaves, of those where its errors were K⁻¹; and their τ.

    Of θ̂ ~ N(θ, V) and θ ~ N(0, τ²), θ given τ is N(C V⁻¹ θ̂, C) with C = (V⁻¹ + 1/τ²)⁻¹, and θ̂ alone N(0, V + τ²).
    Each τ keeps its quantile, and each draw its distance from its mean in standard deviations.
    """
    _, basis = _compared(np.asarray(data["alone"]))
    estimate = np.asarray(data["estimate"]) @ basis
    (before, one), (after, two) = (np.linalg.eigh(basis.T @ errors @ basis) for errors in (data["alone"], less))
    grid = np.exp(np.linspace(np.log(spread.min() / 4), np.log(4 * max(spread.max(), abs(estimate).max())), _GRID))
    old, new = (
        _distribution(grid, log_prior(grid), estimate @ turn, errors) for errors, turn in ((before, one), (after, two))
    )
    found = np.interp(np.interp(spread, grid, old), new, grid)
    shares = 1 + before / spread[:, None] ** 2, 1 + after / found[:, None] ** 2
    apart = (draws @ basis @ one - (estimate @ one) / shares[0]) * np.sqrt(shares[0] / before)
    moved = (estimate @ two) / shares[1] + apart @ one.T @ two * np.sqrt(after / shares[1])
    outside = draws - draws @ basis @ basis.T
    return outside + moved @ two.T @ basis.T, found


def _distribution(grid: Array, prior: Array, estimate: Array, errors: Array) -> Array:
    """Distribution function of τ on a grid that is even in its logarithm."""
    variance = errors + grid[:, None] ** 2
    log = prior + np.log(grid) - (np.log(variance) + estimate**2 / variance).sum(axis=1) / 2
    # No step of 0: the function is inverted.
    return np.asarray(np.cumsum(np.exp(log - log.max()) + 1e-12) / (np.exp(log - log.max()) + 1e-12).sum())


def independent(arrays: dict[str, Any]) -> dict[str, Any]:
    """The same design where no two battles share anything: replicated battles are drawn so."""
    added = ("added", "group_added", "tie_added", "effect_added")
    return arrays | {name: np.zeros_like(arrays[name]) for name in added if name in arrays}
