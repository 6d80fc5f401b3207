"""Wrong versions of every model, in one table: what the checks must find.

A mutation changes what the model does with one of its sites, as a slip in its code would: the value that the
rest of the model is handed (a flipped sign, a spread taken twice), the density of the site itself (a dropped
Jacobian, data counted twice), or which of two sites is which (sensitivity and specificity swapped).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from numpyro.distributions import Distribution, biject_to
from numpyro.primitives import Messenger

from bayesjudge.model import Data, Model

__all__ = ["MUTATIONS", "Mutant", "Mutation"]


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """One slip; ``weight`` (0 to 1) in the functions below switches it on."""

    name: str
    site: str
    #: (value) -> what the rest of the model sees instead.
    value: Callable[[Any], Any] | None = None
    #: (site's distribution, value) -> what is added to the site's log density.
    added: Callable[[Any, Any], Any] | None = None
    #: The site that this one is taken for.
    swapped_with: str | None = None


class _Reweighted(Distribution):  # type: ignore[misc] # NumPyro has no types
    """A distribution whose density has something added to it."""

    def __init__(self, base: Any, added: Callable[[Any, Any], Any], weight: Any) -> None:
        self.base, self.added, self.weight = base, added, weight
        super().__init__(batch_shape=base.batch_shape, event_shape=base.event_shape)

    @property
    def support(self) -> Any:
        return self.base.support

    def log_prob(self, value: Any) -> Any:
        return self.base.log_prob(value) + self.weight * self.added(self.base, value)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        return self.base.sample(key, sample_shape)


class _Slips(Messenger):  # type: ignore[misc] # NumPyro has no types
    """Mutations with their weights, at work inside a model."""

    def __init__(self, slips: Mapping[Mutation, Any]) -> None:
        super().__init__(None)
        self.slips = slips

    def _at(self, message: dict[str, Any]) -> list[tuple[Mutation, Any]]:
        if message["type"] != "sample":
            return []
        return [(slip, weight) for slip, weight in self.slips.items() if slip.site == message["name"]]

    def process_message(self, message: dict[str, Any]) -> None:
        for slip, weight in self._at(message):
            if slip.added is not None:
                message["fn"] = _Reweighted(message["fn"], slip.added, weight)
        if message["type"] == "sample":
            other = {slip.site: slip.swapped_with for slip in self.slips if slip.swapped_with}
            both = {**other, **{b: a for a, b in other.items()}}
            message["name"] = both.get(message["name"], message["name"])

    def postprocess_message(self, message: dict[str, Any]) -> None:
        # The trace, further out, has kept the true value by now.
        for slip, weight in self._at(message):
            if slip.value is not None:
                seen = message["value"]
                message["value"] = seen + weight * (slip.value(seen) - seen)


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A model with slips; everything that is not its density in NumPyro is the right model's."""

    right: Any
    slips: tuple[Mutation, ...]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.right, name)

    def numpyro(self, data: Data) -> None:
        self.weighted(data, dict.fromkeys(self.slips, 1.0))

    def weighted(self, data: Data, weights: Mapping[Mutation, Any]) -> None:
        with _Slips(weights):
            self.right.numpyro(data)


def simulator_of(mutant: Mutant, right: Model) -> Any:
    """The right density beside the mutant's simulator."""
    from bayesjudge.models.pattern_counts import simulate

    return _Simulating(right=right, wrong=mutant, draw=simulate)


@dataclass(frozen=True, kw_only=True)
class _Simulating:
    right: Any
    wrong: Mutant
    draw: Callable[..., Any]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.right, name)

    def simulate(self, key: Any, data: Data) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.draw(self.wrong, key, data)
        return found


# Slips


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

#: Wrong versions of each registered model of this package, on its small table.
MUTATIONS: Mapping[str, tuple[Mutation, ...]] = {
    "bradley_terry": (_dropped_jacobian("spread"), _flipped("strength"), _squared("spread"),
                      _flipped("log_tie"), _counted_twice("n")),
    "conditional_panel": (*_CHANNEL, _dropped_jacobian("theta"), _mirrored("theta"),
                          _counted_twice("response")),
    "judge_elo": (_dropped_jacobian("taste_spread"), _flipped("strength"), _flipped("effects"),
                  _scaled("taste_spread", 3.0), _counted_twice("vote_n"), _counted_twice("verdict_n")),
    "judge_error": (*_CHANNEL, _dropped_jacobian("theta"), _mirrored("theta"), _counted_twice("n")),
    "judge_panel": (_dropped_jacobian("item_spread"), _flipped("weight_mean"), _scaled("item_spread", 3.0),
                    _flipped("intercept"), _counted_twice("label")),
    "judge_temperature": (_dropped_jacobian("tau"), _flipped("mu"), _scaled("tau", 3.0),
                          _counted_twice("n")),
    "paired_accuracy": (*_CHANNEL, _dropped_jacobian("stick"), _mirrored("stick"), _counted_twice("n")),
    "pointwise_scores": (_dropped_jacobian("noise"), _flipped("leniency"), _scaled("interaction_spread"),
                         _squared("noise"), _counted_twice("squares"), _counted_twice("mean")),
    "repeated_trials": (_dropped_jacobian("item_spread"), _flipped("position"), _scaled("item_spread"),
                        _mirrored("repeat_correlation"), _counted_twice("n")),
    "verdict_agreement": (_dropped_jacobian("tau"), _flipped("alpha"), _scaled("tau", 3.0),
                          _counted_twice("agreements")),
}  # fmt: skip
