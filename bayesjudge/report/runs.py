"""Two runs side by side, as the screen and a summary show them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from bayesjudge.conditions.decision import probable
from bayesjudge.estimates import Estimates
from bayesjudge.estimates.table import method_words
from bayesjudge.report.comparison import Comparison
from bayesjudge.report.lead import counted, interval_words, point_words, refusal
from bayesjudge.report.page import Chance, Figure, Interval, Page, Section
from bayesjudge.report.page import Table as Shown
from bayesjudge.report.tables import MOST_COLUMNS
from bayesjudge.text import chance, rounded

if TYPE_CHECKING:
    from rich.table import Table


#: Columns of a terminal below which both runs have points without intervals.
NARROW = 110
#: Differences that the answer says in words.
MOST_SENTENCES = 3


def run_rows(answer: Comparison, *, short: bool = False) -> list[dict[str, str]]:
    """A row a model: before, after (points alone where ``short``), their difference, P(better)."""
    rows, (before, after), margin = answer.checks["runs"], answer.settings["runs"], answer.settings["margin"]
    spec, several = _spec(answer), len(set(rows["judge"])) > 1
    names = {"before": before, "after": after, "difference": f"{after} − {before}"}
    draws = _draws(answer, rows)
    chances = {"p_better": "P(better)", "p_within_margin": f"P(|difference| < {margin})"}
    found = []
    for row in rows.to_dict("records"):
        model = _whose(row, several=several)
        each = {key: rounded(one, spec) for key, one in _each(row, prob=answer.settings["prob"], ess=draws).items()}
        ends = {key: [f"{value:z{digits}}" for value in values] for key, (*values, digits) in each.items()}
        plain = {"before", "after"} if short else set()
        cells = {
            names[key]: point if key in plain else f"{point} [{low}, {high}]"
            for key, (point, low, high) in ends.items()
        }
        shown = {name: _shown(row[key]) for key, name in chances.items() if key in row}
        found.append({"model": model, **cells, **shown})
    return found


def _each(row: Mapping[Any, Any], **drawn: float) -> dict[str, dict[str, float]]:
    """Both runs and their difference, each with its interval."""
    ends = {"point": "", "lower": "_lower", "upper": "_upper"}
    return {
        key: {name: row[key + end] for name, end in ends.items()} | drawn for key in ("before", "after", "difference")
    }


def _shown(p: float) -> str:
    return "" if math.isnan(p) else probable(p).removeprefix("= ")


def runs_screen(answer: Comparison, width: int, *, of_question: Any) -> list[Table | str]:  # noqa: ARG001 as the page
    """The one table, and how many items are paired."""
    from rich.markup import escape

    from bayesjudge.report.terminal import empty_table, percent

    rows, methods = run_rows(answer, short=width < NARROW), list(answer.checks["runs"]["method"])
    if not rows:
        return ["No requested method can compare the runs: leave --model and --baseline out."]
    headings = [heading.replace("| <", "|\n<") for heading in list(rows[0])[1:]]
    title = f"{_name(answer)} by {method_words(methods[0])}, {percent(answer)} intervals"
    table = empty_table(title, ["model"], headings)
    for row in rows:
        table.add_row(*map(escape, row.values()))
    return [table, escape(f"{answer.settings['paired']}. Every model and method: --all, --json or the report.")]


def runs_page(answer: Comparison, *, of_question: Callable[..., Page], excerpt: bool = False) -> Page:
    """The page of the question, begun by what changed between the runs where anything can be said of it."""
    page, (before, after), rows = of_question(answer, excerpt=excerpt), answer.settings["runs"], answer.checks["runs"]
    both = Section(
        title="Two runs",
        text=[f"{answer.settings['paired']}."],
        tables=[Shown(caption=f"{before} and {after}, in full", frame=rows, folded=True, shown=MOST_COLUMNS)],
    )
    page = replace(page, title=f"{page.title}: {before} and {after}", sections=[both, *page.sections])
    if rows.empty or not (counted(answer, "labelled answers") and counted(answer, "human votes")):
        return page
    rows = rows.sort_values("difference", key=abs, ascending=False, kind="stable")
    several = len(set(rows["judge"])) > 1
    rows = rows.assign(model=[_whose(row, several=several) for row in rows.to_dict("records")])
    table, figure = _first(answer, rows)
    return replace(
        page,
        title=f"{_name(answer)} of {len(rows)} model{'s' * (len(rows) > 1)}: {before} and {after}",
        question=f"What changed from {before} to {after}?",
        headline=[*_changes(answer, rows), *filter(None, [refusal(answer)]), f"{answer.settings['paired']}."],
        table=table,
        figure=figure,
    )


def _name(answer: Comparison) -> str:
    return "Elo" if answer.question == "elo" else "Accuracy"


def _whose(row: Mapping[Any, Any], *, several: bool) -> str:
    return f"{row['model']} by {row['judge']}" if several else str(row["model"])


def _changes(answer: Comparison, rows: pd.DataFrame) -> list[str]:
    """The largest differences, a sentence each."""
    spec, prob, (before, after) = _spec(answer), answer.settings["prob"], answer.settings["runs"]
    draws = _draws(answer, rows)
    found = []
    for k, row in enumerate(rows.head(MOST_SENTENCES).to_dict("records")):
        each = _each(row, prob=prob, ess=draws)
        interval = interval_words(each["difference"], spec, prob=None if k else prob)
        first, second, gap = (point_words(one, spec) for one in each.values())
        by = "" if answer.gate.passed or k else f", by {method_words(row['method'])}"
        better = "" if math.isnan(row["p_better"]) else f"; better with probability {chance(row['p_better'], draws)}"
        found.append(f"{row['model']}{by}: {first} {before}, {second} {after}, difference {gap} ({interval}){better}.")
    return found + ([f"{len(rows) - len(found)} smaller differences are below."] if len(rows) > len(found) else [])


def _first(answer: Comparison, rows: pd.DataFrame) -> tuple[Shown, Figure]:
    """The difference of each model, both runs and probabilities, and the differences as a figure."""
    from bayesjudge.plots import forest
    from bayesjudge.report.sections import NARROW_WIDTH, figure_of

    (before, after), margin, prob = (answer.settings[name] for name in ("runs", "margin", "prob"))
    draws, gap = _draws(answer, rows), f"{after} − {before}"
    columns: dict[str, list[object]] = {"model": list(rows["model"])}
    each = [_each(row, prob=prob, ess=draws) for row in rows.to_dict("records")]
    for heading, key in ((gap, "difference"), (before, "before"), (after, "after")):
        columns[heading] = [Interval(**one[key]) for one in each]
    for heading, key in (("P(better)", "p_better"), (f"P(within {margin})", "p_within_margin")):
        if key in rows and rows[key].notna().any():
            columns[heading] = [Chance(p, draws) for p in rows[key]]
    method = method_words(rows["method"].iloc[0])
    caption = f"{_name(answer)} by {method}, {100 * prob:g} % intervals"
    table = Shown(caption=caption, frame=pd.DataFrame(columns), number_format=_spec(answer), folded=False, shown=5)
    named = {"difference": "point", "difference_lower": "lower", "difference_upper": "upper", "model": "unit"}
    drawn = rows.rename(columns=named)[["unit", "point", "lower", "upper", "method"]]
    cells = dict.fromkeys(("judge", "group", "note"), "")
    shown = Estimates(drawn.assign(estimand="difference", prob=prob, truth=math.nan, **cells))
    drawing = forest(
        shown,
        estimand="difference",
        layout="rows",
        width=NARROW_WIDTH,
        order=list(rows["model"]),
        units=list(rows["model"]),
    )
    return table, figure_of(drawing, f"Differences, {gap}.", f"Forest plot of the differences in the table. {caption}")


def _draws(answer: Comparison, rows: pd.DataFrame) -> float:
    """Fewest effective draws of a difference by the method that compares the runs."""
    found = answer.estimates.where(method=rows["method"].iloc[0]).frame
    return float(found.loc[found["estimand"].str.startswith("difference"), "ess"].min())


def _spec(answer: Comparison) -> str:
    return ".0f" if answer.question == "elo" else ".3f"
