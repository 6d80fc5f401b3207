"""Exact bounds and tests of a share whose cases come in groups: units of one data set fail together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import betainc

from bayesjudge.baselines.common.intervals import clopper_pearson, t_quantile


def clustered_bounds(hits: Any, groups: Any, *, prob: float = 0.95) -> tuple[float, float]:
    """Bounds of a share by Korn and Graubard: Clopper–Pearson of what the cases are worth together.

    Fifteen differences of one data set are not fifteen independent cases. The variance of the share between
    groups says how many independent ones would be as good; with one case a group that is their number, and
    the bounds are exact.

    Parameters
    ----------
    hits : array of bool, shape (cases,)
        Which cases count.
    groups : array, shape (cases,)
        The group of each case.
    prob : float
        Probability of the bounds.

    Returns
    -------
    tuple of float
        Lower and upper bound; no cases give the whole of [0, 1].

    Notes
    -----
    Groups that are all alike show no spread; each is then counted as one case. A single group counts as one
    too. Cases are never worth more than their number.

    References
    ----------
    Korn & Graubard (1998). Confidence intervals for proportions with small expected number of positive
    counts estimated from survey data. *Survey Methodology* 24, 193-201.

    Examples
    --------
    >>> hits = np.arange(4) < np.array([[4], [3], [4], [2]])
    >>> sets = np.repeat(np.arange(4), 4)
    >>> [round(bound, 2) for bound in clustered_bounds(hits.ravel(), sets)]
    [0.28, 1.0]
    >>> [round(bound, 2) for bound in clustered_bounds(hits.ravel(), np.arange(16))]
    [0.54, 0.96]
    """
    return clopper_pearson(*_worth(hits, groups, prob), prob=prob)


def clustered_tails(hits: Any, groups: Any, share: float, *, prob: float = 0.95) -> tuple[float, float]:
    """Exact one-sided p-values of a share, of what the cases are worth together (`clustered_bounds`).

    Parameters
    ----------
    hits, groups : arrays, shape (cases,)
        Which cases count, and the group of each.
    share : float
        What is tested, in (0, 1).
    prob : float
        Probability of the bounds that go with the test.

    Returns
    -------
    tuple of float
        Chance of no more, and of no fewer, cases that count if ``share`` is the truth; 1 and 1 of no cases.
    """
    counted, worth = _worth(hits, groups, prob)
    # The binomial's tails as beta integrals, which are defined for what is no whole number too.
    no_more = float(betainc(worth - counted, counted + 1, 1 - share)) if counted < worth else 1.0
    no_fewer = float(betainc(counted, worth - counted + 1, share)) if counted > 0 else 1.0
    return no_more, no_fewer


def _worth(hits: Any, groups: Any, prob: float) -> tuple[float, float]:
    """How many of how many independent cases would say as much as these."""
    table = pd.DataFrame({"hit": np.asarray(hits, bool), "group": np.asarray(groups)})
    sums = table.groupby("group", sort=False)["hit"].agg(["sum", "size"])
    cases, counted = len(table), int(table["hit"].sum())
    if len(sums) == cases:
        return counted, cases
    share = counted / cases
    worth = _independent(sums["sum"].to_numpy(float), sums["size"].to_numpy(float), share, prob)
    return share * worth, worth


def _independent(hits: np.ndarray, sizes: np.ndarray, share: float, prob: float) -> float:
    """Independent cases that would say as much (Korn & Graubard 1998, with their degrees of freedom)."""
    number, cases = len(sizes), float(sizes.sum())
    misfit = float(((hits - share * sizes) ** 2).sum())
    if number == 1 or misfit < 1e-12 * cases:
        return float(number)
    variance = number / (number - 1) * misfit / cases**2
    freedom = (t_quantile(prob, cases - 1) / t_quantile(prob, number - 1)) ** 2
    return float(min(cases, share * (1 - share) / variance * freedom))
