"""What battles that share prompts, or voters, add to the errors of strengths (METHODS 4.6).

The likelihood takes battles as independent. On a prompt a model does better or worse than elsewhere,
θ_ip = θ_i + u_ip with u ~ N(0, σ_u²), and a leaderboard is for new prompts. With H the curvature and B the
meat of single votes, estimates then vary by H⁻¹PH⁻¹, where independent votes have H⁻¹BH⁻¹; the difference is
what the draws of Elo are widened by.

P is the mean of two meats: that of effects u, which has full rank with any number of prompts but one σ_u for
all models, and the clustered sandwich's, which knows that prompts matter more to some models but has rank
G − 1. On MT-bench, prompts drawn again, effects alone left the worst difference at .83 to .87 where 95 % was
promised, the mean of both at .90 to .92 (`benchmarks/prompts.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.counts.battles.clusters import PEOPLE
from bayesjudge.counts.battles.few_clusters import clusters_of_models
from bayesjudge.maths.prompt_effects import prompt_effects, sandwich_meat
from bayesjudge.maths.strengths import Strengths, fit_strengths

if TYPE_CHECKING:
    from bayesjudge.counts.battles.counts import BattleCounts


type Array = NDArray[np.float64]

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
    meat = (prompt_effects(at, tables).meat + sandwich) / 2
    return {
        **found,
        "alone": at.covariance(single),
        "added": at.covariance(meat - single),
        "cluster_df": np.array(float(total.min() - 1)),
    }


def independent(arrays: dict[str, Any]) -> dict[str, Any]:
    """The same design where no two battles share anything: replicated battles are drawn so."""
    return arrays | {name: np.zeros_like(arrays[name]) for name in ("added", "group_added") if name in arrays}


def _single_votes(at: Strengths, label: Array) -> Array:
    """Meat of single votes: those of one battle are kept apart."""
    sums = at.sums
    square = sums.total * (label - at.expected(sums)) ** 2
    found = np.zeros((sums.models, sums.models))
    for one, other, sign in ((0, 0, 1), (1, 1, 1), (0, 1, -1), (1, 0, -1)):
        sides = (sums.first, sums.second)
        np.add.at(found, (sides[one], sides[other]), sign * square)
    return found
