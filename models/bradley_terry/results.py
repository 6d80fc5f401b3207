"""What a posterior of `bradley_terry` says, and the test quantities of its predictive checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.estimates import Estimates
from bayesjudge.estimates.posterior import summary_rows
from bayesjudge.model import Data, Statistic
from bayesjudge.models.common import battle_statistics
from bayesjudge.models.common.battle_statistics import Patterns
from bayesjudge.models.common.elo_results import elo_draws, elo_rows, equals_tie

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["STATISTICS", "elo", "estimates"]


def estimates(posterior: xr.Dataset, data: Data, *, prob: float, method: str) -> Estimates:
    """Elo and differences, how often equals tie, and what each effect is worth in logits."""
    rows = elo_rows(elo(posterior, data), method=method, prob=prob, n=dict(data.units))
    battles = int(data["total"].sum())
    tie = equals_tie(posterior["log_tie"]).expand_dims(unit=["equal models"])
    rows += summary_rows(tie, estimand="tie_rate", method=method, prob=prob, n={"equal models": battles})
    if data.facts["effects"]:
        n = dict.fromkeys(map(str, data.coords["effect"]), battles)
        found = summary_rows(posterior["beta"], estimand="effect", method=method, prob=prob, n=n, signed=True)
        scale = dict(zip(map(str, data.coords["effect"]), np.asarray(data["x_scale"]), strict=True))
        units = {name: f"logits for a difference of {scale[name]:.4g}" for name in data.facts["covariates"]}
        rows += [{**row, "note": units.get(row["unit"], "")} for row in found]
    return Estimates.from_rows(rows)


def elo(posterior: xr.Dataset, data: Data) -> xr.DataArray:
    """Draws of each model's Elo on the pairs that were played; a model without a battle is left out."""
    draws = elo_draws(posterior["strength"], posterior["log_tie"], data)
    fought = [m for m, name in enumerate(data.coords["model"]) if data.units[str(name)]]
    return draws.isel(model=fought)


def _on_patterns(statistic: Callable[[Any, Patterns], dict[str, Any]]) -> Statistic:
    return lambda counts, data: statistic(counts, Patterns.of(data))


STATISTICS: Mapping[str, Statistic] = {
    "score of a model": _on_patterns(battle_statistics.model_scores),
    "win matrix": _on_patterns(battle_statistics.pair_scores),
    "ties": _on_patterns(battle_statistics.tie_rate),
    "cycles": _on_patterns(battle_statistics.cycle_rate),
    "shown first": _on_patterns(battle_statistics.shown_first),
}
