"""Strengths that differ by group and pool: a language or a category in which models are worth other things.

    θ_gi = θ_i + u_gi,    u_gi ~ N(0, τ_g)

u is sampled in the units that its battles give it (`common/units.py`): a battle that somebody won tells ¼ of a unit
on each of its strengths.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bayesjudge.counts.battles.clusters import BattleClusters
from bayesjudge.counts.battles.counts import BattleCounts
from bayesjudge.errors import UsageError
from bayesjudge.maths.bradley_terry import PER_LOGIT
from bayesjudge.model import Data
from bayesjudge.models.bradley_terry.clusters import shared_errors
from bayesjudge.models.common.battle_rows import OutcomeRows
from bayesjudge.models.common.units import Guess, Units
from bayesjudge.priors import InUse, Prior, Slot

#: Of how far strengths in a group are from those elsewhere.
SPREAD = Slot(
    Prior("Rayleigh", (PER_LOGIT / 2,)), "Elo", "groups that are named are known to differ; flat in its square near 0"
)
#: Most effects of a model in a group that are sampled.
MOST = 2000
DIMS = {
    "group": ("battle",),
    "group_known": ("group", "system"),
    "group_alone": ("group", "system", "other_system"),
    "group_added": ("group", "system", "other_system"),
    "group_cluster_df": ("group",),
    "group_clusters": ("group", "column", "system"),
    "all_group_clusters": ("group", "column"),
}


def why_not_by_group(counts: BattleCounts) -> str:
    """Why strengths of these battles cannot differ by group; nothing where they can."""
    groups, models = len(counts.groups), len(counts.models)
    if groups < 2:
        return "the battles are of one group; name a column with several values as their group"
    if groups * models > MOST:
        most = f"more effects than are sampled ({MOST})"
        return f"{models} models in {groups} groups are {most}; choose models, groups or a column with fewer values"
    return ""


def group_arrays(
    counts: BattleCounts, rows: OutcomeRows, judge: str | None, *, effects: Callable[[BattleClusters], Any]
) -> dict[str, Any]:
    """The group of each pattern, what is known of each strength in it, and what clusters add to its errors there."""
    groups, models = len(counts.groups), len(counts.models)
    if reason := why_not_by_group(counts):
        raise UsageError(f"by_group=True: {reason}")
    decided = (rows.n[:, 0] + rows.n[:, 2]) / 4
    known = np.zeros((groups, models))
    for side in (rows.first, rows.second):
        np.add.at(known, (rows.group, side), decided)
    shared = [shared_errors(counts.for_groups([name]), judge, effects=effects) for name in counts.groups]
    return {
        "group": rows.group,
        "group_known": known,
        "group_alone": np.stack([one["alone"] for one in shared]),
        "group_added": np.stack([one["added"] for one in shared]),
        "group_cluster_df": np.array([float(one["cluster_df"]) for one in shared]),
        "group_clusters": np.stack([one["clusters"] for one in shared]),
        "all_group_clusters": np.stack([one["all_clusters"] for one in shared]),
    }


def numpyro_effects(data: Data, prior: InUse) -> Any:
    """u, (G, M), sampled in NumPyro."""
    import numpyro
    from numpyro import distributions as dist

    units = _units(data, numpyro.sample("group_spread", prior.numpyro("group_spread", per=PER_LOGIT)))
    with numpyro.plate("group", data.size("group"), dim=-2), numpyro.plate("system", data.size("system"), dim=-1):
        return units.effect(numpyro.sample("group_strength", dist.Normal(units.centre, units.width)))


def pymc_effects(data: Data, prior: InUse) -> Any:
    """The same in PyMC."""
    import pymc as pm

    units = _units(data, prior.pymc("group_spread", "group_spread", per=PER_LOGIT))
    return units.effect(pm.Normal("group_strength", units.centre, units.width, dims=("group", "system")))


def effect_draws(posterior: Any, data: Data) -> Any:
    """Draws of u, (chain, draw, G, M), from a posterior."""
    spread = posterior["group_spread"].transpose("chain", "draw").to_numpy()[..., None, None]
    z = posterior["group_strength"].transpose("chain", "draw", "group", "system").to_numpy()
    return _units(data, spread).effect(z)


def _units(data: Data, spread: Any) -> Units:
    return Guess(information=data["group_known"], pull=0.0 * data["group_known"]).units(spread)
