"""Wrong versions of every model, in one table: what the checks must find. How they work is in mutants.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
from mutants import Mutation
from numpyro.distributions import biject_to

__all__ = ["MUTATIONS"]


def _dropped_jacobian(site: str) -> Mutation:
    def added(base: Any, value: Any) -> Any:
        move = biject_to(base.support)
        return -move.log_abs_det_jacobian(move.inv(value), value)

    return Mutation(name=f"Jacobian of {site} dropped", site=site, added=added)


def _counted_twice(site: str) -> Mutation:
    return Mutation(name=f"{site} counted twice", site=site, added=lambda base, value: base.log_prob(value))


def _flipped(site: str) -> Mutation:
    return Mutation(name=f"sign of {site} flipped", site=site, value=lambda value: -value)


def _mirrored(site: str) -> Mutation:
    return Mutation(name=f"{site} for its complement", site=site, value=lambda value: 1 - value)


def _scaled(site: str, by: float = 2.0) -> Mutation:
    return Mutation(name=f"{site} times {by:g}", site=site, value=lambda value: by * value)


def _squared(site: str) -> Mutation:
    return Mutation(name=f"{site} as a variance", site=site, value=jnp.square)


def _swapped(site: str, other: str) -> Mutation:
    return Mutation(name=f"{site} and {other} swapped", site=site, swapped_with=other)


_CHANNEL = (_swapped("mu_sensitivity", "mu_specificity"), _scaled("tau_sensitivity", 3.0))

#: Wrong versions of each registered model of this package, and of those with formulas or groups, on its small table.
MUTATIONS: Mapping[str, tuple[Mutation, ...]] = {
    "bradley_terry": (
        _dropped_jacobian("spread"),
        _flipped("strength"),
        _squared("spread"),
        _flipped("log_tie"),
        _counted_twice("n"),
    ),
    "bradley_terry_groups": (
        _scaled("group_spread", 3.0),
        _flipped("group_strength"),
        _dropped_jacobian("group_spread"),
        _counted_twice("n"),
    ),
    "conditional_panel": (*_CHANNEL, _dropped_jacobian("theta"), _mirrored("theta"), _counted_twice("response")),
    "judge_elo": (
        _dropped_jacobian("deviation_spread"),
        _flipped("slope"),
        _scaled("deviation_spread", 3.0),
        _scaled("spread", 3.0),
        _counted_twice("y"),
    ),
    "judge_error": (*_CHANNEL, _dropped_jacobian("theta"), _mirrored("theta"), _counted_twice("n")),
    "judge_error_number": (
        _swapped("mu_sensitivity", "mu_specificity"),
        _flipped("b_sensitivity_log_length"),
        _flipped("b_accuracy_log_length"),
        _scaled("tau_specificity_spread", 3.0),
        _counted_twice("n"),
    ),
    "judge_error_crossed": (
        _dropped_jacobian("tau_accuracy_spread_topic"),
        _scaled("tau_accuracy_spread_style", 3.0),
        _flipped("mu_specificity"),
        _flipped("b_accuracy"),
        _counted_twice("n"),
    ),
    "judge_error_nested": (
        _scaled("tau_accuracy_spread_system_topic", 3.0),
        _dropped_jacobian("tau_accuracy_spread_topic"),
        _flipped("mu_sensitivity"),
        _squared("tau_sensitivity_spread_topic"),
        _counted_twice("n"),
    ),
    "judge_panel": (
        _dropped_jacobian("model_spread"),
        _flipped("weight_mean"),
        _scaled("model_spread", 3.0),
        _flipped("intercept"),
        _counted_twice("label"),
    ),
    "judge_panel_nested": (
        _flipped("b_label_log_length"),
        _scaled("tau_label_spread_topic", 3.0),
        _dropped_jacobian("tau_label_spread_system_topic"),
        _flipped("intercept"),
        _counted_twice("label"),
    ),
    "judge_temperature": (_dropped_jacobian("tau"), _flipped("mu"), _scaled("tau", 3.0), _counted_twice("n")),
    "pointwise_scores": (
        _dropped_jacobian("noise"),
        _flipped("leniency"),
        _scaled("interaction_spread"),
        _squared("noise"),
        _counted_twice("squares"),
        _counted_twice("mean"),
    ),
    "pointwise_scores_groups": (
        _flipped("b_score_log_words"),
        _scaled("tau_score_spread_topic", 3.0),
        _dropped_jacobian("tau_score_spread_words_by_judge"),
        _counted_twice("mean"),
    ),
    "repeated_trials": (
        _dropped_jacobian("item_spread"),
        _flipped("position"),
        _scaled("item_spread"),
        _mirrored("repeat_correlation"),
        _counted_twice("n"),
    ),
    "repeated_trials_groups": (
        _flipped("b_preference_length"),
        _flipped("b_position_log_words"),
        _scaled("tau_position_spread_topic", 3.0),
        _dropped_jacobian("tau_preference_spread_length_by_judge"),
        _counted_twice("n"),
    ),
    "verdict_agreement": (
        _dropped_jacobian("tau"),
        _flipped("alpha"),
        _scaled("tau", 3.0),
        _counted_twice("agreements"),
    ),
    "verdict_agreement_groups": (
        _dropped_jacobian("tau"),
        _flipped("alpha"),
        _scaled("tau", 3.0),
        _counted_twice("agreements"),
    ),
}
