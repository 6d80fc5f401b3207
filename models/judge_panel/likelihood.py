"""The density of `judge_panel` in JAX: parameters, and the logit of every label given the votes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpyro
from numpyro import distributions as dist

if TYPE_CHECKING:
    from bayesjudge.model import Data
    from bayesjudge.models.judge_panel import JudgePanel

__all__ = ["answer_logits", "linear_predictor", "row_logits", "sample_sites"]


def sample_sites(model: JudgePanel, data: Data) -> dict[str, Any]:
    """Every parameter, sampled in NumPyro."""
    prior, facts = model.prior, data.facts
    sites = {
        "intercept": numpyro.sample("intercept", dist.Normal(0.0, prior.intercept)),
        "model_spread": numpyro.sample("model_spread", dist.HalfNormal(prior.model_spread)),
        "weight_mean": numpyro.sample("weight_mean", dist.Normal(*prior.weight_mean)),
        "weight_spread": numpyro.sample("weight_spread", dist.HalfNormal(prior.weight_spread)),
        "model_rate_slope": numpyro.sample("model_rate_slope", dist.Normal(0.0, prior.slope)),
        "item_rate_slope": numpyro.sample("item_rate_slope", dist.Normal(0.0, prior.slope)),
    }
    sites |= _standardised("z_model", model=data.size("model"))
    sites |= _standardised("z_weight", judge=data.size("judge"))
    if model.weights == "specific":
        sites |= _spread("own_weight_spread", prior.own_weight_spread)
        sites |= _standardised("z_own_weight", judge=data.size("judge"), model=data.size("model"))
    if facts["groups"] > 1:
        sites |= _spread("group_spread", prior.model_spread) | _standardised("z_group", group=facts["groups"])
        sites |= _spread("group_model_spread", prior.model_spread / 2)
        sites |= _standardised("z_group_model", group=facts["groups"], model=data.size("model"))
    if facts["clusters"]:
        sites |= _spread("cluster_spread", prior.item_spread)
        sites |= _standardised("cluster_effect", cluster=facts["clusters"])
    if facts["item_effect"]:
        sites |= _spread("item_spread", prior.item_spread)
        sites |= _standardised("item_effect", item=data.size("item"))
    return sites


def _spread(name: str, scale: float) -> dict[str, Any]:
    return {name: numpyro.sample(name, dist.HalfNormal(scale))}


def _standardised(name: str, **axes: int) -> dict[str, Any]:
    """N(0, 1) along one axis or two."""
    plates = [numpyro.plate(axis, size, dim=place - len(axes)) for place, (axis, size) in
              enumerate(axes.items())]  # fmt: skip
    with plates[0]:
        if len(plates) == 1:
            return {name: numpyro.sample(name, dist.Normal(0.0, 1.0))}
        with plates[1]:
            return {name: numpyro.sample(name, dist.Normal(0.0, 1.0))}


def linear_predictor(
    sites: Mapping[str, Any], *, votes: Any, model: Any, model_rate: Any, rate: Any, group: Any
) -> Any:
    """η = α_m + γ ℓ_m + Σ_j β_jm (v_j − v̄_j) + δ c_i, and what groups add, without item and cluster effects.

    ``model``, ``rate`` and ``group`` broadcast against ``votes`` without its last axis (judges).
    """
    weight = sites["weight_mean"] + sites["weight_spread"] * sites["z_weight"]
    level = sites["intercept"] + sites["model_spread"] * sites["z_model"]
    level = (level + sites["model_rate_slope"] * model_rate)[model]
    total = level + votes @ weight + sites["item_rate_slope"] * rate
    if "z_own_weight" in sites:
        own = (sites["own_weight_spread"] * sites["z_own_weight"]).T
        total = total + (votes * own[model]).sum(-1)
    if "z_group" in sites:
        shift = sites["group_spread"] * sites["z_group"][:, None]
        total = total + (shift + sites["group_model_spread"] * sites["z_group_model"])[group, model]
    return total


def row_logits(sites: Mapping[str, Any], arrays: Mapping[str, Any], rows: str) -> Any:
    """η of every row ``answer_...``, ``cell_...`` or ``sampled_...``."""
    return linear_predictor(
        sites, votes=arrays[f"{rows}_votes"], model=arrays[f"{rows}_model"], model_rate=arrays["model_rate"],
        rate=arrays[f"{rows}_rate"], group=arrays[f"{rows}_group"],
    )  # fmt: skip


def answer_logits(sites: Mapping[str, Any], data: Data) -> Any:
    """Logit of P(y = 1) of every labelled answer, with the effects of its item and its cluster."""
    logit = row_logits(sites, data.arrays, "answer")
    if "item_effect" in sites:
        logit = logit + sites["item_spread"] * sites["item_effect"][data["answer_item"]]
    if "cluster_effect" in sites:
        logit = logit + sites["cluster_spread"] * sites["cluster_effect"][data["answer_cluster"]]
    return logit
