"""In which units effects are sampled: after a normal guess at what the data say of each.

An effect that its data pin down is best sampled as it is, one that they leave open in units of its spread
(Papaspiliopoulos, Roberts & Sköld 2007), and most lie in between. A guess at the likelihood of an effect,
normal with an information I and a pull I·y towards a location y, says where. By that guess an effect
x ~ N(0, s) has

    mean s² I y / (1 + s² I)    and standard deviation s / √(1 + s² I),

and it is sampled in those units, z = (x − mean)/sd. Wherever the guess lies, x is N(0, s) exactly: it is a
choice of coordinates, not of the density, and may depend on whatever was sampled before. Where it lies well,
z is about N(0, 1) a posteriori whatever s is, so that the volume of the posterior does not change along s,
which is what makes a spread mix slowly. All of it is arithmetic, on NumPy, JAX and PyTensor arrays alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit


@dataclass(frozen=True, kw_only=True)
class Units:
    """Units z of an effect x ~ N(0, s): z ~ N(centre, width) a priori, and x = shift + scale z.

    Examples
    --------
    >>> units = Guess(information=3.0, pull=6.0).units(1.0)
    >>> units.shift, units.scale, units.effect(units.centre), units.scale * units.width
    (1.5, 0.5, 0.0, 1.0)
    """

    centre: Any
    width: Any
    shift: Any
    scale: Any

    def effect(self, z: Any) -> Any:
        """The effect itself."""
        return self.shift + self.scale * z


@dataclass(frozen=True, kw_only=True)
class Guess:
    """What data are guessed to say of effects: information I, and pull I·y towards a location y."""

    information: Any
    pull: Any

    @classmethod
    def of_counts(cls, hits: NDArray[Any], n: NDArray[Any]) -> Guess:
        """Of logits of probabilities, by so many hits of n; half a hit and half a miss keep all and none finite."""
        rate = (hits + 0.5) / (n + 1)
        information = n * rate * (1 - rate)
        return cls(information=information, pull=information * logit(rate))

    @classmethod
    def kept(cls, arrays: Mapping[str, Any], name: str) -> Guess:
        """That which arrays of data hold under a name; of data without it, nothing."""
        return cls(information=arrays.get(f"information_{name}", 0.0), pull=arrays.get(f"pull_{name}", 0.0))

    def keep(self, name: str) -> dict[str, Any]:
        """The guess as arrays of data. Simulated data keep those of their design: coordinates, not observations."""
        return {f"information_{name}": self.information, f"pull_{name}": self.pull}

    def around(self, centre: Any) -> Guess:
        """Of what is left when ``centre`` is taken off."""
        return Guess(information=self.information, pull=self.pull - self.information * centre)

    def blurred(self, spread: Any) -> Guess:
        """Of what remains when a part with this spread is integrated out."""
        grow = 1.0 + spread**2 * self.information
        return Guess(information=self.information / grow, pull=self.pull / grow)

    def over(self, axis: int, *, keepdims: bool = False) -> Guess:
        """Of what all entries along an axis share."""
        return Guess(
            information=self.information.sum(axis, keepdims=keepdims), pull=self.pull.sum(axis, keepdims=keepdims)
        )

    def units(self, spread: Any) -> Units:
        """Coordinates of effects of this spread."""
        root = (1.0 + spread**2 * self.information) ** 0.5
        pull = self.pull * spread / root
        return Units(centre=-pull, width=root, shift=spread * pull / root, scale=spread / root)


def pymc_effects(name: str, information: Any, pull: Any, spread: Any, dims: Any) -> Any:
    """Effects N(0, spread) inside an open PyMC model, in the units that such a guess gives them."""
    import pymc as pm

    precision = spread**-2.0 + information
    root = precision**0.5
    return pull / precision + pm.Normal(name, -pull / root, spread * root, dims=dims) / root


def estimated_location(rough: Any, one_sided: Any, spread: Any) -> Any:
    """Rough location of an effect: further from the mean where all its observations are equal.

    Such data say on which side it is but not how far, so that it may be as far as the spread of the effects.

    one_sided: 1 or −1 where all is alike, the side of the first guess; 0 elsewhere.
    """
    return rough + one_sided * ((rough**2 + spread**2) ** 0.5 - abs(rough))


def information(n: NDArray[np.int64], models: int) -> NDArray[np.float64]:
    """Mean information of battles on a strength, over the directions in which strengths differ.

    A battle that somebody won tells ¼ of a unit on the difference of two equals, so ½ over all directions.

    models: Number of models M; there are M − 1 directions.
    """
    return np.asarray((n[:, 0] + n[:, 2]).sum() / 2 / max(models - 1, 1), dtype=np.float64)
