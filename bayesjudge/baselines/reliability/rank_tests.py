"""Rank tests and effect sizes: flip rates by category, judge and difficulty, and paired differences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Mean flip rate over judges below which an item is easy (the paper's section 5.5).
EASY = 0.10
STRATA = ("easy", "hard")
#: Columns of a table of tests.
TEST_COLUMNS = ["test", "unit", "group", "statistic", "p", "effect", "n", "note"]


@dataclass(frozen=True, kw_only=True)
class RankTest:
    """A test's statistic and p value, an effect size, the number of values, and why there is none."""

    effect: float
    n: int
    statistic: float = np.nan
    p: float = np.nan
    note: str = ""


def kruskal_wallis(values: ArrayLike, groups: ArrayLike) -> RankTest:
    """Kruskal–Wallis test of values (n,) between groups (n,), with `eta_squared` as effect."""
    from scipy.stats import kruskal

    values, codes = np.asarray(values, dtype=np.float64), np.unique(groups, return_inverse=True)[1]
    parts = [values[codes == code] for code in range(int(codes.max(initial=-1)) + 1)]
    reason = "a single group" if len(parts) < 2 else "no value differs" if np.ptp(values) == 0 else ""
    if reason:
        return RankTest(effect=np.nan, n=len(values), note=reason)
    found = kruskal(*parts)
    return RankTest(
        statistic=float(found.statistic), p=float(found.pvalue), n=len(values), effect=eta_squared(values, codes)
    )


def eta_squared(values: ArrayLike, groups: ArrayLike) -> float:
    """Share of the variance of values (n,) that lies between groups (n,); NaN where nothing varies."""
    values, codes = np.asarray(values, dtype=np.float64), np.unique(groups, return_inverse=True)[1]
    total = float(((values - values.mean()) ** 2).sum())
    means = np.bincount(codes, weights=values) / np.bincount(codes)
    between = float(((means[codes] - values.mean()) ** 2).sum())
    return between / total if total > 0 else float("nan")


def mann_whitney(first: ArrayLike, second: ArrayLike) -> RankTest:
    """Mann–Whitney test of two samples; effect: P(first > second) with ties as one half."""
    from scipy.stats import mannwhitneyu

    first, second = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    n = len(first) + len(second)
    if not (len(first) and len(second)) or np.ptp(np.concatenate([first, second])) == 0:
        note = "no value differs" if len(first) and len(second) else "no values"
        return RankTest(effect=np.nan, n=n, note=note)
    found = mannwhitneyu(first, second)
    effect = float(found.statistic) / (len(first) * len(second))
    return RankTest(statistic=float(found.statistic), p=float(found.pvalue), effect=effect, n=n)


def wilcoxon_test(differences: ArrayLike) -> RankTest:
    """Wilcoxon signed-rank test of differences (I,), zeros left out; effect: their median.

    Exact without ties among up to 50 differences, normal otherwise.
    """
    from scipy.stats import wilcoxon

    values = np.asarray(differences, dtype=np.float64)
    moved = values[values != 0]
    effect = float(np.median(values)) if len(values) else float("nan")
    if not len(moved):
        return RankTest(effect=effect, n=0, note="no difference other than 0")
    sizes = np.abs(moved)
    exact = len(moved) <= 50 and len(np.unique(sizes)) == len(sizes)
    found = wilcoxon(moved, method="exact" if exact else "asymptotic")
    return RankTest(statistic=float(found.statistic), p=float(found.pvalue), effect=effect, n=len(moved))


def strata(mean_flip_rate: ArrayLike, *, easy: float = EASY) -> NDArray[np.str_]:
    """Stratum (I,) of each item by its mean flip rate over judges: easy below the threshold, else hard."""
    # A mean of decimal fractions that is .10 on paper may be a hair below it in binary.
    return np.where(np.asarray(mean_flip_rate) < easy - 1e-12, *STRATA)


def cohen_d(first: ArrayLike, second: ArrayLike) -> float:
    """Cohen's d, ``(mean second − mean first)/pooled standard deviation``; NaN where it is undefined."""
    first, second = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    freedom = len(first) + len(second) - 2
    if freedom < 1 or not (len(first) and len(second)):
        return float("nan")
    squares = sum(float(((part - part.mean()) ** 2).sum()) for part in (first, second))
    return float((second.mean() - first.mean()) / np.sqrt(squares / freedom)) if squares > 0 else float("nan")
