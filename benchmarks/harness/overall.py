"""What all cells of a sweep say together: coverage of every method, and how low it would have to be to be seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from bayesjudge.simulation import clopper_pearson
from bayesjudge.simulation.intervals.tables import judged


def overall_coverage(
    intervals: pd.DataFrame, *, by: Sequence[str], dataset: Sequence[str], prob: float
) -> pd.DataFrame:
    """Coverage over all cells and units, with bounds that count data sets, not intervals.

    intervals: Columns ``by``, ``dataset`` and ``lower, upper, truth, prob``.

    Returns: Columns ``by`` and ``datasets, coverage, coverage_lower, coverage_upper, nominal``.
    """
    from scipy.stats import norm

    sets = judged(intervals).groupby([*by, *dataset], sort=False)
    shares = sets.agg(share=("hit", "mean"), nominal=("prob", "first")).groupby(list(by), sort=False)
    rows = shares.agg(
        datasets=("share", "size"), coverage=("share", "mean"), spread=("share", "std"), nominal=("nominal", "first")
    ).reset_index()
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
