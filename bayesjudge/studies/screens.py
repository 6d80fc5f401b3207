"""What the terminal shows: a few columns a person compares, not every row the answer holds."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bayesjudge.studies.reading import quality_rows

if TYPE_CHECKING:
    from bayesjudge.studies.comparison import Comparison

__all__ = ["show_answer"]

#: Baselines printed by default beside the Bayesian answer, as far as the terminal is wide.
MAIN = ("ppi++[logit]", "naive", "rogan-gladen[shared]", "labelled", "rogan-gladen[specific]")
#: Columns of text where there is no terminal to ask.
PAGE_WIDTH = 120
#: Widths of a printed interval (with two signs) and of a column with a single figure, gaps included.
CELL, FIGURE = 25, 9
#: Differences printed by default.
MOST_PAIRS = 12


def show_answer(answer: Comparison, *, every: bool = False, console: Console | None = None) -> None:
    """Print warnings, accuracies, differences and the judge's quality.

    Parameters
    ----------
    answer : Comparison
        Of the accuracy question.
    every : bool
        One line an estimate, every method and group, instead of the main ones side by side.
    console : rich.console.Console, optional
        Where to; by default standard output, as wide as its terminal.
    """
    screen = console or _console()
    _warn(answer, screen)
    several = len(set(answer.ranks["judge"])) > 1
    if every:
        tables = _every_row(answer)
    elif several:
        tables = [_judges(answer), _agreement(answer)]
    else:
        width = screen.width
        tables = [_accuracies(answer, width), *_differences(answer, width), _quality(answer, width)]
    for table in tables:
        if table.row_count:
            screen.print(table)
    if several and not every:
        screen.print("Every method and difference: --all, --json or the report.", highlight=False)


def _console() -> Console:
    asked = Console()
    return asked if asked.is_terminal or "COLUMNS" in os.environ else Console(width=PAGE_WIDTH)


def _warn(answer: Comparison, screen: Console) -> None:
    lines = [("red", "gate failed", reason) for reason in answer.gate.reasons]
    lines += [("yellow", "warning", text) for text in answer.warnings]
    lines += [("yellow", "dropped", f"{count} rows: {reason}") for reason, count in answer.dropped.items()]
    for colour, kind, text in lines:
        screen.print(f"[{colour}]{kind}[/{colour}] {escape(text)}", highlight=False)


def _accuracies(answer: Comparison, width: int) -> Table:
    """One line a model (and group), best first, one column a method."""
    rows = answer.estimates.where(estimand="accuracy").frame
    best = answer.ranks.set_index("model")["p_best"]
    order = {model: place for place, model in enumerate(answer.ranks["model"])}
    rows = rows.assign(place=rows["unit"].map(order)).sort_values(["group", "place"], kind="stable")
    last = (
        ("P(best)", {("", model): f"{share:.3f}" for model, share in best.items()}) if len(best) > 1 else None
    )
    return _side_by_side(rows, f"Accuracy, {_percent(answer)} intervals", "model", width, last)


def _differences(answer: Comparison, width: int) -> list[Table]:
    """One line a pair, the largest differences first."""
    rows = answer.estimates.where(estimand="difference", group="").frame
    if rows.empty:
        return []
    paired = rows[rows["p_positive"].notna()].drop_duplicates("unit", keep="last").set_index("unit")
    order = paired["point"].abs().sort_values(ascending=False, kind="stable").index
    rows = rows.set_index("unit").loc[list(order[:MOST_PAIRS])].reset_index()
    last = ("P(> 0)", {("", unit): f"{p:.3f}" for unit, p in paired["p_positive"].items()})
    table = _side_by_side(rows, f"Difference, {_percent(answer)} intervals", "difference", width, last)
    hidden = len(order) - MOST_PAIRS
    table.caption = f"{hidden} smaller differences not shown" if hidden > 0 else None
    return [table]


def _side_by_side(
    rows: pd.DataFrame, title: str, first: str, width: int, last: tuple[str, dict[Any, str]] | None
) -> Table:
    truth = bool(rows["truth"].notna().any())
    names = [_name(unit, group) for unit, group in zip(rows["unit"], rows["group"], strict=True)]
    # No gap follows the last column.
    room = width + 2 - _narrowest(names) - FIGURE * (truth + (last is not None))
    methods = _main_methods(rows, most=max(room // CELL, 1))
    headings = ["truth"] * truth + methods + ([last[0]] if last else [])
    table = _table(title, [first], headings)
    for (unit, group), mine in rows.groupby(["unit", "group"], sort=False):
        by = mine.drop_duplicates("method").set_index("method")
        cells = [f"{by['truth'].iloc[0]:.3f}"] * truth
        cells += [_cell(by.loc[method]) if method in by.index else "" for method in methods]
        cells += [last[1].get((group, unit), "")] if last else []
        table.add_row(escape(_name(unit, group)), *cells)
    return table


def _main_methods(rows: pd.DataFrame, *, most: int) -> list[str]:
    """The Bayesian model made for the estimand, then the main baselines."""
    present = list(dict.fromkeys(rows["method"]))
    bayes = [method for method in present if method.startswith("bayes:")]
    first = bayes[:1] if rows["estimand"].iloc[0] == "accuracy" else bayes[-1:]
    return [*first, *(method for method in MAIN if method in present)][:most]


def _quality(answer: Comparison, width: int) -> Table:
    """Sensitivity, specificity and J on each model by the Bayesian model; intervals where there is room."""
    named = {"sensitivity": "sensitivity", "specificity": "specificity", "youden": "Youden's J"}
    by = {estimand: quality_rows(answer.diagnostics, estimand).set_index("name") for estimand in named}
    judge = answer.ranks["judge"].iloc[0]
    table = _table(f"Quality of judge {judge}, {_percent(answer)} intervals", ["model"], list(named.values()))
    wide = width >= _narrowest(by["youden"].index) + 3 * CELL
    for name in by["youden"].index:
        rows = {estimand: frame.loc[name] for estimand, frame in by.items()}
        cells = [_cell(row) if wide or estimand == "youden" else _figure(row["point"])
                 for estimand, row in rows.items()]  # fmt: skip
        table.add_row(escape(name), *cells)
    return table


def _judges(answer: Comparison) -> Table:
    """Several judges: one line a judge and model, with accuracy, raw rate, J and rank."""
    rows = answer.estimates.where(estimand="accuracy", group="").frame
    key = ["judge", "unit"]
    bayes = rows[rows["method"].str.startswith("bayes:")].drop_duplicates(key).set_index(key)
    naive = rows[rows["method"] == "naive"].set_index(key)["point"]
    youden = quality_rows(answer.diagnostics, "youden").set_index(key)["point"]
    headings = ["accuracy", "naive", "Youden's J", "P(best)"]
    title = f"Accuracy, {_percent(answer)} intervals, by judge"
    table = _table(title, ["judge", "model"], headings)
    for judge, ranks in answer.ranks.groupby("judge", sort=False):
        table.add_section()
        for model, best in zip(ranks["model"], ranks["p_best"], strict=True):
            at = (judge, model)
            figures = [f"{naive.get(at, math.nan):.3f}", f"{youden.get(at, math.nan):.3f}", f"{best:.3f}"]
            table.add_row(escape(str(judge)), escape(str(model)), _cell(bayes.loc[at]), *figures)
    return table


def _agreement(answer: Comparison) -> Table:
    """Several judges: for each pair of models, how many judges' intervals lie on which side of 0."""
    rows = answer.estimates.where(estimand="difference", group="").frame
    rows = rows[rows["p_positive"].notna()].drop_duplicates(["judge", "unit"], keep="last")
    title = f"Differences by judge: how many {_percent(answer)} intervals lie above, around and below 0"
    table = _table(title, ["difference"], ["mean", "above", "around", "below"])
    pairs = sorted(rows.groupby("unit", sort=False), key=lambda pair: -abs(pair[1]["point"].mean()))
    for unit, mine in pairs[:MOST_PAIRS]:
        above, below = int((mine["lower"] > 0).sum()), int((mine["upper"] < 0).sum())
        counted = (above, len(mine) - above - below, below)
        table.add_row(escape(str(unit)), f"{mine['point'].mean():.3f}", *map(str, counted))
    hidden = len(pairs) - MOST_PAIRS
    table.caption = f"{hidden} smaller differences not shown" if hidden > 0 else None
    return table


