"""The Elo answer in sentences."""

from __future__ import annotations

from typing import Any

import pandas as pd

from bayesjudge.estimates.table import method_words
from bayesjudge.report.comparison import Comparison
from bayesjudge.report.lead import (
    chance_words,
    counted,
    interval_words,
    leading,
    plural,
    point_words,
    refusal,
    sentence,
)

#: Baselines that answer where the posterior may not, the best first; without clusters they are ``[independent]``.
VALID = tuple(name + how for name in ("hard-elo", "soft-elo") for how in ("", "[independent]"))
#: Scales of judges with a sentence each, and a column of the first table.
MOST_SCALES = 3
#: Parts of battles that never met with a leader each in the headline.
MOST_PARTS = 3
#: What Elo of held-out models is relative to.
SCALE = "Each model's Elo here has the mean of the other models at 1500, so it is not that of the leaderboard."


def headline(answer: Comparison) -> list[str]:
    """Who leads on which scale, how sure that is, and how well hidden votes were predicted."""
    found = []
    if not counted(answer, "human votes"):
        found.append("Not yet: no battle has a human vote, so this is what each judge prefers, not what people do.")
    scales = list(dict.fromkeys(answer.ranks["judge"]))
    for k, judge in enumerate(scales[:MOST_SCALES]):
        found += _leaders(answer, judge, first=k == 0)
    more = len(scales) - MOST_SCALES
    found += [f"{more} more {'judge is' if more == 1 else 'judges are'} below."] if more > 0 else []
    found += [] if answer.gate.passed else [refusal(answer)]
    return [*found, *_held_out(answer), f"{sentence(about_intervals(answer))}."]


def board(answer: Comparison, judge: str) -> tuple[str, pd.DataFrame]:
    """The method that answers on one scale (a judge's, or the human one), and its rows, the highest Elo first."""
    rows = answer.estimates.where(estimand="elo", group="", judge=judge).frame
    method = leading(answer, rows, VALID)
    mine = rows[rows["method"] == method].drop_duplicates("unit").set_index("unit")
    mine = mine.sort_values("point", ascending=False, kind="stable")
    # As the terminal and the figure of ranks have them.
    ranked = list(answer.ranks.loc[answer.ranks["judge"] == judge, "model"])
    return method, mine.loc[ranked] if answer.gate.passed and set(ranked) == set(mine.index) else mine


def _leaders(answer: Comparison, judge: str, *, first: bool) -> list[str]:
    """The leader on one scale; of each part, where the battles fall into parts that never met."""
    method, rows = board(answer, judge)
    scale = f"by {judge}'s verdicts alone, " if judge else ""
    if rows.empty:
        return [sentence(f"{scale}no baseline has an interval for every model either.")]
    how = "" if answer.gate.passed else f"by {method_words(method)}, the best valid baseline here, "
    before, prob = sentence(f"{scale}{how}"), answer.settings["prob"] if first else None
    parts: list[list[str]] = answer.settings.get("parts", {}).get(judge, [])
    if not parts:
        return [f"{before}{_leads(rows, '', prob)}{_chance(answer, judge, rows)}."]
    within = [rows[rows.index.isin(part)] for part in parts if len(part) > 1]
    led = [_leads(own, f" its part of {len(own)} models", prob) for own in within[:MOST_PARTS]]
    more = [f"{len(within) - MOST_PARTS} more parts are below"] if len(within) > MOST_PARTS else []
    apart = f"the battles fall into {len(parts)} parts that never met: no battle says how models of two parts compare"
    return [f"{before}{apart if before else sentence(apart)}.", f"{'; '.join([*led, *more])}."]


def _leads(rows: pd.DataFrame, among: str, prob: float | None) -> str:
    row: Any = rows.iloc[0]
    return f"{rows.index[0]} leads{among} with Elo {point_words(row, '.0f')} ({interval_words(row, '.0f', prob=prob)})"


def _chance(answer: Comparison, judge: str, rows: pd.DataFrame) -> str:
    """How probably the leader is the best, where that is of people's votes."""
    if not (answer.gate.passed and counted(answer, "human votes") and len(rows) > 1):
        return ""
    best = answer.ranks[answer.ranks["judge"] == judge].set_index("model")["p_best"][rows.index[0]]
    row: Any = rows.iloc[0]
    return f"; it is the best model with probability {chance_words(best, row['ess'])}"


def _held_out(answer: Comparison) -> list[str]:
    scores = next(iter(answer.held_out.values()), None)
    if scores is None or not scores["n"] > 1 or not answer.gate.passed:
        return []
    found = f"{100 * scores['coverage']:.0f} % of the intervals contain the Elo by those votes"
    error = f"a mean absolute error of {scores['mae']:.0f} Elo"
    return [f"Predictions for {scores['n']:.0f} models whose votes were hidden have {error}; {found}."]


def about_intervals(answer: Comparison) -> str:
    """What intervals are for, in one line."""
    clusters: dict[str, int] = answer.settings["clusters"]
    if not clusters:
        return "intervals take battles as independent (cluster none): shared prompts make them too narrow"
    whose = answer.ranks["judge"].iloc[0] if len(answer.ranks) else ""
    effects = answer.diagnostics.where(estimand="design_effect", judge=whose).frame["point"]
    effect = f", design effect {effects.median():.1f}" if len(effects) else ""
    named = [(count, plural(column)) for column, count in clusters.items()]
    counts = " and ".join(f"{count:,} {name}" for count, name in named)
    return f"intervals are for new {' and '.join(name for _, name in named)}; these battles have {counts}{effect}"


def named_methods(rows: pd.DataFrame, *, scale: str = "") -> list[str]:
    """Method of each row, and whose verdicts it rests on where that is not the leaderboard's own scale.

    Examples
    --------
    >>> import pandas as pd
    >>> named_methods(pd.DataFrame({"method": ["hard-elo", "hard-elo"], "judge": ["", "gpt-4"]}))
    ['hard-elo', 'hard-elo by gpt-4']
    """
    pairs = zip(rows["method"], rows["judge"], strict=True)
    return [method_by(method, judge, scale=scale) for method, judge in pairs]


def method_by(method: str, judge: str, *, scale: str = "") -> str:
    """A method and whose verdicts it rests on, once: a posterior of one judge's has that judge among its options.

    Examples
    --------
    >>> [method_by("bayes:bradley_terry[gpt-4]", "gpt-4", scale=scale) for scale in ("", "gpt-4")]
    ['bayes:bradley_terry by gpt-4', 'bayes:bradley_terry']
    """
    plain = method.replace(f"[{judge}]", "").replace(f"[{judge},", "[") if judge else method
    return f"{plain} by {judge}" if judge and judge != scale else plain
