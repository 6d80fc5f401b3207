"""Every significance test on repeated comparisons, in one frame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from bayesjudge.baselines.reliability.ablation import Ablation
from bayesjudge.baselines.reliability.groups import STRATA, RankTest, cohen_d, eta_squared, kruskal_wallis, mann_whitney
from bayesjudge.baselines.reliability.judges import alpha_of_majorities
from bayesjudge.baselines.reliability.outcomes import Outcomes, majority
from bayesjudge.baselines.reliability.position import UNRECORDED, sign_test
from bayesjudge.counts.trials import TrialCounts

_COLUMNS = ["test", "unit", "group", "statistic", "p", "effect", "n", "note"]


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
    for group, part in _by_group(outcomes):
        if len(part) > 1:
            alpha = alpha_of_majorities(part, len(counts.items))
            tested = RankTest(statistic=np.nan, p=np.nan, effect=alpha, n=len(counts.items))
            found.append(_row("Krippendorff's α of majorities", "all judges", group, tested))
    return pd.DataFrame(found, columns=_COLUMNS)


def _position(one: Outcomes) -> Iterator[dict[str, Any]]:
    """The paper's sign test, where ties count against the first, and the usual one without ties."""
    position = one.position
    known = position.sum(axis=1) > 0
    most = majority(position[known])[0]
    first, second = int((most == 0).sum()), int((most == 1).sum())
    for name, size in (("ties against the first", int(known.sum())), ("ties left out", first + second)):
        reason = UNRECORDED if not known.any() else "every item ties" if not size else ""
        tested = RankTest(
            statistic=first if size else np.nan,
            p=sign_test(first, size) if size else np.nan,
            effect=first / size if size else np.nan,
            n=size,
            note=reason,
        )
        yield _row(f"sign test of position, {name}", one.judge, one.group, tested)


def _categories(items: pd.DataFrame) -> list[dict[str, Any]]:
    known = items[items["category"].notna()]
    found = [
        _row("Kruskal–Wallis by category", str(judge), str(group), kruskal_wallis(part["flip_rate"], part["category"]))
        for (judge, group), part in known.groupby(["judge", "group"], sort=False)
    ]
    for group, part in known.groupby("group", sort=False):
        for name in ("category", "judge"):
            tested = RankTest(
                statistic=np.nan, p=np.nan, n=len(part), effect=eta_squared(part["flip_rate"], part[name].astype(str))
            )
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
        tested = RankTest(statistic=np.nan, p=np.nan, effect=cohen_d(easy, hard), n=len(one), note=note)
        found.append(_row("Cohen's d, easy to hard", "all judges", str(group), tested))
    return found


def _by_group(outcomes: Sequence[Outcomes]) -> Iterator[tuple[str, list[Outcomes]]]:
    groups = dict.fromkeys(one.group for one in outcomes)
    yield from ((group, [one for one in outcomes if one.group == group]) for group in groups)


def _row(test: str, unit: str, group: str, tested: RankTest) -> dict[str, Any]:
    return {
        "test": test,
        "unit": unit,
        "group": group,
        "statistic": tested.statistic,
        "p": tested.p,
        "effect": tested.effect,
        "n": tested.n,
        "note": tested.note,
    }
