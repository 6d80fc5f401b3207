"""The unknowns of `repeated_trials` in PyMC, for the twin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from bayesjudge.model import Data

if TYPE_CHECKING:
    from bayesjudge.models.repeated_trials import TrialPrior

__all__ = ["margin", "position", "repeats", "ties"]


def _normal(name: str, scale: float, dims: Any) -> Any:
    return pm.Normal(name, np.float64(0), np.float64(scale), dims=dims)


def _spread(name: str, mean: float) -> Any:
    return pm.Gamma(name, alpha=np.float64(2), beta=np.float64(2 / mean))


def margin(prior: TrialPrior, data: Data) -> Any:
    """κ (m + w + τ) of every cell, (cells,)."""
    judge, item = data["judge"], data["item"]
    inside = _item_preference(prior, data)[item]
    log_scale = np.zeros(len(item))
    if data.size("judge") > 1:
        inside += (
            _spread("judge_spread", prior.judge_spread)
            * _normal("disagreement", 1, ("judge", "item"))[judge, item]
        )
        raw = _normal("judge_decisiveness", prior.decisiveness, "judge")
        log_scale = log_scale + (raw - pt.mean(raw))[judge]
    if data.size("prompt") > 1:
        z = _normal("prompt_effect", 1, ("prompt", "item"))[data["prompt"], item]
        inside += _spread("prompt_spread", prior.prompt_spread) * z
    if data.size("other_temperature"):
        log_heat = pt.concatenate(
            [np.zeros(1), _normal("decisiveness", prior.decisiveness, "other_temperature")]
        )
        log_scale = log_scale + log_heat[data["temperature"]]
    return pt.exp(log_scale) * inside


def _item_preference(prior: TrialPrior, data: Data) -> Any:
    mean = _normal("preference_mean", prior.preference, None) * np.ones(data.size("item"))
    if data.size("category") > 1:
        spread = _spread("category_spread", prior.category_spread)
        mean = mean + spread * _normal("category_effect", 1, "category")[data["category_of"]]
    spread = _spread("item_spread", prior.item_spread)
    if data.facts["centred"]:
        return pm.Normal("item_preference", mean, spread, dims="item")
    return mean + spread * _normal("item_preference", 1, "item")


def position(prior: TrialPrior, data: Data) -> Any:
    """γ of every judge, (judges,)."""
    parts = []
    if data.size("ordered_judge"):
        parts.append(_normal("position", prior.position, "ordered_judge"))
    if data.size("unordered_judge"):
        parts.append(pm.HalfNormal("position_size", np.float64(prior.position), dims="unordered_judge"))
    return pt.concatenate(parts)[data["position_of"]]


def ties(prior: TrialPrior) -> Any:
    """ν of every judge, (judges,)."""
    return pm.Normal("tie", *map(np.float64, prior.tie), dims="judge")


def repeats(data: Data) -> Any:
    """ρ of every judge, (judges,)."""
    if data.facts["most_trials"] == 1:
        return pt.as_tensor(np.zeros(data.size("judge")))
    return pm.Uniform("repeat_correlation", np.float64(0), np.float64(1), dims="judge")
