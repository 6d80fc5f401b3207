"""How many trials a majority needs: exact probability that K of N trials have the majority of all N.

K trials drawn from an item's N without replacement have multivariate hypergeometric counts, so the
probability is a finite sum and needs no Monte Carlo (METHODS 2; the paper's section 4.4 draws 500 samples).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.errors import UsageError

__all__ = ["Curve", "majority_match", "mean_curve", "minimum_trials"]

type Counts = NDArray[np.int64]
type Array = NDArray[np.float64]

#: Largest K where an item has more trials than that: beyond, only time is spent.
LARGEST = 200


@dataclass(frozen=True, eq=False, kw_only=True)
class Curve:
    """Mean over items of P(majority of K trials = majority of all): arrays (K,).

    Attributes
    ----------
    trials : int array
        1, 2, ... up to the most trials that half of the items have.
    match : float array
    items : int array
        Items with at least that many trials, over which the mean goes.
    """

    trials: Counts
    match: Array
    items: Counts


def majority_match(n: Counts, *, largest: int = LARGEST) -> Array:
    """Probability that the majority of K of an item's trials is the majority of all of them.

    Parameters
    ----------
    n : int array (I, 3)
        Trials of each outcome.
    largest : int
        Largest K.

    Returns
    -------
    float array (I, K)
        For K = 1, 2, ...; NaN where an item has fewer trials. Majorities that are shared, among the K or
        among all, are broken at random, so an item whose whole count is shared never reaches 1.

    Raises
    ------
    UsageError
        ``largest`` below 1.

    Examples
    --------
    >>> majority_match(np.array([[3, 1, 0]])).round(3).tolist()
    [[0.75, 0.75, 1.0, 1.0]]
    """
    if largest < 1:
        raise UsageError(f"the largest number of trials must be 1 or more, not {largest!r}")
    # Only the multiset of counts matters, and most items share theirs with others.
    patterns, place = np.unique(-np.sort(-n, axis=1), axis=0, return_inverse=True)
    size = min(largest, int(n.sum(axis=1).max(initial=1)))
    table = np.full((len(patterns), size), np.nan)
    for row, pattern in enumerate(patterns):
        total = int(pattern.sum())
        if total:
            match = _match(pattern, min(total, size))
            table[row, : len(match)] = match
    return np.asarray(table[place.reshape(-1)])


def mean_curve(match: Array) -> Curve:
    """Mean of items' probabilities (I, K) over the items that have K trials.

    Examples
    --------
    >>> curve = mean_curve(np.array([[1.0, 1.0], [0.5, np.nan]]))
    >>> curve.match.tolist(), curve.items.tolist()
    ([0.75, 1.0], [2, 1])
    """
    items = (~np.isnan(match)).sum(axis=0)
    kept = int((2 * items >= items.max(initial=0)).sum()) if items.max(initial=0) else 0
    mean = np.nansum(match[:, :kept], axis=0) / items[:kept]
    return Curve(trials=np.arange(1, kept + 1), match=mean, items=items[:kept])


def minimum_trials(match: Array, target: float) -> Array:
    """Smallest K (…,) whose probability (…, K) reaches the target; NaN where none does.

    Examples
    --------
    >>> minimum_trials(np.array([[0.8, 0.8, 0.93], [0.5, 0.5, 0.5]]), 0.9).tolist()
    [3.0, nan]
    """
    # A mean of probabilities that are exactly 1 may miss it by rounding.
    reached = match >= target - 1e-12
    return np.where(reached.any(axis=-1), reached.argmax(axis=-1) + 1.0, np.nan)


def _match(pattern: Counts, size: int) -> Array:
    """P (size,) for counts sorted from largest: the mean over the outcomes that share the first place."""
    top = int((pattern == pattern[0]).sum())
    total = int(pattern.sum())
    ways = [_wins(np.roll(pattern, -code), size) for code in range(top)]
    whole = _choose(total, size)[1:]
    return np.asarray(np.mean(ways, axis=0)[1:] / whole, dtype=np.float64)


def _wins(pattern: Counts, size: int) -> NDArray[Any]:
    """Weighted number of ways (size + 1,) to draw K trials of which the first outcome has most.

    A place shared by two or three outcomes counts for a half or a third.
    """
    own, left, right = (_choose(int(count), size) for count in pattern)
    ways = np.zeros(size + 1, dtype=own.dtype)
    for x in range(1, len(own)):
        below = _product(left[:x], right[:x], size)
        level = _shifted(right[:x], x, left, size) + _shifted(left[:x], x, right, size)
        both = np.zeros_like(below)
        if x < min(len(left), len(right)) and 2 * x <= size:
            both[2 * x] = left[x] * right[x]
        others = below + level / 2 + both / 3
        ways[x:] += own[x] * others[: size + 1 - x]
    return ways


def _shifted(part: NDArray[Any], x: int, other: NDArray[Any], size: int) -> NDArray[Any]:
    """Ways with exactly x of the other outcome and fewer of this one."""
    found = np.zeros(size + 1, dtype=part.dtype)
    if x < len(other) and x <= size:
        width = min(len(part), size + 1 - x)
        found[x : x + width] = other[x] * part[:width]
    return found


def _product(left: NDArray[Any], right: NDArray[Any], size: int) -> NDArray[Any]:
    found = np.zeros(size + 1, dtype=left.dtype)
    product = np.convolve(left, right)[: size + 1]
    found[: len(product)] = product
    return found


def _choose(n: int, size: int) -> NDArray[Any]:
    """Binomial coefficients of n over 0, 1, ... up to ``size``.

    In extended precision, whose range holds those of a million trials over `LARGEST`.
    """
    k = np.arange(1, min(n, size) + 1, dtype=np.longdouble)
    return np.concatenate([np.ones(1, dtype=np.longdouble), np.cumprod((n - k + 1) / k)])
