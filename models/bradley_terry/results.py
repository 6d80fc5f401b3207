"""What a posterior of `bradley_terry` says, battles that share prompts allowed for, and its checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.counts.battles.few_clusters import few_notes
from bayesjudge.estimates.posterior import quantity
from bayesjudge.maths.bradley_terry import CENTRE, PER_LOGIT
from bayesjudge.model import Data, Statistic
from bayesjudge.models.common import battle_statistics
from bayesjudge.models.common.battle_statistics import Patterns
from bayesjudge.models.common.elo_results import elo_draws, elo_quantities, equals_tie
from bayesjudge.models.common.shared_items import widened

if TYPE_CHECKING:
    import xarray as xr


def quantities(posterior: xr.Dataset, data: Data) -> dict[str, xr.DataArray]:
    """Elo and differences, how often equals tie, and what each effect is worth in logits."""
    few = few_notes(data.coords["system"], data.coords["column"], data["clusters"], data["all_clusters"])
    notes = {
        unit: "; ".join(dict.fromkeys(few[name] for name in few if name in unit.split(" − "))) for unit in data.units
    }
    battles = int(data["total"].sum())
    tie = equals_tie(posterior["log_tie"]).expand_dims(unit=["equal models"])
    found = elo_quantities(elo(posterior, data), n=data.units, note=notes)
    found["tie_rate"] = quantity(tie, n={"equal models": battles})
    if data.facts["effects"]:
        scale = dict(zip(map(str, data.coords["effect"]), np.asarray(data["x_scale"]), strict=True))
        worth = {name: f"logits for a difference of {scale[name]:.4g}" for name in data.facts["covariates"]}
        n = dict.fromkeys(scale, battles)
        found["effect"] = quantity(posterior["beta"], signed=True, n=n, note=worth)
    return found


def elo(posterior: xr.Dataset, data: Data) -> xr.DataArray:
    """Draws of each model's Elo on the pairs that were played; a model without a battle is left out.

    They are widened by what shared prompts add to the errors of independent battles (`clusters.py`).
    """
    draws = _widened(elo_draws(posterior["strength"], posterior["log_tie"], data), posterior, data)
    fought = [m for m, name in enumerate(data.coords["system"]) if data.units[str(name)]]
    return draws.isel(system=fought)


def _widened(draws: xr.DataArray, posterior: xr.Dataset, data: Data) -> xr.DataArray:
    added = np.asarray(data["added"])
    if not added.any():
        return draws
    logits = (draws.to_numpy().reshape(-1, len(added)) - CENTRE) / PER_LOGIT
    # Near 0, Elo is 1/(1 + ν/2) times as steep as a Davidson strength, and so is the scale of its prior.
    steep = 1 + float(np.exp(posterior["log_tie"]).mean()) / 2
    prior = (steep / float(posterior["spread"].mean())) ** 2
    found = widened(logits, added=added, prior=prior, df=float(data["cluster_df"]))
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
