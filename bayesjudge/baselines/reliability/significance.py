"""Every significance test on repeated comparisons: position, categories, judges, strata, and what conditions change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from bayesjudge.baselines.common.columns import Column
from bayesjudge.baselines.reliability.agreement import alpha_of_majorities
from bayesjudge.baselines.reliability.means import resampled_column
from bayesjudge.baselines.reliability.outcomes import Outcomes, flip_rate, majority, sign_test
from bayesjudge.counts.conditions import Condition
from bayesjudge.counts.trials import TrialCounts


def trial_tests(
    counts: TrialCounts, outcomes: Sequence[Outcomes], items: pd.DataFrame, changes: Sequence[Ablation]
) -> pd.DataFrame:
    """Tests of position, categories, judges, strata and conditions.

    Returns: ``test, unit, group, statistic, p, effect, n, note``. The effect is the share of items of a sign test, η²
        of Kruskal–Wallis, P(first > second) of Mann–Whitney, Cohen's d between strata, the median change of Wilcoxon,
        and Krippendorff's α of the judges' majorities.
    """
    found = [row for one in outcomes for row in _position(one)]
    found += _categories(items) + _judges(items) + _strata(items)
    found += [
        _row(f"Wilcoxon signed-rank, {change.kind}", change.judge, f"{change.first} → {change.second}", change.tested)
        for change in changes
    ]
    for group in dict.fromkeys(one.group for one in outcomes):
        part = [one for one in outcomes if one.group == group]
        if len(part) > 1:
            tested = RankTest(effect=alpha_of_majorities(part, len(counts.items)), n=len(counts.items))
            found.append(_row("Krippendorff's α of majorities", "all judges", group, tested))
    return pd.DataFrame(found, columns=TEST_COLUMNS)


def _position(one: Outcomes) -> Iterator[dict[str, Any]]:
    """The paper's sign test, where ties count against the first, and the usual one without ties."""
    position = one.position
    known = position.sum(axis=1) > 0
    most = majority(position[known])[0]
    first, second = int((most == 0).sum()), int((most == 1).sum())
    for name, size in (("ties against the first", int(known.sum())), ("ties left out", first + second)):
        if size:
            tested = RankTest(statistic=first, p=sign_test(first, size), effect=first / size, n=size)
        else:
            tested = RankTest(effect=np.nan, n=0, note="every item ties" if known.any() else one.unordered)
        yield _row(f"sign test of position, {name}", one.judge, one.group, tested)


def _categories(items: pd.DataFrame) -> list[dict[str, Any]]:
    known = items[items["category"].notna()]
    found = [
        _row("Kruskal–Wallis by category", str(judge), str(group), kruskal_wallis(part["flip_rate"], part["category"]))
        for (judge, group), part in known.groupby(["judge", "group"], sort=False)
    ]
    for group, part in known.groupby("group", sort=False):
        for name in ("category", "judge"):
            tested = RankTest(effect=eta_squared(part["flip_rate"], part[name].astype(str)), n=len(part))
            found.append(_row(f"η² of {name}", "all judges", str(group), tested))
    return found


def _judges(items: pd.DataFrame) -> list[dict[str, Any]]:
    found = []
    for group, part in items.groupby("group", sort=False):
        rates = {str(judge): rows["flip_rate"] for judge, rows in part.groupby("judge", sort=False)}
        for left, right in combinations(rates, 2):
            tested = mann_whitney(rates[left], rates[right])
            found.append(_row("Mann–Whitney between judges", f"{left} × {right}", str(group), tested))
    return found


def _strata(items: pd.DataFrame) -> list[dict[str, Any]]:
    """Cohen's d of the items' mean flip rates, as in section 5.5."""
    found = []
    for group, part in items.groupby("group", sort=False):
        one = part.drop_duplicates("item")
        easy, hard = (one.loc[one["stratum"] == name, "mean_flip_rate"] for name in STRATA)
        note = "" if len(easy) and len(hard) else "a single stratum"
        tested = RankTest(effect=cohen_d(easy, hard), n=len(one), note=note)
        found.append(_row("Cohen's d, easy to hard", "all judges", str(group), tested))
    return found


def _row(test: str, unit: str, group: str, tested: RankTest) -> dict[str, Any]:
    return {"test": test, "unit": unit, "group": group, **vars(tested)}


#: Change in flip rate (second minus first), its mean size, and share of items whose majority changes.
CHANGES = ("flip_rate_change", "flip_rate_change_size", "majority_changed")


@dataclass(frozen=True, eq=False, kw_only=True)
class Ablation:
    """One judge under two conditions that differ in one respect.

    kind: ``"temperature"`` or ``"prompt"``.
    item: Items tried under both.
    majority: Codes of outcomes.
    column: `CHANGES` with bootstrap intervals.
    tested: Wilcoxon signed-rank test of the changes in flip rate.
    """

    judge: str
    kind: str
    first: Condition
    second: Condition
    item: NDArray[np.int64]
    flip_rate: NDArray[np.float64]
    majority: NDArray[np.int64]
    column: Column
    tested: RankTest


def ablations(
    outcomes: Sequence[Outcomes], *, prob: float, bootstrap: int, seed: np.random.SeedSequence
) -> Iterator[Ablation]:
    """Every two conditions of a judge that differ in temperature alone, or in prompt alone."""
    pairs = [
        (left, right, kind)
        for left, right in combinations(outcomes, 2)
        if left.judge == right.judge and (kind := _kind(left.condition, right.condition))
    ]
    for (left, right, kind), stream in zip(pairs, seed.spawn(len(pairs)), strict=True):
        item, ours, theirs = np.intersect1d(left.item, right.item, return_indices=True)
        if len(item):
            rates = np.stack([flip_rate(left.n[ours]), flip_rate(right.n[theirs])], axis=1)
            most = np.stack([majority(left.n[ours])[0], majority(right.n[theirs])[0]], axis=1)
            change = rates[:, 1] - rates[:, 0]
            values = np.stack([change, np.abs(change), (most[:, 0] != most[:, 1]).astype(np.float64)], axis=1)
            rng = np.random.default_rng(stream)
            own = None if left.cluster is None else left.cluster[ours]
            column = resampled_column(values, prob=prob, bootstrap=bootstrap, rng=rng, bounds=(-1.0, 1.0), cluster=own)
            yield Ablation(
                judge=left.judge,
                kind=kind,
                first=left.condition,
                second=right.condition,
                item=item,
                flip_rate=rates,
                majority=most,
                column=column,
                tested=wilcoxon_test(change),
            )


def _kind(left: Condition, right: Condition) -> str:
    """What two conditions differ in; empty where it is both, or where one was not recorded."""
    prompt, temperature = left.prompt != right.prompt, left.temperature != right.temperature
    if prompt and not temperature and None not in (left.prompt, right.prompt):
        return "prompt"
    if temperature and not prompt and None not in (left.temperature, right.temperature):
        return "temperature"
    return ""


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
