"""Two runs side by side, as the screen and a summary show them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bayesjudge.conditions.decision import probable
from bayesjudge.estimates.table import method_words

if TYPE_CHECKING:
    from rich.table import Table

    from bayesjudge.report.comparison import Comparison
    from bayesjudge.report.page import Page


#: Columns of a terminal below which both runs have points without intervals.
NARROW = 110


def run_rows(answer: Comparison, *, short: bool = False) -> list[dict[str, str]]:
    """A row a model: before, after (points alone where ``short``), their difference, P(better)."""
    rows, (before, after), margin = answer.checks["runs"], answer.settings["runs"], answer.settings["margin"]
    spec, several = ".0f" if answer.question == "elo" else ".3f", len(set(rows["judge"])) > 1
    names = {"before": before, "after": after, "difference": f"{after} − {before}"}
    chances = {"p_better": "P(better)", "p_within_margin": f"P(|difference| < {margin})"}
    found = []
    for row in rows.to_dict("records"):
        model = f"{row['model']} by {row['judge']}" if several else str(row["model"])
        ends = {key: [f"{row[key + end]:z{spec}}" for end in ("", "_lower", "_upper")] for key in names}
        plain = {"before", "after"} if short else set()
        cells = {
            names[key]: point if key in plain else f"{point} [{low}, {high}]"
            for key, (point, low, high) in ends.items()
        }
        shown = {name: _chance(row[key]) for key, name in chances.items() if key in row}
        found.append({"model": model, **cells, **shown})
    return found


def _chance(chance: float) -> str:
    return "" if math.isnan(chance) else probable(chance).removeprefix("= ")


def runs_screen(answer: Comparison, width: int, *, of_question: Any) -> list[Table | str]:  # noqa: ARG001 as the page
    """The one table, and how many items are paired."""
    from rich.markup import escape

    from bayesjudge.report.terminal import empty_table, percent

    rows, methods = run_rows(answer, short=width < NARROW), list(answer.checks["runs"]["method"])
    if not rows:
        return ["No method that was asked for can compare the runs: leave --model and --baseline out."]
    name = "Elo" if answer.question == "elo" else "Accuracy"
    headings = [heading.replace("| <", "|\n<") for heading in list(rows[0])[1:]]
    title = f"{name} by {method_words(methods[0])}, {percent(answer)} intervals"
    table = empty_table(title, ["model"], headings)
    for row in rows:
        table.add_row(*map(escape, row.values()))
    return [table, escape(f"{answer.settings['paired']}. Every model and method: --all, --json or the report.")]


def runs_page(answer: Comparison, *, of_question: Callable[[Comparison], Page]) -> Page:
    """The page of the question, with the table of both runs before all else."""
    from bayesjudge.report.page import Section
    from bayesjudge.report.page import Table as Shown

    page, runs = of_question(answer), answer.settings["runs"]
    table = Shown(caption=f"{runs[0]} and {runs[1]}", frame=answer.checks["runs"])
    first = Section(title="Two runs", text=[f"{answer.settings['paired']}."], tables=[table])
    return replace(page, title=f"{page.title}: {runs[0]} and {runs[1]}", sections=[first, *page.sections])
