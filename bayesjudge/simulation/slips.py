"""Slips that any model may have, put into it on purpose to see which of them calibration finds.

The simulator stays as it is; what is fitted has one slip, at work in every likelihood or in one unknown.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpyro.distributions import biject_to
from numpyro.primitives import Messenger

from bayesjudge.estimates import Estimates
from bayesjudge.model import Data, Model, Statistic, with_observations

if TYPE_CHECKING:
    import xarray as xr


#: Those of the likelihood, then those of an unknown, on whose unconstrained scale they are.
OF_DATA: tuple[str, ...] = ("a likelihood term dropped", "data counted twice")
OF_VALUES: Mapping[str, float] = {"a sign flipped": -1.0, "a scale doubled": 2.0}


#: The array that says which slip is at work: 1 at its place among those above, 0 elsewhere.
_CHOSEN = "slip"


class _Slips(Messenger):  # type: ignore[misc] # NumPyro has no types
    """Slips at work inside a model as far as each one's weight says."""

    def __init__(self, weights: Any, *, observed: str, latent: str) -> None:
        self.weights, self.observed, self.latent = weights, observed, latent
        super().__init__()

    def process_message(self, message: Any) -> None:
        """Weigh the log likelihood."""
        if message["type"] != "sample" or message["name"] != self.observed:
            return
        dropped, twice = self.weights[: len(OF_DATA)]
        shape = message["fn"].batch_shape
        # The first entry is the term that is dropped, and all of an observation that has one entry alone.
        first = np.arange(math.prod(shape)).reshape(shape) == 0
        message["scale"] = (1 + twice) * (1 - dropped * first)

    def postprocess_message(self, message: Any) -> None:
        """Hand another value on; the density keeps that which was drawn."""
        if message["type"] == "sample" and message["name"] == self.latent:
            move = biject_to(message["fn"].support)
            factor = 1 + self.weights[len(OF_DATA) :] @ (np.array([*OF_VALUES.values()]) - 1)
            message["value"] = move(factor * move.inv(message["value"]))


@dataclass(frozen=True, kw_only=True)
class Slipped:
    """A model with the slip that its data choose; what it simulates has none.

    Which slip it is comes with the data, so that one program serves all of them.
    """

    model: Model
    latent: str

    @property
    def name(self) -> str:
        """That of the model."""
        return self.model.name

    @property
    def label(self) -> str:
        """Whose slips they are."""
        return f"{self.model.label}, slipped"

    @property
    def statistics(self) -> Mapping[str, Statistic]:
        """Those of the model."""
        return self.model.statistics

    def prepare(self, table: Any) -> Data:
        """As the model."""
        return self.model.prepare(table)

    def numpyro(self, data: Data) -> None:
        """The model with the slip."""
        with _Slips(data[_CHOSEN], observed=data.observed, latent=self.latent):
            self.model.numpyro(data)

    def pymc(self, data: Data) -> Any:
        """As the model, without the slip."""
        return self.model.pymc(data)

    def estimates(self, posterior: xr.Dataset, data: Data, *, prob: float = 0.95) -> Estimates:
        """As the model."""
        return self.model.estimates(posterior, data, prob=prob)

    def simulate(self, key: Any, data: Data) -> Mapping[str, Any]:
        """By the model without the slip."""
        return self.model.simulate(key, data)

    def replicated(self, data: Data, observed: Mapping[str, Any]) -> Data:
        """As the model; the slip stays."""
        found = with_observations(self.model, data, observed)
        return found.with_arrays({**found.arrays, _CHOSEN: data[_CHOSEN]})


def slips_of(model: Model, data: Data) -> tuple[Slipped, dict[tuple[str, str], Data]]:
    """The model with slips, and the data of each, by kind and site: its main observation, and its first unknown."""
    from bayesjudge.inference.programs.density import density

    latent = next(iter(name for name in density(model, data).dims if name not in data.observations))
    kinds = [*((kind, data.observed) for kind in OF_DATA), *((kind, latent) for kind in OF_VALUES)]
    chosen = zip(kinds, np.eye(len(kinds)), strict=True)
    found = {kind: data.with_arrays({**data.arrays, _CHOSEN: weights}) for kind, weights in chosen}
    return Slipped(model=model, latent=latent), found
