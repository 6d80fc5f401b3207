"""Quantiles of conformal prediction: whole ranks, infinity where the rank does not exist (METHODS 4.4)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["least_size", "lower_rank", "upper_rank", "weighted_rank"]


def upper_rank(scores: NDArray[np.float64], prob: float) -> float:
    """The ⌈prob (n + 1)⌉-th smallest score; +∞ when there are fewer.

    Examples
    --------
    >>> upper_rank(np.arange(1.0, 10.0), 0.9), upper_rank(np.arange(1.0, 9.0), 0.9)
    (9.0, inf)
    """
    rank = _ceiling(prob * (len(scores) + 1))
    return float(np.sort(scores)[rank - 1]) if rank <= len(scores) else math.inf


def lower_rank(scores: NDArray[np.float64], prob: float) -> float:
    """The ⌊(1 − prob)(n + 1)⌋-th smallest; −∞ when that is none.

    Examples
    --------
    >>> lower_rank(np.arange(1.0, 10.0), 0.9), lower_rank(np.arange(1.0, 9.0), 0.9)
    (1.0, -inf)
    """
    return -upper_rank(-np.asarray(scores), prob)


def weighted_rank(
    scores: NDArray[np.float64], weights: NDArray[np.float64], own: float, prob: float
) -> float:
    """Smallest score at which the weights reach ``prob`` of their total (Tibshirani et al. 2019).

    Parameters
    ----------
    scores, weights : array (n,)
        Of the calibration points.
    own : float
        Weight of the target, whose unknown score counts as infinite.
    prob : float

    Examples
    --------
    >>> weighted_rank(np.arange(1.0, 10.0), np.ones(9), 1.0, 0.9)
    9.0
    """
    order = np.argsort(scores)
    share = np.cumsum(weights[order]) / (weights.sum() + own)
    # Rounding must not push a sum of equal weights over the rank it is.
    place = int(np.searchsorted(share, prob - 1e-12))
    return float(scores[order][place]) if place < len(scores) else math.inf


def least_size(prob: float) -> int:
    """Calibration points that a finite interval needs at least.

    Examples
    --------
    >>> least_size(0.9), least_size(0.95)
    (9, 19)
    """
    n = max(0, math.floor(prob / (1 - prob)) - 2)
    while _ceiling(prob * (n + 1)) > n:
        n += 1
    return n


def _ceiling(value: float) -> int:
    """⌈value⌉, undisturbed by 0.9 · 10 being a hair above 9."""
    return math.ceil(round(value, 9))
