"""The reliability answer in sentences: position first, then what is left of instability."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from bayesjudge.studies.common.lead import interval_words, leading, refusal
from bayesjudge.studies.reliability.parts import plan_sentences
from bayesjudge.text import number

if TYPE_CHECKING:
    import pandas as pd

    from bayesjudge.estimates import Estimates
    from bayesjudge.studies.common.comparison import Comparison


#: Judges and conditions named in short.
MOST_LINES = 4
#: Flip rates within one order, which position bias does not enter, and over both.
SAME_ORDER, ALL = "flip_rate[same order]", "flip_rate"


def headline(answer: Comparison) -> list[str]:
    """Which position each judge prefers, how often it contradicts itself in the same order, where to ask again."""
    found = [] if answer.gate.passed else [refusal(answer)]
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
    # What to ask again is planned from the posterior.
    return found + (plan_sentences(answer.checks["plan"])[:2] if "plan" in answer.checks and answer.gate.passed else [])


def rows_of(answer: Comparison, source: Estimates, estimand: str) -> dict[tuple[str, str], pd.Series]:
    """The row of each unit and group that answers, where its point is defined."""
    rows = source.where(estimand=estimand).frame
    baselines = [name for name in rows["method"] if not name.startswith("bayes:")]
    found: dict[tuple[str, str], pd.Series] = {}
    for (unit, group), mine in rows.groupby(["unit", "group"], sort=False):
        method = leading(answer, mine, baselines)
        for _, row in mine[mine["method"] == method].iterrows():
            if math.isfinite(row["point"]):
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
