"""The unknowns of `repeated_trials` in NumPyro, and the outcome probabilities of every cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpyro
from numpyro import distributions as dist

from bayesjudge.model import Data
from bayesjudge.models.trial_outcomes import TrialOutcomes, jax_log_outcomes

if TYPE_CHECKING:
    from bayesjudge.models.repeated_trials import TrialPrior

__all__ = ["likelihood", "margin", "position", "repeats", "ties"]


def _spread(mean: float) -> Any:
    """Gamma of shape 2: no mass at 0, where a hierarchical density is a funnel (Chung et al. 2013)."""
    return dist.Gamma(2.0, 2.0 / mean)


def margin(prior: TrialPrior, data: Data) -> Any:
    """κ (m + w + τ) of every cell, (cells,)."""
    item, judge = data["item"], data["judge"]
    inside = _item_preference(prior, data)[item]
    if data.size("judge") > 1:
        spread = numpyro.sample("judge_spread", _spread(prior.judge_spread))
        with (
            numpyro.plate("judge", data.size("judge"), dim=-2),
            numpyro.plate("item", data.size("item"), dim=-1),
        ):
            z = numpyro.sample("disagreement", dist.Normal(0.0, 1.0))
        # In units of the spread: on nine judges and 72 items, 283 effective draws of the spread in 4,000,
        # against 42 halfway and 7 with the effects themselves. With those effects as they are whose verdicts
        # differ, and the others in units, 10 in 1,200 on 42 items, against 164.
        inside = inside + spread * z[judge, item]
    if data.size("prompt") > 1:
        spread = numpyro.sample("prompt_spread", _spread(prior.prompt_spread))
        with (
            numpyro.plate("prompt", data.size("prompt"), dim=-2),
            numpyro.plate("item", data.size("item"), dim=-1),
        ):
            z = numpyro.sample("prompt_effect", dist.Normal(0.0, 1.0))
        inside = inside + spread * z[data["prompt"], item]
    return jnp.exp(_log_decisiveness(prior, data)) * inside


def _item_preference(prior: TrialPrior, data: Data) -> Any:
    """M of every item, (items,): a mean, its category's effect, and its own."""
    mean = numpyro.sample("preference_mean", dist.Normal(0.0, prior.preference))
    if data.size("category") > 1:
        spread = numpyro.sample("category_spread", _spread(prior.category_spread))
        with numpyro.plate("category", data.size("category"), dim=-1):
            mean = mean + spread * numpyro.sample("category_effect", dist.Normal(0.0, 1.0))
        mean = mean[data["category_of"]]
    spread = numpyro.sample("item_spread", _spread(prior.item_spread))
    with numpyro.plate("item", data.size("item"), dim=-1):
        if data.facts["centred"]:
            return numpyro.sample("item_preference", dist.Normal(mean, spread))
        return mean + spread * numpyro.sample("item_preference", dist.Normal(0.0, 1.0))


def _log_decisiveness(prior: TrialPrior, data: Data) -> Any:
    """Log κ of every cell: its judge's and its temperature's."""
    total: Any = 0.0
    if data.size("judge") > 1:
        with numpyro.plate("judge", data.size("judge"), dim=-1):
            by_judge = numpyro.sample("judge_decisiveness", dist.Normal(0.0, prior.decisiveness))
        # Relative to their mean: how large margins are altogether is said by the spreads.
        total = (by_judge - by_judge.mean())[data["judge"]]
    if data.size("other_temperature"):
        with numpyro.plate("other_temperature", data.size("other_temperature"), dim=-1):
            by_heat = numpyro.sample("decisiveness", dist.Normal(0.0, prior.decisiveness))
        total = total + jnp.concatenate([jnp.zeros(1), by_heat])[data["temperature"]]
    return total


def position(prior: TrialPrior, data: Data) -> Any:
    """γ of every judge, (judges,); its size alone where a judge's orders were not recorded."""
    parts = []
    if data.size("ordered_judge"):
        with numpyro.plate("ordered_judge", data.size("ordered_judge"), dim=-1):
            parts.append(numpyro.sample("position", dist.Normal(0.0, prior.position)))
    if data.size("unordered_judge"):
        with numpyro.plate("unordered_judge", data.size("unordered_judge"), dim=-1):
            parts.append(numpyro.sample("position_size", dist.HalfNormal(prior.position)))
    return jnp.concatenate(parts)[data["position_of"]]


def ties(prior: TrialPrior, data: Data) -> Any:
    """ν of every judge, (judges,)."""
    with numpyro.plate("judge", data.size("judge"), dim=-1):
        return numpyro.sample("tie", dist.Normal(*prior.tie))


def repeats(data: Data) -> Any:
    """ρ of every judge, (judges,); 0 where no cell has two trials."""
    if data.facts["most_trials"] == 1:
        return jnp.zeros(data.size("judge"))
    with numpyro.plate("judge", data.size("judge"), dim=-1):
        return numpyro.sample("repeat_correlation", dist.Uniform(0.0, 1.0))


def likelihood(margin: Any, gamma: Any, nu: Any, rho: Any, data: Data) -> TrialOutcomes:
    """Outcome counts of every cell."""
    judge = data["judge"]
    log_p = jax_log_outcomes(
        margin, gamma[judge], nu[judge], data["order"], any_unknown=data.facts["any_unknown"]
    )
    return TrialOutcomes(log_p, rho[judge], data["total"], most=data.facts["most_trials"])