def _every_row(answer: Comparison) -> list[Table]:
    """One line an estimate, with its note."""
    found = []
    for rows in (answer.estimates.frame, answer.diagnostics.frame):
        for (estimand, judge), mine in rows.groupby(["estimand", "judge"], sort=False):
            about = f" by judge {judge}" if judge else ""
            title = f"{str(estimand).capitalize()}{about}, {_percent(answer)} intervals"
            found.append(_long(mine.sort_values(["group", "unit"], kind="stable"), title))
    return found


def _long(rows: pd.DataFrame, title: str) -> Table:
    table = _table(title, ["unit", "method"], ["estimate", "n"])
    table.add_column("note")
    for row in rows.to_dict("records"):
        n = "" if math.isnan(row["n"]) else f"{row['n']:.0f}"
        name = _name(row["unit"], row["group"])
        table.add_row(escape(name), escape(row["method"]), _cell(row), n, escape(row["note"]))
    return table


def _table(title: str, names: Sequence[str], figures: Sequence[str]) -> Table:
    """An empty table: names wrap, figures do not."""
    table = Table(title=escape(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD,
                  padding=(0, 1, 0, 0), pad_edge=False, caption_justify="left")  # fmt: skip
    for name in names:
        table.add_column(name, overflow="fold")
    for figure in figures:
        # A method's options go on a second line, so that the heading is no wider than its figures.
        table.add_column(escape(figure.replace("[", "\n[")), justify="right", no_wrap=True)
    return table


def _cell(row: Any) -> str:
    if math.isnan(row["point"]):
        return "undefined"
    return escape(f"{_figure(row['point'])} [{_figure(row['lower'])}, {_figure(row['upper'])}]")


def _figure(value: float) -> str:
    return f"{round(value, 3) + 0.0:.3f}"  # adding 0 turns -0 into 0


def _narrowest(names: Iterable[str]) -> int:
    """Width to which a column of names can be wrapped without breaking a word."""
    return max((len(word) for name in names for word in name.split()), default=0) + 2


def _name(unit: Any, group: Any) -> str:
    return f"{unit} in {group}" if group else str(unit)


def _percent(answer: Comparison) -> str:
    return f"{100 * answer.settings['prob']:g} %"
