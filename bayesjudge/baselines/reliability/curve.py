"""How many trials a majority needs: exact probability that K of N trials have the majority of all N.

K trials drawn from an item's N without replacement have multivariate hypergeometric counts, so the
probability is a finite sum and needs no Monte Carlo (METHODS 2; the paper's section 4.4 draws 500 samples).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.baselines.common.bootstrap import Counts
from bayesjudge.baselines.common.moments import Array
from bayesjudge.baselines.reliability.means import bootstrap_column, estimand_rows
from bayesjudge.errors import UsageError

#: Largest K where an item has more trials than that: beyond, only time is spent.
LARGEST = 200


def majority_match(n: Counts, *, largest: int = LARGEST) -> Array:
    """Probability that the majority of K of an item's trials is the majority of all of them.

    Returns: For K = 1, 2, ...; NaN where an item has fewer trials. Majorities that are shared, among the K or among
        all, are broken at random, so an item whose whole count is shared never reaches 1.
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


def kept_trials(match: Array) -> int:
    """Largest K that at least half of the items (I, K) have."""
    items = (~np.isnan(match)).sum(axis=0)
    return int(((2 * items >= items.max(initial=0)) & (items > 0)).sum())


def minimum_trials(match: Array, target: float) -> Array:
    """Smallest K (…,) whose probability (…, K) reaches the target; NaN where none does."""
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
    """Ways (size + 1,) to draw K trials of which the first outcome has most, a shared place for a half or a third."""
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
    """Binomial coefficients of n over 0 … ``size``, in a precision whose range holds a million over `LARGEST`."""
    k = np.arange(1, min(n, size) + 1, dtype=np.longdouble)
    return np.concatenate([np.ones(1, dtype=np.longdouble), np.cumprod((n - k + 1) / k)])


#: Numbers of trials whose noise budget is reported: one, and the paper's three tiers (section 6.4).
BUDGETS = (1, 10, 20, 50)


@dataclass(frozen=True, eq=False)
class StratumCurve:
    """Curves (K,) of a stratum with their replicates (B, K)."""

    stratum: str
    items: NDArray[np.int64]
    point: Array
    replicates: Array


def budget_rows(curve: StratumCurve, items: int, prob: float) -> list[dict[str, Any]]:
    """Expected number of items whose majority of K trials is not that of all, were every item like these."""
    trials = [trials for trials in BUDGETS if trials <= len(curve.point)]
    at = np.array(trials, dtype=np.int64) - 1
    column = bootstrap_column(
        items * (1.0 - curve.point[at]),
        items * (1.0 - curve.replicates[:, at]),
        n=curve.items[at].astype(np.float64),
        prob=prob,
        bounds=(0.0, float(items)),
    )
    return estimand_rows(column, [f"noise_budget[K={one}]" for one in trials])


def minimum_rows(curve: StratumCurve, targets: Sequence[float], prob: float) -> Iterator[dict[str, Any]]:
    """Smallest K for each target, as rows of estimates."""
    fixed = {"method": "bootstrap", "n": curve.items.max(initial=0)}
    for target, point, lower, upper in minimum_frame(curve, targets, prob).itertuples(index=False):
        note = "" if np.isfinite(point) else f"not reached with {len(curve.point)} trials"
        limits = {"point": point, "lower": lower, "upper": upper, "note": note}
        yield {"estimand": f"minimum_trials[{target:.0%}]", **fixed, **limits}


def minimum_frame(curve: StratumCurve, targets: Sequence[float], prob: float) -> pd.DataFrame:
    """Smallest K for each target with the quantiles of its replicates, infinite where none reaches it."""
    limits = (1.0 - prob) / 2.0, (1.0 + prob) / 2.0
    found = []
    for target in targets:
        point, drawn = (minimum_trials(match, target) for match in (curve.point, curve.replicates))
        point, drawn = (np.where(np.isnan(smallest), np.inf, smallest) for smallest in (point, drawn))
        lower, upper = np.quantile(drawn, limits, method="inverted_cdf") if len(drawn) else (np.nan, np.nan)
        found.append((target, float(point), float(lower), float(upper)))
    return pd.DataFrame(found, columns=["target", "point", "lower", "upper"])


def curve_frame(curve: StratumCurve, prob: float) -> pd.DataFrame:
    """The curve with its band, one row a number of trials."""
    n = curve.items.astype(np.float64)
    column = bootstrap_column(curve.point, curve.replicates, n=n, prob=prob, bounds=(0.0, 1.0))
    limits = {"point": column.point, "lower": column.lower, "upper": column.upper}
    return pd.DataFrame({"trials": np.arange(1, len(n) + 1), **limits, "items": curve.items})


#: Recommended numbers of trials, and the share of right majorities that the paper reports for them. Section 6.4
#: recommends 10, 20 and 50; sections 6.2 and 5.9 report .95 at 11 trials and .97 at 20, and 50 are the paper's own
#: reference, which agrees with itself.
TIERS = (("minimum", 10, 0.95), ("standard", 20, 0.97), ("high stakes", 50, 1.0))


def check_tiers(curves: pd.DataFrame) -> pd.DataFrame:
    """What each tier buys here.

    Returns: ``judge, group, stratum, tier, trials, promised, point, lower, upper, verdict``. The verdict compares the
        interval with the promise: ``holds`` (all of it reaches it), ``does not hold`` (none does), ``undecided``, or
        ``too few trials``, where the table has none to tell from.
    """
    keys = ["judge", "group", "stratum"]
    rows = [
        (*key, name, trials, promised, *_bought(part, trials, promised))
        for key, part in curves.groupby(keys, sort=False)
        for name, trials, promised in TIERS
    ]
    return pd.DataFrame(rows, columns=[*keys, "tier", "trials", "promised", "point", "lower", "upper", "verdict"])


def _bought(curve: pd.DataFrame, trials: int, promised: float) -> tuple[float, float, float, str]:
    """The curve at so many trials, or at the most below them where a curve has gaps, and the verdict."""
    if curve["trials"].max() < trials:
        return np.nan, np.nan, np.nan, "too few trials"
    at = curve[curve["trials"] <= trials].sort_values("trials").iloc[-1]
    # A mean of probabilities that are exactly 1 may miss it by rounding.
    least = promised - 1e-9
    verdict = "holds" if at["lower"] >= least else "does not hold" if at["upper"] < least else "undecided"
    return at["point"], at["lower"], at["upper"], verdict
