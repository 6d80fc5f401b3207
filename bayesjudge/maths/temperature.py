"""How many logits of human preference one point of a judge's score gap is worth: β (METHODS 4.2)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

type Floats = NDArray[np.float64]
_STEPS, _DONE = 100, 1e-8


def soft_probability(gap: NDArray[Any], beta: NDArray[Any] | float) -> Floats:
    """``σ(βs)``; an infinite β gives the sign of s, and ½ at s = 0."""
    from scipy.special import expit

    gap = np.asarray(gap, dtype=np.float64)
    logits = np.where(gap == 0, 0.0, np.where(gap == 0, 1.0, gap) * beta)
    return np.asarray(expit(logits), dtype=np.float64)


def solve_beta(gap: Floats, won: NDArray[Any], lost: NDArray[Any]) -> Floats:
    """Maximum-likelihood β of B data sets on the same R gaps.

    Returns: +∞ where no vote goes against its gap and −∞ where none goes with it; NaN where every gap voted on is 0.
    """
    from scipy.special import expit

    won, lost = np.atleast_2d(won), np.atleast_2d(lost)
    up, down = np.maximum(gap, 0), np.maximum(-gap, 0)
    against = won @ down + lost @ up
    with_it = won @ up + lost @ down
    beta = np.where(against <= 0, np.where(with_it <= 0, np.nan, np.inf), np.where(with_it <= 0, -np.inf, 0.0))
    open_ = np.flatnonzero(np.isfinite(beta))
    total, scale = won + lost, np.abs(gap).max(initial=1e-300)
    for _ in range(_STEPS):
        if not len(open_):
            break
        p = expit(beta[open_, None] * gap)
        slope = ((won[open_] - total[open_] * p) * gap).sum(axis=1)
        curve = (total[open_] * p * (1 - p) * gap * gap).sum(axis=1)
        # No prediction moves by more than 5 logits a step: far out the curve is flat and Newton overshoots.
        step = np.clip(slope / np.maximum(curve, 1e-300), -5 / scale, 5 / scale)
        beta[open_] += step
        open_ = open_[np.abs(step) * scale > _DONE]
    return beta
