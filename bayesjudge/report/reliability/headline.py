"""The reliability answer in sentences: position first, then what is left of instability."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from bayesjudge.report.lead import interval_words, leading, refusal
from bayesjudge.text import number

if TYPE_CHECKING:
    import pandas as pd

    from bayesjudge.estimates import Estimates
    from bayesjudge.report.comparison import Comparison


#: Judges and conditions named in short.
MOST_LINES = 4
#: Flip rates within one order, which position bias does not enter, and over both.
SAME_ORDER, ALL = "flip_rate[same order]", "flip_rate"


def headline(answer: Comparison) -> list[str]:
    """Which position each judge prefers, how often it contradicts itself in the same order, where to ask again."""
    found: list[str] = []
    position = rows_of(answer, answer.diagnostics, "position_effect")
    flips, same = (rows_of(answer, answer.estimates, name) for name in (ALL, SAME_ORDER))
    scores = rows_of(answer, answer.estimates, "icc")
    units = list(dict.fromkeys([*flips, *scores]))
    for k, unit in enumerate(units[:MOST_LINES]):
        prob = answer.settings["prob"] if k == 0 else None
        parts = [_position(position.get(unit), prob)]
        parts += [_flips(flips.get(unit), same.get(unit), None if parts[0] else prob)]
        parts += [_scores(scores.get(unit), None if any(parts) else prob)]
        said = "; ".join(part for part in parts if part)
        found.append(f"{unit[0]} ({unit[1]}): {said}." if unit[1] else f"{unit[0]}: {said}.")
    found += [f"{len(units) - MOST_LINES} more are below."] if len(units) > MOST_LINES else []
    found += [] if answer.gate.passed else [refusal(answer)]
    # Further trials are planned from the posterior; the plans of several judges are in a section of their own.
    plans = plan_sentences(answer.checks["plan"]) if "plan" in answer.checks and answer.gate.passed else []
    return found + (plans if len(plans) == 1 else [])


def rows_of(answer: Comparison, source: Estimates, estimand: str) -> dict[tuple[str, str], pd.Series]:
    """The row of each unit and group that answers, where its point is defined."""
    rows = source.where(estimand=estimand).frame
    baselines = [name for name in rows["method"] if not name.startswith("bayes:")]
    found: dict[tuple[str, str], pd.Series] = {}
    for (unit, group), mine in rows.groupby(["unit", "group"], sort=False):
        method = leading(answer, mine, baselines)
        for _, row in mine[mine["method"] == method].iterrows():
            if not math.isnan(row["point"]):
                found.setdefault((str(unit), str(group)), row)
    return found


def _position(row: Any, prob: float | None) -> str:
    """Whether the answer shown first or second is preferred."""
    if row is None:
        return ""
    interval = f"(P(first wins) − P(second wins) = {number(row['point'])}, {interval_words(row, prob=prob)})"
    if row["lower"] <= 0 <= row["upper"]:
        return f"no preference for a position can be shown {interval}"
    return f"prefers the answer shown {'first' if row['point'] > 0 else 'second'} {interval}"


def _flips(row: Any, same: Any, prob: float | None) -> str:
    """Share of verdicts outside the majority: of trials in the same order where those were repeated."""
    if row is None:
        return ""
    shown = row if same is None else same
    interval = interval_words(shown, _percent, prob=prob)
    text = f"{_percent(shown['point'])} of its verdicts lie outside the majority"
    if same is None:
        return f"{text} ({interval})"
    return f"{text} of trials in the same order ({interval}), {_percent(row['point'])} over both orders"


def _scores(row: Any, prob: float | None) -> str:
    if row is None:
        return ""
    interval = interval_words(row, prob=prob)
    return f"one score of a response has an intraclass correlation of {number(row['point'])} ({interval})"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def plan_sentences(plan: pd.DataFrame) -> list[str]:
    """What to ask again, a sentence a judge and condition; the items are in the table."""
    sentences = []
    for (judge, group), rows in plan.groupby(["judge", "group"], sort=False):
        asked = rows[rows["extra"] > 0].sort_values("extra", ascending=False, kind="stable")
        who = f"{judge} ({group})" if group else str(judge)
        now, then = rows["wrong"].sum(), rows["wrong_after"].sum()
        if asked.empty:
            sentences.append(
                f"{who}: {_expected(now)} of {len(rows)} majorities are expected to be wrong, "
                "and no further trial within the budget changes that."
            )
            continue
        spent = f"{int(rows['extra'].sum())} more trials on {len(asked)} of {len(rows)} items, listed below,"
        gain = f"bring the expected wrong majorities from {_expected(now)} to {_expected(then)}"
        even = f"spread evenly they would leave {_expected(rows['wrong_uniform'].iloc[0])}"
        sentences.append(f"{who}: {spent} {gain}; {even}.")
    return sentences


def _expected(number: float) -> str:
    """An expected number, with two decimals where one would make it nothing."""
    return f"{number:.1f}" if number >= 1 else f"{number:.2f}"
