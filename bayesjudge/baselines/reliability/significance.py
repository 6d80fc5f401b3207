"""Every significance test on repeated comparisons, in one frame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from bayesjudge.baselines.reliability.ablation import Ablation
from bayesjudge.baselines.reliability.agreement import alpha_of_majorities
from bayesjudge.baselines.reliability.outcomes import Outcomes, majority, sign_test
from bayesjudge.baselines.reliability.rank_tests import (
    STRATA,
    TEST_COLUMNS,
    RankTest,
    cohen_d,
    eta_squared,
    kruskal_wallis,
    mann_whitney,
)
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
