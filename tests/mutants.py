"""Models with slips in them: a handler that changes what a model does with one of its sites.

A slip changes the value that the rest of the model is handed (a flipped sign, a spread taken twice), the
density of the site itself (a dropped Jacobian, data counted twice), or which of two sites is which.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from numpyro.distributions import Distribution
from numpyro.infer.util import potential_energy
from numpyro.primitives import Messenger

from bayesjudge.datasets.small import calibrated_on, small_table
from bayesjudge.inference.programs import accelerator
from bayesjudge.inference.programs.density import density
from bayesjudge.model import Data, find_model

__all__ = ["Case", "Mutant", "Mutation"]


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
            other = {slip.site: str(slip.swapped_with) for slip in self.slips if slip.swapped_with}
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
        """The wrong density."""
        self.weighted(data, dict.fromkeys(self.slips, 1.0))

    def weighted(self, data: Data, weights: Mapping[Mutation, Any]) -> None:
        """The density with each slip on as far as its weight says."""
        with _Slips(weights):
            self.right.numpyro(data)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A model on its small table, and the potential of all its mutations as one function of their weights."""

    name: str
    model: Any
    data: Data
    slips: tuple[Mutation, ...]

    @classmethod
    def of(cls, name: str, slips: tuple[Mutation, ...]) -> Case:
        """A registered model's, or that of one with other options."""
        accelerator.prepare()
        registered, options, table = calibrated_on(name)
        model = find_model(registered)(**options)
        return cls(name=name, model=model, data=model.prepare(small_table(table)), slips=slips)

    def potential(self, z: Any, arrays: Any, weights: Any) -> Any:
        """Minus the log density with each slip on as far as its weight says."""
        slips, on = self.slips, dict(zip(self.slips, weights, strict=True))
        mutant, values = Mutant(right=self.model, slips=slips), density(self.model, self.data).unravel(z)
        for slip in slips:
            if slip.swapped_with:
                # Both sites are real and of one prior, so swapping their values swaps their roles.
                one, other, weight = values[slip.site], values[slip.swapped_with], on.pop(slip)
                values[slip.site] = one + weight * (other - one)
                values[slip.swapped_with] = other + weight * (one - other)

        def generative(given: Any) -> None:
            mutant.weighted(self.data.with_arrays(given), on)

        return potential_energy(generative, (arrays,), {}, values)

    def distances(self, points: Any) -> Any:
        """Largest difference of each mutation's log density from the model's own, relative to the largest."""
        target, arrays = density(self.model, self.data), accelerator.to_device(self.data.arrays)
        of_points = jax.vmap(self.potential, in_axes=(0, None, None))
        weights = np.concatenate([np.zeros((1, len(self.slips))), np.eye(len(self.slips))])
        found = np.asarray(jax.jit(jax.vmap(of_points, in_axes=(None, None, 0)))(points, arrays, weights))
        right = np.asarray(jax.jit(jax.vmap(target.potential, in_axes=(0, None)))(points, arrays))
        # Without a mutation it is the model's own density, which test_twins.py compares with PyMC's.
        np.testing.assert_allclose(found[0], right, rtol=1e-12)
        return np.abs(found[1:] - right).max(axis=1) / np.abs(right).max()
