"""Draws from a model's prior, whose standard normal numbers come from the host.

JAX draws a normal by an inverse error function, which every place that uses the number computes again: half of the code
of the program that draws from the prior of `repeated_trials` came from its eight normal sites.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from numpyro import distributions as dist
from numpyro.primitives import Messenger

from bayesjudge.inference.evaluation import TOGETHER, once
from bayesjudge.inference.programs import accelerator
from bayesjudge.inference.programs.density import Density
from bayesjudge.maths.each_draw import each_draw
from bayesjudge.model import Data, Model

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Where a draw on the edge of its support is put: e^-700, what a probability lacks to 1 there, is next to nothing.
_EDGE = 700.0


class NormalsGiven(Messenger):  # type: ignore[misc] # NumPyro has no types
    """Within it, unknowns that are normal take the next of the standard normal numbers; others are drawn as ever.

    noise: As many numbers as there are unknowns, or more.
    """

    def __init__(self, noise: Any) -> None:
        super().__init__()
        self.noise, self.used = noise, 0

    def process_message(self, msg: dict[str, Any]) -> None:
        """Give a normal site its value."""
        if msg["type"] != "sample" or msg["is_observed"] or msg["value"] is not None:
            return
        base = msg["fn"]
        while isinstance(base, dist.ExpandedDistribution | dist.Independent):
            base = base.base_dist
        if type(base) is not dist.Normal:
            return
        shape = msg["fn"].shape(msg["kwargs"]["sample_shape"])
        start, self.used = self.used, self.used + math.prod(shape)
        if self.used <= len(self.noise):
            msg["value"] = base.loc + base.scale * self.noise[start : self.used].reshape(shape)


def prior_points(
    model: Model, data: Data, target: Density, *, number: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Unconstrained draws (number, d) from the prior; on the edge of a support, at the last point within it."""

    def one(row: Any, arrays: Any) -> Any:
        key, noise = row
        with NormalsGiven(noise):
            sites = model.simulate(key, data.with_arrays(arrays))
        values = {name: sites[name] for name in target.dims if name not in data.observations}
        return target.unconstrain(values, arrays)

    program = once(
        (target, "prior"),
        lambda: jax.jit(lambda rows, arrays: each_draw(lambda row: one(row, arrays), rows, most=TOGETHER)),
    )
    keys = rng.integers(2**32, size=(number, 2), dtype=np.uint32)
    noise = rng.standard_normal((number, target.size))
    found = np.asarray(program((keys, noise), accelerator.to_device(data.arrays)))
    return np.where(np.isinf(found), np.copysign(_EDGE, found), found)
