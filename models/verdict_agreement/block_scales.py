"""Priors of how large the effects of a block of features are: half-normal, or with no mass at 0.

A scale ``τ = s χ_k`` is half-normal with k = 1, which allows that a whole block says nothing, and Rayleigh
with k = 2, whose density falls to 0 there. Of many features, as of an encoder's directions, most may well say
nothing. Of a few groups, as of question types, it is known that they differ: with k = 1 their intervals were
drawn to the middle (verdict_agreement.md, "Question types").
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from numpyro import distributions as dist
from numpyro.distributions.transforms import PowerTransform

__all__ = ["log_density", "scale_prior"]

type Array = NDArray[np.float64]


def scale_prior(scale: Array, freedom: Array) -> Any:
    """NumPyro's distribution of every block's τ = s χ_k, as the root of a gamma.

    Parameters
    ----------
    scale, freedom : array (blocks,)
        s, and k.

    Examples
    --------
    >>> prior = scale_prior(np.array([0.5]), np.array([1]))
    >>> halfnormal = dist.HalfNormal(0.5)
    >>> bool(abs(prior.log_prob(0.3)[0] - halfnormal.log_prob(0.3)) < 1e-5)
    True
    """
    return dist.TransformedDistribution(dist.Gamma(freedom / 2, 0.5 / scale**2), PowerTransform(0.5))


def log_density(tau: Any, scale: Any, freedom: Any) -> Any:
    """Its log density in PyTensor, every block's by itself.

    Examples
    --------
    >>> round(float(log_density(0.3, np.array([0.5]), np.array([2.0])).eval()[0]), 4)
    0.0023
    """
    import pytensor.tensor as pt

    level = (1 - freedom / 2) * np.log(2.0) - pt.gammaln(freedom / 2) - freedom * pt.log(scale)
    return level + (freedom - 1) * pt.log(tau) - (tau / scale) ** 2 / 2
