"""Win, tie or loss of a battle: Davidson's extension of Bradley–Terry, in NumPy, JAX and PyTensor.

For strengths with difference d and tie parameter ν (Davidson 1970)::

    P(first wins) : P(neither) : P(second wins)  =  e^{d/2} : ν : e^{−d/2}

so P(first wins | somebody does) = σ(d), and two equals tie with probability ν/(2+ν).
``log ν ~ N(−1, 2)``: equals tie 16 % of the time, 95 % within .4 % and 90 %, since some judges never call a
tie and others do in most battles.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.maths.bradley_terry import PER_LOGIT
from bayesjudge.priors import Prior, Slot

#: What a battle can end in, in the order of every array of counts.
OUTCOMES = ("first", "neither", "second")
#: Of how far strengths are apart (common/strengths.py), and of log ν.
STRENGTH = Slot(
    Prior("Rayleigh", (PER_LOGIT,)), "Elo", "spread of strengths: flat in its square near 0, which covers best"
)
TIE = Slot("Normal(-1, 2)", "log", "equals tie 16 % of the time, 95 % within .4 % and 90 %")


def jax_log_outcomes(difference: Any, log_tie: Any) -> Any:
    """Log probabilities (..., 3) from differences of strength (...) and log ν, in JAX."""
    import jax
    import jax.numpy as jnp

    half = difference / 2
    weight = jnp.stack([half, jnp.broadcast_to(log_tie, half.shape), -half], axis=-1)
    return weight - jax.nn.logsumexp(weight, axis=-1, keepdims=True)


def pytensor_log_outcomes(difference: Any, log_tie: Any) -> Any:
    """The same in PyTensor, by log-sum-exp in pairs."""
    import pytensor.tensor as pt

    half = difference / np.float64(2)
    tie = log_tie + pt.zeros_like(half)
    total = pt.logaddexp(pt.logaddexp(half, -half), tie)
    return pt.stack([half - total, tie - total, -half - total], axis=-1)


def expected_score(difference: NDArray[np.float64], log_tie: Any) -> NDArray[np.float64]:
    """P(first wins) + P(neither)/2 in NumPy, from the side of the stronger: nothing overflows.

    Examples
    --------
    >>> expected_score(np.array([0.0, 2.0, -2.0]), 0.0).round(4).tolist()
    [0.5, 0.7876, 0.2124]
    """
    tie, u = np.exp(log_tie), np.exp(-np.abs(difference) / 2)
    better: NDArray[np.float64] = (1 + tie * u / 2) / (1 + tie * u + u * u)
    return np.where(np.asarray(difference) < 0, 1 - better, better)
