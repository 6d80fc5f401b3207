"""Outcomes of one judge under one condition, and statistics of each item's: flip rate, majority, position bias.

What is shown first can be distinguished from what is better only where the order varies and was recorded. The
index of the paper (section 4.4) counts items whose majority is the first response; the effect averages the
two orders of an item, so that an item's better response cancels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesjudge.baselines.common.bootstrap import Counts
from bayesjudge.baselines.common.moments import Array, ratio
from bayesjudge.baselines.reliability.means import item_means
from bayesjudge.counts.arrays import sums_within
from bayesjudge.counts.conditions import Condition, group_names
from bayesjudge.counts.trials import TrialCounts

#: Why position is not reported.
UNRECORDED = "the order of presentation was not recorded: position bias is not identified"
ONE_ANSWER = "verdicts on one answer each have no order of presentation"


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcomes:
    """Trials of one judge under one condition on I items.

    group: The condition in words; empty where the table has only one.
    item: Codes into `TrialCounts.items`.
    n: Trials that ended a, b, tie, whatever the order.
    ordered: The same of the trials whose order is known: a shown first, b shown first.
    single: Whether verdicts are of one answer each.
    cluster: Code of what each item goes together with (I,), where items do.
    """

    judge: str
    condition: Condition
    group: str
    item: Counts
    n: Counts
    ordered: Counts
    single: bool = False
    cluster: Counts | None = None

    @property
    def unordered(self) -> str:
        """Why nothing is said of position where no order is known."""
        return ONE_ANSWER if self.single else UNRECORDED

    @property
    def trials(self) -> Counts:
        """Trials (I,) of each item."""
        return np.asarray(self.n.sum(axis=1))

    @property
    def position(self) -> Counts:
        """Trials (I, 3) with known order that the first response won, the second won, or that tied."""
        first, second = self.ordered[:, 0], self.ordered[:, 1]
        return np.asarray(first + second[:, [1, 0, 2]])


def judge_outcomes(counts: TrialCounts) -> Iterator[Outcomes]:
    """Outcomes of every judge under every condition that it was asked under, in the order of the codes."""
    groups = group_names(counts.conditions)
    for j, c, rows in counts.parts():
        item, place = np.unique(counts.item[rows], return_inverse=True)
        n, order = counts.n[rows], counts.order[rows][:, None]
        ordered = [sums_within(np.where(order == sign, n, 0), place, len(item)) for sign in (1, -1)]
        yield Outcomes(
            judge=counts.judges[j],
            condition=counts.conditions[c],
            group=groups[c],
            item=item,
            n=sums_within(n, place, len(item)),
            ordered=np.stack(ordered, axis=1),
            single=counts.single,
            cluster=None if counts.cluster is None else counts.cluster[item],
        )


def flip_rate(n: Counts) -> Array:
    """Share (I,) of an item's trials outside its most frequent outcome, ``1 − max/N``; NaN without trials.

    Zero by definition for a single trial, and too low for few: the most frequent outcome of a sample is
    chosen to fit it. `mixed_disagreement` has no such bias.
    """
    return 1.0 - ratio(n.max(axis=1), n.sum(axis=1))


def disagreement(n: Counts) -> Array:
    """Probability (I,) that two of an item's trials differ, ``1 − Σ n_o(n_o − 1)/(N(N − 1))``, unbiased.

    NaN for fewer than two trials.
    """
    total = n.sum(axis=1)
    return 1.0 - ratio((n * (n - 1)).sum(axis=1), total * (total - 1))


def mixed_disagreement(one: Outcomes) -> Array:
    """Probability (I,) that two trials differ whose orders are drawn anew, each as often as the item was shown in it.

    `disagreement` of all trials takes pairs in different orders too often: of three in either order, nine pairs in 15
    are, of two trials drawn anew half. Where an order has a single trial, how often two in it differ is not known, and
    all pairs count; so they do where an order is not known.

    Examples
    --------
    >>> import numpy as np
    >>> ordered = np.array([[[3, 0, 0], [0, 3, 0]]])
    >>> one = Outcomes(judge="j", condition=None, group="", item=[0], n=ordered.sum(axis=1), ordered=ordered)
    >>> disagreement(one.n).tolist(), mixed_disagreement(one).tolist()
    ([0.6], [0.5])
    """
    trials = one.ordered.sum(axis=2)
    share = trials / np.maximum(one.trials, 1)[:, None]
    same = [1.0 - disagreement(one.ordered[:, order]) for order in (0, 1)]
    across = ratio(one.ordered.prod(axis=1).sum(axis=1), trials.prod(axis=1))
    agreement = (share**2 * np.stack(same, axis=1)).sum(axis=1) + 2 * share.prod(axis=1) * across
    known = (trials >= 2).all(axis=1) & (trials.sum(axis=1) == one.trials)
    return np.where(known, 1.0 - agreement, disagreement(one.n))


def within_order(statistic: Callable[[Counts], Array], ordered: Counts) -> Array:
    """Mean over an item's orders (I,) of a statistic of the trials in one order; NaN where none has it.

    What differs between trials in the same order is the judge's own chance; over all trials, its position
    bias adds to that.
    """
    return item_means(np.stack([statistic(ordered[:, 0]), statistic(ordered[:, 1])]))


def entropy(n: Counts) -> Array:
    """Shannon entropy (I,) of the observed outcomes, in bits: 0 to log2(3)."""
    share = ratio(n, n.sum(axis=1)[:, None])
    return np.asarray(-(share * np.log2(np.where(share > 0, share, 1.0))).sum(axis=1) + 0.0)


def majority(n: Counts) -> tuple[Counts, NDArray[np.bool_]]:
    """Most frequent outcome (I,) as a code, and where several are equally frequent: a tie (the last code)."""
    shared = (n == n.max(axis=1, keepdims=True)).sum(axis=1) > 1
    return np.where(shared, n.shape[1] - 1, n.argmax(axis=1)), shared


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
    return np.asarray(ratio(gap, total).mean(axis=1))
