"""What battles that share prompts, or voters, do to the errors of strengths (METHODS 4.6), and so to draws of Elo.

The likelihood takes battles as independent. On a prompt a model does better or worse than elsewhere,
θ_ip = θ_i + u_ip with u ~ N(0, σ_u²), and a leaderboard is for new prompts. With H the curvature and B the
meat of single votes, estimates then vary by H⁻¹PH⁻¹, where independent votes have H⁻¹BH⁻¹. The difference
changes the draws of Elo: mostly it widens them, and along a chain of pairs, where errors of neighbours cancel,
it narrows them and takes back what the prior pulled.
P is a mean of two meats, of effects u and of the sandwich (`prompt_effects.shared_meat`, `benchmarks/prompts.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.counts.battles.clusters import PEOPLE
from bayesjudge.counts.battles.counts import BattleCounts
from bayesjudge.counts.battles.few_clusters import clusters_of_models
from bayesjudge.maths.prompt_effects import shared_meat
from bayesjudge.maths.strengths import fit_strengths, poorly_known
from bayesjudge.models.common.shared_items import RANK, adjust

type Array = NDArray[np.float64]

#: Clusters may make the variance of a direction smaller, as along a chain of pairs, to no less than this share.
_LEAST_RATIO = 0.1
#: Degrees of freedom past which Student's t is the normal distribution.
_INFINITE = 1e9
#: Directions in which estimates vary less than this share of the most are compared by no battle.
_LEAST_VARIANCE = 1e-8
#: Values of τ.
_GRID = 400
#: Names of the axes of what `shared_errors` gives.
DIMS = {
    "alone": ("system", "other_system"),
    "added": ("system", "other_system"),
    "estimate": ("system",),
    "well_known": (),
    "cluster_df": (),
    "clusters": ("column", "system"),
    "all_clusters": ("column",),
}


def shared_errors(counts: BattleCounts, judge: str | None) -> dict[str, Any]:
    """Covariances of the strengths of one rater, and the clusters that they rest on; K columns that cluster.

    Returns: ``alone, added`` (M, M): covariance of the estimates from independent votes, in squared logits, and what
        clusters add to it; ``estimate`` (M,): of strengths, and ``well_known``: 1 where a normal about it will do for
        all; ``cluster_df``: degrees of freedom; ``clusters`` (K, M) and ``all_clusters`` (K,): clusters
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
        "cluster_df": np.array(np.inf),
        "clusters": own,
        "all_clusters": total,
    }
    if not columns or total.min() < 2:
        return found
    at = fit_strengths(battles.sums(models=models))
    single = at.grouped(battles.single().sums(models=models)).meat
    meat = shared_meat(at, [rows.sums(models=models) for rows in columns], single)
    return {
        **found,
        "alone": at.covariance(single),
        "added": at.covariance(meat - single),
        "estimate": at.estimate[0],
        "well_known": np.array(int(not poorly_known(at.sums).any())),
        "cluster_df": np.array(float(total.min() - 1)),
    }


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
    df = min(float(data["cluster_df"]), _INFINITE)
    return adjust(draws, information=np.zeros_like(own), variance=own @ more @ own, df=df)


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
    return arrays | {name: np.zeros_like(arrays[name]) for name in ("added", "group_added") if name in arrays}
