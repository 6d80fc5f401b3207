"""Draws from a model's prior, by programs that compile fast.

JAX draws a normal by an inverse error function, which every place that uses the number computes again: half of the code
of the program that draws from the prior of `repeated_trials` came from its eight normal sites. Standard normal numbers
come from the host instead. Its gamma draws are a loop within a loop, seconds of compiling at every place.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from numpyro import distributions as dist
from numpyro.primitives import Messenger

from bayesjudge.inference.evaluation import TOGETHER, once
from bayesjudge.inference.programs import accelerator
from bayesjudge.inference.programs.density import Density
from bayesjudge.maths.each_draw import each_draw
from bayesjudge.model import Data, Model
from bayesjudge.priors.gamma import beta_logit, log_gamma

#: Where a draw on the edge of its support is put: e^-700, what a probability lacks to 1 there, is next to nothing.
_EDGE = 700.0


class PriorSampler(Messenger):  # type: ignore[misc] # NumPyro has no types
    """Within it, unknowns are drawn by what compiles fast; of other distributions than these as ever.

    Normal ones, and those made from them, take the next of the given numbers; gamma and beta ones are drawn by
    `bayesjudge.priors.gamma`.

    noise: Standard normal numbers, as many as there are unknowns, or more.
    """

    def __init__(self, noise: Any) -> None:
        super().__init__()
        self.noise, self.used = noise, 0

    def process_message(self, msg: dict[str, Any]) -> None:
        """Give an unknown its value."""
        if msg["type"] == "sample" and not msg["is_observed"] and msg["value"] is None:
            shape = msg["fn"].shape(msg["kwargs"]["sample_shape"])
            msg["value"] = self._drawn(msg["fn"], shape, msg["kwargs"]["rng_key"])

    def _drawn(self, of: Any, shape: tuple[int, ...], key: Any) -> Any:
        """A draw, or None where this is no distribution of those above."""
        if isinstance(of, dist.ExpandedDistribution | dist.Independent):
            return self._drawn(of.base_dist, shape, key)
        if isinstance(of, dist.TransformedDistribution) and all(move.domain.event_dim == 0 for move in of.transforms):
            value = self._drawn(of.base_dist, shape, key)
            return value if value is None else reduce(lambda at, move: move(at), of.transforms, value)
        kind, base = type(of), cast("Any", of)
        if kind in {dist.Gamma, dist.Chi2}:
            return jnp.exp(log_gamma(key, base.concentration, shape)) / base.rate
        if kind is dist.Beta:
            return jax.nn.sigmoid(beta_logit(key, base.concentration1, base.concentration0, shape))
        if kind not in {dist.Normal, dist.HalfNormal} or (numbers := self._next(shape)) is None:
            return None
        return base.loc + base.scale * numbers if kind is dist.Normal else base.scale * abs(numbers)

    def _next(self, shape: tuple[int, ...]) -> Any:
        start, self.used = self.used, self.used + math.prod(shape)
        return self.noise[start : self.used].reshape(shape) if self.used <= len(self.noise) else None


def prior_points(
    model: Model, data: Data, target: Density, *, number: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Unconstrained draws (number, d) from the prior; on the edge of a support, at the last point within it."""

    def one(row: Any, arrays: Any) -> Any:
        key, noise = row
        with PriorSampler(noise):
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
