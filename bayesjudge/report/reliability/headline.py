"""The reliability answer in sentences: position first, then what is left of instability."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from bayesjudge.estimates import Estimates
from bayesjudge.report.comparison import Comparison
from bayesjudge.report.lead import PER_CENT, interval_words, leading, point_words, refusal

#: Judges and conditions with a sentence each; of more the extremes are named.
MOST_LINES = 2
#: Flip rates within one order, which position bias does not enter, and over both.
SAME_ORDER, ALL = "flip_rate[same order]", "flip_rate"
#: Part of the note of a rate within one order where nothing was repeated in one.
OF_PRIOR = "rests on the prior"
#: Parts of the note of a rate that is not of both orders, and of which orders it is.
_SHOWN = {"of that one": "in the one order that was shown", "of the orders shown": "over the orders shown"}
#: Trials by which the majority is found with this probability, and the most that are tried.
TRIALS, MOST_TRIED = "minimum_trials[95%]", 101
#: What rates, budgets and numbers of trials are about.
ABOUT = "Intervals are about items like these: the items are a sample of them."
#: The same where items go together.
ABOUT_CLUSTERS = "Intervals are about new {of} like these {count}, whose {parts} go together."

type Rows = dict[tuple[str, str], pd.Series]


def headline(answer: Comparison) -> list[str]:
    """Which position each judge prefers, how often it contradicts itself in the same order, where to ask again."""
    position = rows_of(answer, answer.diagnostics, "position_effect")
    flips, same, scores, trials = (rows_of(answer, answer.estimates, name) for name in (ALL, SAME_ORDER, "icc", TRIALS))
    once = {unit for unit, row in same.items() if OF_PRIOR in row["note"]}
    same = {unit: row for unit, row in same.items() if unit not in once}
    units = list(dict.fromkeys([*flips, *scores]))
    if len(units) > MOST_LINES:
        prob = answer.settings["prob"]
        found = [_positions(position, prob), _extremes(same or flips, bool(same)), _not_repeated(len(once), len(units))]
        found += [_score_range(scores, None if any(found) else prob)]
    else:
        found = []
        for k, unit in enumerate(units):
            prob = None if k else answer.settings["prob"]
            parts = [_position(position.get(unit), prob)]
            parts += [_flips(flips.get(unit), same.get(unit), None if parts[0] else prob)]
            parts += ["no comparison was repeated in the same order"] if unit in once else []
            parts += [_scores(scores.get(unit), None if any(parts) else prob)]
            found.append(f"{_named(unit)}: {'; '.join(part for part in parts if part)}.")
    found += [_reached(trials), _about(answer) if flips else ""]
    found += [] if answer.gate.passed else [refusal(answer)]
    # Further trials are planned from the posterior; the plans of several judges are in a section of their own.
    if "plan" in answer.checks and answer.gate.passed:
        plans = plan_sentences(answer.checks["plan"])
        found += plans if len(plans) == 1 else []
    return [text for text in found if text]


def _about(answer: Comparison) -> str:
    """Of which items the intervals are."""
    count, column = answer.settings.get("data", {}).get("clusters"), answer.settings.get("cluster")
    if count is None:
        return ABOUT
    of, parts = (f"values of {column!r}", "items") if column else ("items", "pairs of models")
    return ABOUT_CLUSTERS.format(of=of, count=count, parts=parts)


def _named(unit: tuple[str, str]) -> str:
    return f"{unit[0]} ({unit[1]})" if unit[1] else unit[0]


def _positions(rows: Rows, prob: float) -> str:
    """How many judges prefer which position, and which most."""
    if not rows:
        return ""
    first, second = (sum(sign * row[end] > 0 for row in rows.values()) for sign, end in ((1, "lower"), (-1, "upper")))
    most = max(rows, key=lambda unit: abs(rows[unit]["point"]))
    interval = interval_words(rows[most], prob=prob)
    return (
        f"{second} of {len(rows)} judges{' and conditions' * any(group for _, group in rows)} prefer the answer shown "
        f"second, {first} the one shown first; the strongest preference is {_named(most)}'s: "
        f"P(first wins) − P(second wins) = {point_words(rows[most])} ({interval})."
    )


def _extremes(rows: Rows, one_order: bool) -> str:
    """Who repeats itself best and worst."""
    if not rows:
        return ""
    best, worst = (pick(rows, key=lambda unit: rows[unit]["point"]) for pick in (min, max))
    said = [f"{point_words(rows[one], PER_CENT)} ({interval_words(rows[one], PER_CENT)})" for one in (best, worst)]
    where = " of trials in the same order" * one_order
    return (
        f"{_named(best)} repeats itself best: {said[0]} of its verdicts lie outside the majority{where}; "
        f"{_named(worst)} worst: {said[1]}."
    )


def _not_repeated(once: int, units: int) -> str:
    """Of how many judges nothing is known of repeats in one order."""
    whose = "" if once == units else f" of {once} of {units} judges"
    return f"No comparison{whose} was repeated in the same order." if once else ""


def _score_range(rows: Rows, prob: float | None) -> str:
    if not rows:
        return ""
    low, high = (pick(rows, key=lambda unit: rows[unit]["point"]) for pick in (min, max))
    ends = (interval_words(rows[low], prob=prob), interval_words(rows[high]))
    found = zip((low, high), ends, strict=True)
    said = [f"{point_words(rows[one])} ({end}) for {_named(one)}" for one, end in found]
    return f"One score of a response has an intraclass correlation from {said[0]} to {said[1]}."


def _reached(rows: Rows) -> str:
    """How many trials an item needs, of the judges that need fewest and most."""
    if not rows:
        return ""
    finite = {unit: row["point"] for unit, row in rows.items() if math.isfinite(row["point"])}
    never = [_named(unit) for unit in rows if unit not in finite]
    who = never[0] if len(never) == 1 else f"{len(never)} judges"
    if not finite:
        return f"No number of trials up to {MOST_TRIED} finds an item's majority with probability .95 for {who}."
    ends = list(dict.fromkeys(pick(finite, key=lambda unit: finite[unit]) for pick in (min, max)))
    said = [_trials_words(rows[unit], f" for {_named(unit)}" if len(rows) > 1 else "") for unit in ends]
    (where, *more) = dict.fromkeys(map(_where, rows.values()))
    shown = f" {where}" * (not more and bool(where))
    return f"To find an item's majority{shown} with probability .95 takes {' to '.join(said)}" + (
        f"; for {who} no number up to {MOST_TRIED} suffices." if never else "."
    )


def _trials_words(row: Any, whose: str) -> str:
    """A number of trials with its interval, which may end above the most that are tried."""
    unit = "trial" if row["point"] == 1 else "trials"
    upper = f"{row['upper']:.0f}" if math.isfinite(row["upper"]) else f"more than {MOST_TRIED}"
    return f"{row['point']:.0f} {unit}{whose} (interval {row['lower']:.0f} to {upper})"


def rows_of(answer: Comparison, source: Estimates, estimand: str) -> Rows:
    """The row of each unit and group that answers, where its point is defined."""
    rows = source.where(estimand=estimand).frame
    baselines = [name for name in rows["method"] if not name.startswith("bayes:")]
    found: Rows = {}
    for (unit, group), mine in rows.groupby(["unit", "group"], sort=False):
        method = leading(answer, mine, baselines)
        for _, row in mine[mine["method"] == method].iterrows():
            if not math.isnan(row["point"]):
                found.setdefault((str(unit), str(group)), row)
    return found


def is_turned(rows: Estimates) -> bool:
    """Whether κ is of a table averaged with its half-turn."""
    return bool(rows.where(estimand="kappa").frame["note"].str.contains("half-turn").any())


def _position(row: Any, prob: float | None) -> str:
    """Whether the answer shown first or second is preferred."""
    if row is None:
        return ""
    interval = f"(P(first wins) − P(second wins) = {point_words(row)}, {interval_words(row, prob=prob)})"
    if row["lower"] <= 0 <= row["upper"]:
        return f"no preference for a position can be shown {interval}"
    return f"prefers the answer shown {'first' if row['point'] > 0 else 'second'} {interval}"


def _flips(row: Any, same: Any, prob: float | None) -> str:
    """Share of verdicts outside the majority: of trials in the same order where those were repeated."""
    if row is None:
        return ""
    shown = row if same is None else same
    interval = interval_words(shown, PER_CENT, prob=prob)
    text = f"{point_words(shown, PER_CENT)} of its verdicts lie outside the majority"
    where = _where(row)
    if same is None or "one" in where:
        return f"{text}{' ' * bool(where)}{where} ({interval})"
    over = where or "over both orders"
    return f"{text} of trials in the same order ({interval}), {point_words(row, PER_CENT)} {over}"


def _where(row: Any) -> str:
    """Of which orders a rate is, where it is not of both."""
    return next((words for part, words in _SHOWN.items() if part in row["note"]), "")


def _scores(row: Any, prob: float | None) -> str:
    if row is None:
        return ""
    interval = interval_words(row, prob=prob)
    return f"one score of a response has an intraclass correlation of {point_words(row)} ({interval})"


def plan_sentences(plan: pd.DataFrame) -> list[str]:
    """What to ask again, a sentence a judge and condition; the items are in the table."""
    sentences = []
    for row in plan_table(plan).to_dict("records"):
        who, trials, items, *wrong = row.values()
        now, then, even = map(_expected, wrong)
        if not trials:
            sentences.append(
                f"{who}: of {items.split()[-1]} majorities {now} are expected to be wrong; no further trial within "
                "the budget would change that."
            )
            continue
        sentences.append(
            f"{who}: {trials} more trials on {items} items bring the expected wrong majorities from {now} to {then}; "
            f"spread evenly they would leave {even}."
        )
    return sentences


def plan_table(plan: pd.DataFrame) -> pd.DataFrame:
    """What to ask again, a row a judge and condition."""
    rows = [
        {
            "judge": f"{judge} ({group})" if group else str(judge),
            "further trials": int(mine["extra"].sum()),
            "items": f"{(mine['extra'] > 0).sum()} of {len(mine)}",
            "wrong majorities now": mine["wrong"].sum(),
            "after these": mine["wrong_after"].sum(),
            "if spread evenly": mine["wrong_uniform"].iloc[0],
        }
        for (judge, group), mine in plan.groupby(["judge", "group"], sort=False)
    ]
    return pd.DataFrame(rows)


def _expected(number: float) -> str:
    """An expected number, with two decimals where one would make it nothing."""
    return f"{number:.1f}" if number >= 1 else f"{number:.2f}"
