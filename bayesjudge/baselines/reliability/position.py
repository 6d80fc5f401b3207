"""Does the response shown first win more often? Index, sign test, exact tests by item, and the effect itself.

What is shown first can be distinguished from what is better only where the order varies and was recorded. The
index of the paper (section 4.4) counts items whose majority is the first response; the effect averages the
two orders of an item, so that an item's better response cancels.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesjudge.baselines.reliability.outcomes import Outcomes, majority

type Array = NDArray[np.float64]
type Counts = NDArray[np.int64]

#: Why position is not reported.
UNRECORDED = "the order of presentation was not recorded: position bias is not identified"


def sign_test(successes: int, items: int) -> float:
    """Two-sided exact sign test of a share against one half (p value); NaN without items."""
    return float(binomial_p(np.array([successes]), np.array([items - successes]))[0])


def binomial_p(successes: Counts, failures: Counts) -> Array:
    """Two-sided exact binomial test against one half, elementwise (p value); NaN without trials.

    Examples
    --------
    >>> binomial_p(np.array([33, 25]), np.array([17, 25])).round(4).tolist()
    [0.0328, 1.0]
    """
    from scipy.stats import binom

    total = successes + failures
    tail = binom.cdf(np.minimum(successes, failures), np.maximum(total, 1), 0.5)
    return np.where(total > 0, np.minimum(2.0 * tail, 1.0), np.nan)


def order_p(ordered: Counts) -> Array:
    """Fisher's exact test (I,) of whether the winner depends on the order, ties left out."""
    from scipy.stats import fisher_exact

    tables = ordered[:, :, :2]
    patterns, place = np.unique(tables, axis=0, return_inverse=True)
    usable = (patterns.sum(axis=2) > 0).all(axis=1)
    found = [fisher_exact(table).pvalue if good else np.nan for table, good in zip(patterns, usable, strict=True)]
    return np.array(found, dtype=np.float64)[place.reshape(-1)]


def first_majority(outcomes: Outcomes) -> Array:
    """1 where an item's majority (I,) is the response shown first, 0 where not, NaN without orders."""
    position = outcomes.position
    first = (majority(position)[0] == 0).astype(np.float64)
    return np.where(position.sum(axis=1) > 0, first, np.nan)


def position_effect(ordered: Counts) -> Array:
    """P(first wins) − P(second wins) of each item (I,), averaged over its two orders.

    NaN where one order was not tried. 0 for a judge whose verdicts do not depend on the order.
    """
    total = ordered.sum(axis=2)
    gap = np.stack([ordered[:, 0, 0] - ordered[:, 0, 1], ordered[:, 1, 1] - ordered[:, 1, 0]], axis=1)
    share = np.divide(gap, total, out=np.full(total.shape, np.nan), where=total > 0)
    return np.asarray(share.mean(axis=1))
