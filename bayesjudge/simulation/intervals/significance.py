"""Whether intervals hold the truth as often as they say: each unit by itself, and all cells together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from bayesjudge.baselines.common.intervals import clopper_pearson
from bayesjudge.maths.holm import holm


def coverage_tests(intervals: pd.DataFrame, *, by: Sequence[str]) -> pd.DataFrame:
    """Exact binomial tests of coverage, one row a group of intervals, corrected for their number.

    intervals: Columns ``by`` and ``lower, upper, truth, prob``; in a group one interval a data set, so that the
        intervals of a group are independent. Intervals that are not defined are left out.

    Returns: Columns ``by`` and ``n, coverage, nominal, below, above`` (one-sided exact p-values against coverage of at
        least the nominal probability, and against more than that strictly between the ends, as in `coverage_table`) and
        ``adjusted_below, adjusted_above`` (Holm, over all rows).
    """
    from scipy.stats import binom

    groups = _judged(intervals).groupby(list(by), sort=False)
    found = groups.agg(
        n=("hit", "size"), hits=("hit", "sum"), within=("interior", "sum"), nominal=("prob", "first")
    ).reset_index()
    n, hits, within, nominal = (found[name].to_numpy() for name in ("n", "hits", "within", "nominal"))
    found["coverage"] = hits / n
    found["below"], found["above"] = binom.cdf(hits, n, nominal), binom.sf(within - 1, n, nominal)
    found["adjusted_below"], found["adjusted_above"] = (holm(found[name].to_numpy()) for name in ("below", "above"))
    return found[[*by, "n", "coverage", "nominal", "below", "above", "adjusted_below", "adjusted_above"]]


def overall_coverage(
    intervals: pd.DataFrame, *, by: Sequence[str], dataset: Sequence[str], prob: float
) -> pd.DataFrame:
    """Coverage over all cells and units, with bounds that count data sets, not intervals.

    intervals: Columns ``by``, ``dataset`` and ``lower, upper, truth, prob``.

    Returns: Columns ``by`` and ``datasets, coverage, coverage_lower, coverage_upper, nominal``.
    """
    from scipy.stats import norm

    shares = (
        _judged(intervals).groupby([*by, *dataset], sort=False).agg(share=("hit", "mean"), nominal=("prob", "first"))
    )
    rows = (
        shares.groupby(list(by), sort=False)
        .agg(
            datasets=("share", "size"),
            coverage=("share", "mean"),
            spread=("share", "std"),
            nominal=("nominal", "first"),
        )
        .reset_index()
    )
    # One data set has no spread to speak of either: its bounds are exact too.
    spread = rows.pop("spread").fillna(0.0)
    wide = norm.ppf((1 + prob) / 2) * spread / np.sqrt(rows["datasets"])
    rows["coverage_lower"] = (rows["coverage"] - wide).clip(lower=0)
    rows["coverage_upper"] = (rows["coverage"] + wide).clip(upper=1)
    # Data sets that are all alike have no spread, but are not certain.
    counts, found = rows["datasets"].to_numpy(int), rows["coverage"].to_numpy(float)
    for k in np.flatnonzero(spread == 0):
        inside = round(counts[k] * found[k])
        rows.loc[k, ["coverage_lower", "coverage_upper"]] = clopper_pearson(inside, int(counts[k]), prob=prob)
    return rows


def detectable(n: int, nominal: float, level: float, *, power: float = 0.9) -> float:
    """Largest coverage that an exact test of ``n`` intervals would find to be too low with that power.

    Examples
    --------
    >>> round(detectable(100, 0.95, 0.01), 2), round(detectable(1000, 0.95, 0.01), 2)
    (0.84, 0.92)
    """
    from scipy.stats import beta, binom

    most: Any = binom.ppf(level, n, nominal) - 1
    return float(beta.ppf(1 - power, most + 1, n - most))


def _judged(intervals: pd.DataFrame) -> pd.DataFrame:
    defined = intervals[intervals["lower"].notna() & intervals["upper"].notna()]
    ends = defined["lower"], defined["upper"]
    return defined.assign(
        hit=defined["truth"].between(*ends), interior=defined["truth"].between(*ends, inclusive="neither")
    )
