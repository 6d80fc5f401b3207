"""Where to spend trials: the allocation over items that leaves fewest majorities wrong.

A pure function of what is believed about each item's outcome probabilities, whoever believes it: draws of a
posterior, or of the smoothed bootstrap of the counts (`pilot_draws`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesjudge.errors import UsageError

type Array = NDArray[np.float64]
type Counts = NDArray[np.int64]

#: Numbers of further trials that an item may be given.
STEPS = (0, 1, 2, 3, 4, 5, 7, 9, 11, 15, 21, 31, 41, 51)


@dataclass(frozen=True, eq=False, kw_only=True)
class Allocation:
    """How many further trials each of I items is given, and what that is worth.

    extra: Further trials.
    before, after: Probability that the item's majority is wrong, without and with them.
    uniform: Expected number of wrong majorities had every item been given the same number of trials.
    spent: Trials in all; the rest of the budget would have bought no improvement, or less than a whole step.
    """

    extra: Counts
    before: Array
    after: Array
    uniform: float
    spent: int


def allocate(
    probabilities: ArrayLike, *, budget: int, counts: ArrayLike | None = None, steps: Sequence[int] = STEPS
) -> Allocation:
    """Spend a budget of further trials where it corrects most majorities.

    probabilities: Draws of each item's probabilities of a, b and tie.
    counts: Trials that were made already and that the majority will include; none by default.
    steps: Numbers of further trials that an item may be given, ascending from 0.

    An item's majority is wrong where it is not the outcome of highest probability; shared first places are
    broken at random. Expected errors are exact sums over the outcomes of the further trials. Steps are bought
    in the order of errors saved for each trial along the lower convex hull of each item's errors, which is
    optimal up to the last step (Fox 1966, Management Science 13).
    """
    draws, existing = _checked(probabilities, budget, counts, steps)
    errors = _errors_in_reach(draws, existing, steps, budget)
    cost = np.asarray(steps, dtype=np.int64)
    place = np.zeros(len(errors), dtype=np.int64)
    left = budget
    for _, item, start, end in sorted(_segments(errors, cost), key=lambda segment: -segment[0]):
        price = int(cost[end] - cost[start])
        if place[item] == start and price <= left:
            place[item] = end
            left -= price
    rows = np.arange(len(errors))
    return Allocation(
        extra=cost[place],
        before=errors[:, 0],
        after=errors[rows, place],
        spent=budget - left,
        uniform=_uniform(draws, existing, budget),
    )


def expected_errors(
    probabilities: ArrayLike, *, counts: ArrayLike | None = None, steps: Sequence[int] = STEPS
) -> Array:
    """Probability (I, S) that each item's majority is wrong after each number of further trials.

    Parameters are those of `allocate`. Without any trial, an outcome is picked at random.
    """
    draws, existing = _checked(probabilities, 0, counts, steps)
    return np.stack([_errors(draws, existing, extra) for extra in steps], axis=1)


def _errors_in_reach(draws: Array, counts: Counts, steps: Sequence[int], budget: int) -> Array:
    """Errors (I, S) where the budget may pay for the step; where not, those of the step before.

    Long steps are dear to work out, and few items are worth them.
    """
    found = np.empty((len(counts), len(steps)))
    reached = np.ones(len(counts), dtype=bool)
    for column, extra in enumerate(steps):
        if column:
            found[:, column] = found[:, column - 1]
            reached &= _worth(found[:, :column], np.asarray(steps[:column]), extra, budget)
        found[reached, column] = _errors(draws[:, reached], counts[reached], extra)
    return found


def _worth(errors: Array, cost: Counts, extra: int, budget: int) -> NDArray[np.bool_]:
    """Whether an item could be given so many trials, were it then always right.

    At a price for a trial an item takes the step with the fewest errors and costs. Longer steps only raise the price
    at which the budget is spent, and what is too dear at one price is so at each higher one.
    """
    low, high = 0.0, 1.0
    for _ in range(40):
        price = (low + high) / 2
        spent = cost[(errors + price * cost).argmin(axis=1)].sum()
        low, high = (price, high) if spent > budget else (low, price)
    return np.asarray((errors + low * cost).min(axis=1) > low * extra)


def _errors(draws: Array, counts: Counts, extra: int) -> Array:
    """Probability (I,) that the majority is wrong after so many further trials."""
    logs, best = np.log(np.maximum(draws, 1e-300)), draws.argmax(axis=2)
    ways, weight = _outcomes(extra)
    found = np.empty(len(counts))
    for item, made in enumerate(counts):
        # (outcomes, draws): exact multinomial probabilities of what the further trials may bring.
        chance = np.exp(weight[:, None] + ways @ logs[:, item].T)
        right = _credit(made + ways).T @ chance
        found[item] = 1.0 - right[best[:, item], np.arange(len(best))].mean()
    return np.clip(found, 0.0, 1.0)


def pilot_draws(counts: ArrayLike, *, draws: int = 100, seed: int = 0) -> Array:
    """Outcome probabilities (D, I, 3) that counts (I, 3) leave open: Dirichlet of the counts plus one half.

    The smoothed bootstrap of each item alone, equal to the posterior under Jeffreys' prior; it borrows
    nothing from other items.
    """
    counts = np.asarray(counts)
    if draws < 1 or counts.ndim != 2 or counts.shape[1] != 3 or (counts < 0).any():
        raise UsageError(
            f"counts must be integers of shape (items, 3) and draws 1 or more, not {counts.shape} and {draws}"
        )
    gamma = np.random.default_rng(seed).gamma(counts + 0.5, size=(draws, *counts.shape))
    gamma = np.maximum(gamma, 1e-300)
    return np.asarray(gamma / gamma.sum(axis=2, keepdims=True))


def _checked(
    probabilities: ArrayLike, budget: int, counts: ArrayLike | None, steps: Sequence[int]
) -> tuple[Array, Counts]:
    draws = np.asarray(probabilities, dtype=np.float64)
    if draws.ndim != 3 or draws.shape[2] != 3 or not np.allclose(draws.sum(axis=2), 1.0, atol=1e-6):
        raise UsageError(
            f"probabilities must have the shape (draws, items, 3) and add up to 1 over the last axis; got {draws.shape}"
        )
    existing = np.zeros(draws.shape[1:], dtype=np.int64) if counts is None else np.asarray(counts)
    if existing.shape != draws.shape[1:]:
        raise UsageError(f"counts must have the shape {draws.shape[1:]}, not {existing.shape}")
    if budget < 0:
        raise UsageError(f"the budget must be a number of trials, 0 or more, not {budget}")
    if list(steps) != sorted(set(steps)) or not steps or steps[0] != 0:
        raise UsageError(f"steps must ascend from 0, for instance {STEPS}, not {tuple(steps)}")
    return draws, existing.astype(np.int64)


@lru_cache(maxsize=64)
def _outcomes(extra: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """All ways (M, 3) that trials may end, and their log multinomial coefficients (M,)."""
    from scipy.special import gammaln

    first, second = np.divmod(np.arange((extra + 1) ** 2), extra + 1)
    kept = first + second <= extra
    ways = np.stack([first, second, extra - first - second], axis=1)[kept]
    return ways, gammaln(extra + 1.0) - gammaln(ways + 1.0).sum(axis=1)


def _credit(counts: Counts) -> Array:
    """Share (M, 3) of the first place that each outcome has."""
    top = counts == counts.max(axis=1, keepdims=True)
    return np.asarray(top / top.sum(axis=1, keepdims=True))


def _segments(errors: Array, cost: Counts) -> list[tuple[float, int, int, int]]:
    """Steps worth taking: (errors saved a trial, item, from, to) along each item's lower convex hull."""
    found = []
    for item, row in enumerate(errors):
        start = 0
        while start < len(cost) - 1:
            slope = (row[start] - row[start + 1 :]) / (cost[start + 1 :] - cost[start])
            # Of equally good steps the longest, so that plateaus of even numbers are crossed in one.
            end = start + 1 + int(len(slope) - 1 - np.argmax(np.round(slope[::-1], 12)))
            if slope[end - start - 1] <= 1e-9:
                break
            found.append((float(slope[end - start - 1]), item, start, end))
            start = end
    return found


def _uniform(draws: Array, counts: Counts, budget: int) -> float:
    """Expected wrong majorities when everyone gets the same, the remainder going to a random few."""
    items = len(counts)
    if not items:
        return 0.0
    each, more = divmod(budget, items)
    steps = (0, *((each,) if each else ()), each + 1)
    errors = expected_errors(draws, counts=counts, steps=steps).sum(axis=0)
    return float(errors[-2] + (errors[-1] - errors[-2]) * more / items)
