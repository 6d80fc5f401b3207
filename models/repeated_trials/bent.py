"""Coordinates of items on which one side won throughout: a wall on one side, the prior on the other.

Wins alone say that an item lies beyond where another outcome would have shown, and nothing of how far. Where items
differ much (by tens of logits, of a judge that hardly ever changes its verdict) the posterior of such an item is half
a normal: in units of the spread σ a wall of width 1/σ, at which trajectories break. With v = side·u − w, the unit z of
the item is

    side·z = w + l v + (1 − l) log(1 + e^v)

so that z has slope l, the wall's width, before the wall at w, and slope 1 beyond. With l = 1 it is z = u. It is a
choice of coordinates and not of the density: log dz/du is added to that of z.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from numpyro import distributions as dist
from numpyro.distributions import constraints

#: Steps of Newton's method to a prior draw: one for each e-fold of its distance to the wall, at worst.
_STEPS = 60


class Bent(dist.Distribution):  # type: ignore[misc]  # NumPyro has no types
    """Of u, where z ~ N(centre, width); nothing is bent where side is 0.

    centre, width: Of z a priori.
    side: Where all trials were won, −1, 0 or 1.
    wall, slope: w and l above.
    """

    support = constraints.real
    reparametrized_params = ("centre", "width", "side", "wall", "slope")
    arg_constraints = dict.fromkeys(reparametrized_params, constraints.real)

    def __init__(self, centre: Any, width: Any, side: Any, wall: Any, slope: Any) -> None:
        arrays = jnp.broadcast_arrays(*map(jnp.asarray, (centre, width, side, wall, slope)))
        self.centre, self.width, self.side, self.wall, self.slope = arrays
        super().__init__(batch_shape=arrays[0].shape)

    def unit(self, u: Any) -> Any:
        """Z of u."""
        v = self.side * u - self.wall
        return jnp.where(self.side == 0, u, self.side * (self.wall + self._rise(v)))

    def log_prob(self, value: Any) -> Any:
        """Of N(centre, width) at z, and log dz/du."""
        v = self.side * value - self.wall
        slope = jnp.where(self.side == 0, 1.0, self.slope + (1.0 - self.slope) * jax.nn.sigmoid(v))
        return dist.Normal(self.centre, self.width).log_prob(self.unit(value)) + jnp.log(slope)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        """Draws of u."""
        return self.at(jax.random.normal(key, (*sample_shape, *self.batch_shape)))

    def at(self, standard: Any) -> Any:
        """Of N(0, 1) values: z taken back by Newton's method, which is monotone from above as the rise is convex."""
        z = self.centre + self.width * standard
        y = self.side * z - self.wall

        def nearer(_: Any, v: Any) -> Any:
            return v - (self._rise(v) - y) / (self.slope + (1.0 - self.slope) * jax.nn.sigmoid(v))

        v = jax.lax.fori_loop(0, _STEPS, nearer, jnp.where(y > 0, y, y / self.slope))
        return jnp.where(self.side == 0, z, self.side * (v + self.wall))

    def _rise(self, v: Any) -> Any:
        return self.slope * v + (1.0 - self.slope) * jax.nn.softplus(v)
