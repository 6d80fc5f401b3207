"""What a posterior of `bradley_terry` says, battles that share prompts allowed for, and its checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.counts.battles.few_clusters import few_notes
from bayesjudge.estimates.posterior import EVERYWHERE, differences, quantity
from bayesjudge.maths.bradley_terry import CENTRE, PER_LOGIT
from bayesjudge.model import Data, Statistic
from bayesjudge.models.bradley_terry.clusters import with_added, with_errors
from bayesjudge.models.bradley_terry.groups import effect_draws
from bayesjudge.models.common import battle_statistics
from bayesjudge.models.common.battle_statistics import Patterns
from bayesjudge.models.common.elo_results import elo_draws, elo_quantities, equals_tie, named_pairs
from bayesjudge.priors import Prior

if TYPE_CHECKING:
    import xarray as xr


def quantities(posterior: xr.Dataset, data: Data, priors: Mapping[str, Prior]) -> dict[str, xr.DataArray]:
    """Elo and differences, how often equals tie, and what each effect is worth in logits."""
    notes = _notes(data, data["clusters"], data["all_clusters"])
    for g, group in enumerate(data.coords.get("group", ())):
        notes |= _notes(data, data["group_clusters"][g], data["all_group_clusters"][g], end=f" | {group}")
    battles = int(data["total"].sum())
    tie = equals_tie(_spread(posterior["log_tie"], data["tie_added"], data)).expand_dims(unit=["equal models"])
    whole = elo(posterior, data, priors)
    found = elo_quantities(whole, n=data.units, note=notes)
    if "group" in data.coords:
        found |= _grouped(found, whole, elo_by_group(posterior, data, priors).sel(system=whole["system"]))
    found["tie_rate"] = quantity(tie, n={"equal models": battles})
    if data.facts["effects"]:
        scale = dict(zip(map(str, data.coords["effect"]), np.asarray(data["x_scale"]), strict=True))
        worth = {name: f"logits for a difference of {scale[name]:.4g}" for name in data.facts["covariates"]}
        n = dict.fromkeys(scale, battles)
        found["effect"] = quantity(_spread(posterior["beta"], data["effect_added"], data), signed=True, n=n, note=worth)
    return found


def _spread(draws: xr.DataArray, added: Any, data: Data) -> xr.DataArray:
    """Draws with the errors that shared prompts leave."""
    draws = draws.transpose("chain", "draw", ...)
    flat = draws.to_numpy().reshape(draws.sizes["chain"] * draws.sizes["draw"], -1)
    return draws.copy(data=with_added(flat, added, df=float(data["cluster_df"])).reshape(draws.shape))


def _notes(data: Data, clusters: Any, every: Any, *, end: str = "") -> dict[str, str]:
    """Of units with few clusters; ``end`` names the group."""
    few = few_notes(data.coords["system"], data.coords["column"], clusters, every)
    units = [unit.removesuffix(end) for unit in data.units if unit.endswith(end)]
    return {
        f"{unit}{end}": "; ".join(dict.fromkeys(few[name] for name in few if name in unit.split(" − ")))
        for unit in units
    }


def _grouped(found: Mapping[str, xr.DataArray], whole: xr.DataArray, within: xr.DataArray) -> dict[str, xr.DataArray]:
    """Elo and differences overall and in each group, and what a group changes among the models that it has."""
    import xarray as xr

    both = xr.concat([whole.expand_dims(group=[EVERYWHERE]), within], dim="group").assign_attrs(found["elo"].attrs)
    gaps = differences(both, "system", named_pairs(whole)).assign_attrs(found["difference"].attrs)
    there = whole.where(within.notnull())
    change = within - (there - there.mean("system") + CENTRE)
    n = {key: n for key, n in found["elo"].attrs["n"].items() if " | " in key}
    return {"elo": both, "difference": gaps, "elo_change": quantity(change, n=n, signed=True)}


def elo(posterior: xr.Dataset, data: Data, priors: Mapping[str, Prior]) -> xr.DataArray:
    """Draws of each model's Elo on the pairs that were played; a model without a battle is left out.

    They have the errors that shared prompts leave, more or less than those of independent battles (`clusters.py`).
    """
    within = effect_draws(posterior, data) if "group" in data.coords else None
    draws = elo_draws(posterior["strength"], posterior["log_tie"], data, within=within)
    draws = _with_errors(draws, posterior, data.arrays, spread="spread", prior=priors["strength"])
    fought = [m for m, name in enumerate(data.coords["system"]) if data.units[str(name)]]
    return draws.isel(system=fought)


def elo_by_group(posterior: xr.Dataset, data: Data, priors: Mapping[str, Prior]) -> xr.DataArray:
    """Draws of each model's Elo within each group, dims ``chain, draw, system, group``.

    The mean of the models with battles there is 1500; a model without one has none.
    """
    import xarray as xr

    within, total, group = effect_draws(posterior, data), np.asarray(data["total"]), np.asarray(data["group"])
    found = []
    for g, name in enumerate(data.coords["group"]):
        here = {**data.arrays, "total": np.where(group == g, total, 0)}
        draws = elo_draws(posterior["strength"], posterior["log_tie"], here, within=within)
        # A group's few clusters say too little to take back what the prior pulls.
        errors = {name: data[f"group_{name}"][g] for name in ("alone", "added", "cluster_df")} | {"well_known": 0}
        draws = _with_errors(draws, posterior, errors, spread="group_spread", prior=priors["group_spread"])
        fought = np.array([data.units[f"{model} | {name}"] > 0 for model in data.coords["system"]])
        draws = draws.where(xr.DataArray(fought, dims="system"))
        found.append(draws - draws.mean("system") + CENTRE)
    return xr.concat(found, dim="group").assign_coords(group=list(data.coords["group"]))


def _with_errors(
    draws: xr.DataArray, posterior: xr.Dataset, errors: Mapping[str, Any], *, spread: str, prior: Prior
) -> xr.DataArray:
    """Draws of Elo with the errors that clusters leave; ``spread`` names the parameter of ``prior``."""
    # Near 0, Elo is 1/(1 + ν/2) times as steep as a Davidson strength, and so is the scale of its prior.
    steep = 1 + float(np.exp(posterior["log_tie"]).mean()) / 2
    tau = posterior[spread].transpose("chain", "draw").to_numpy().reshape(-1) / steep
    logits = (draws.to_numpy().reshape(len(tau), -1) - CENTRE) / PER_LOGIT
    found = with_errors(logits, data=errors, spread=tau, log_prior=lambda t: prior.log_density(PER_LOGIT * steep * t))
    return draws.copy(data=(CENTRE + PER_LOGIT * found).reshape(draws.shape))


def describe(data: Data) -> dict[str, Any]:
    """What clusters do to this posterior, for its manifest: their columns and numbers, design effects, df."""
    names = map(str, data.coords["system"])
    alone, added = (np.diag(np.asarray(data[name])) for name in ("alone", "added"))
    effect = {
        name: round(float(1 + more / one), 3) for name, one, more in zip(names, alone, added, strict=True) if one > 0
    }
    counted = dict(zip(map(str, data.coords["column"]), map(int, data["all_clusters"]), strict=True))
    df = float(data["cluster_df"])
    return {"clusters": counted, "design_effect": effect, "df": None if np.isinf(df) else round(df, 1)}


def _on_patterns(statistic: Callable[[Any, Patterns], dict[str, Any]]) -> Statistic:
    return lambda counts, data: statistic(counts, Patterns.of(data))


STATISTICS: Mapping[str, Statistic] = {
    "score of a model": _on_patterns(battle_statistics.model_scores),
    "win matrix": _on_patterns(battle_statistics.pair_scores),
    "ties": _on_patterns(battle_statistics.tie_rate),
    "cycles": _on_patterns(battle_statistics.cycle_rate),
    "shown first": _on_patterns(battle_statistics.shown_first),
}
