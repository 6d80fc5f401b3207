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

from bayesjudge.model import Data, Model, with_observations

if TYPE_CHECKING:
    import xarray as xr

    from bayesjudge.estimates import Estimates
    from bayesjudge.model import Statistic

#: Those of the likelihood, then those of an unknown, on whose unconstrained scale they are.
OF_DATA: tuple[str, ...] = ("a likelihood term dropped", "data counted twice")
OF_VALUES: Mapping[str, float] = {"a sign flipped": -1.0, "a scale doubled": 2.0}


class _Slip(Messenger):  # type: ignore[misc] # NumPyro has no types
    """One slip at work inside a model."""

    def __init__(self, kind: str, site: str) -> None:
        self.kind, self.site = kind, site
        super().__init__()

    def process_message(self, message: Any) -> None:
        """Weigh the log likelihood."""
        if self.kind not in OF_DATA or message["type"] != "sample" or message["name"] != self.site:
            return
        shape = message["fn"].batch_shape
        # The first entry is the term that is dropped, and all of an observation that has one entry alone.
        first = np.arange(math.prod(shape)).reshape(shape) == 0
        message["scale"] = 2.0 if self.kind == "data counted twice" else np.where(first, 0.0, 1.0)

    def postprocess_message(self, message: Any) -> None:
        """Hand another value on; the density keeps that which was drawn."""
        if self.kind in OF_VALUES and message["type"] == "sample" and message["name"] == self.site:
            move = biject_to(message["fn"].support)
            message["value"] = move(OF_VALUES[self.kind] * move.inv(message["value"]))


@dataclass(frozen=True, kw_only=True)
class Slipped:
    """A model with a slip at one of its sites; what it simulates has none."""

    model: Model
    kind: str
    site: str

    @property
    def name(self) -> str:
        """That of the model."""
        return self.model.name

    @property
    def label(self) -> str:
        """The slip, and where."""
        return f"{self.model.label}, {self.kind} at {self.site}"

    @property
    def statistics(self) -> Mapping[str, Statistic]:
        """Those of the model."""
        return self.model.statistics

    def prepare(self, table: Any) -> Data:
        """As the model."""
        return self.model.prepare(table)

    def numpyro(self, data: Data) -> None:
        """The model with the slip."""
        with _Slip(self.kind, self.site):
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
        """As the model."""
        return with_observations(self.model, data, observed)


def slips_of(model: Model, data: Data) -> list[Slipped]:
    """The slips of a model: of its main observation, and of its first unknown."""
    from bayesjudge.inference.programs.density import density

    latent = next(iter(name for name in density(model, data).dims if name not in data.observations))
    found = [Slipped(model=model, kind=kind, site=data.observed) for kind in OF_DATA]
    return [*found, *(Slipped(model=model, kind=kind, site=latent) for kind in OF_VALUES)]
