"""How good a score must be before flipping by it pays."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from bayesjudge.errors import UsageError

__all__ = ["auc", "break_even_auc", "lowest"]


def auc(scores: NDArray[np.float64], agrees: NDArray[Any]) -> float:
    """Probability that a consistent decision scores above an inconsistent one, ties half; NaN without both.

    Examples
    --------
    >>> auc(np.array([0.1, 0.4, 0.8]), np.array([0, 1, 1]))
    1.0
    """
    right = np.asarray(agrees, dtype=bool)
    good, bad = int(right.sum()), int((~right).sum())
    if not good or not bad:
        return math.nan
    return float((rankdata(scores)[right].sum() - good * (good + 1) / 2) / (good * bad))


def break_even_auc(share: float) -> float:
    """AUC at which flipping the lowest ``1 − share`` is right half the time, so that it changes nothing.

    Scores of consistent and inconsistent decisions are taken as normal with one spread, a distance δ apart.
    Flipping the lowest 1 − s is right for half of what it flips where
    ``s Φ(−δ) = (1 − s)/2``; then AUC = Φ(δ/√2).

    Parameters
    ----------
    share : float
        Share s of consistent decisions, above ½ and below 1.

    Raises
    ------
    UsageError
        A share that is no such number.

    Examples
    --------
    >>> [round(break_even_auc(s), 2) for s in (0.7, 0.8, 0.85, 0.9)]
    [0.71, 0.79, 0.83, 0.87]
    """
    if not 0.5 < share < 1:
        raise UsageError(f"share={share} must lie between 0.5 and 1: below, flipping everything pays already")
    normal = NormalDist()
    return normal.cdf(-normal.inv_cdf((1 - share) / (2 * share)) / math.sqrt(2))


def lowest(scores: NDArray[np.float64], count: int) -> NDArray[np.bool_]:
    """Mask of the ``count`` lowest scores, the first ones among equals; NaN is never chosen.

    Examples
    --------
    >>> lowest(np.array([0.3, np.nan, 0.1, 0.3]), 2).tolist()
    [True, False, True, False]
    """
    order = np.argsort(scores, kind="stable")
    chosen = np.zeros(len(scores), dtype=bool)
    chosen[order[: min(count, int(np.isfinite(scores).sum()))]] = True
    return chosen
