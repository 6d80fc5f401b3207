"""What the terminal shows: a few columns a person compares, not every row the answer holds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from bayesjudge.studies.comparison import Comparison

__all__ = ["show_answer"]

#: Baselines printed by default beside the Bayesian answer, as far as the terminal is wide.
MAIN = ("ppi++[logit]", "naive", "rogan-gladen[shared]", "labelled", "rogan-gladen[specific]")
#: Columns of text where there is no terminal to ask.
PAGE_WIDTH = 120
#: Width of one printed estimate with its interval and the borders.
CELL_WIDTH = 25
#: Pairs of models printed by default.
MOST_PAIRS = 12


def show_answer(answer: Comparison, *, every: bool = False, written: Sequence[Path] = ()) -> None:
    """Print warnings, the accuracy and difference tables, judge quality, and where the page is."""
    terminal = Console()
    console = terminal if terminal.is_terminal else Console(width=PAGE_WIDTH)
    for text in answer.warnings:
        console.print(f"[yellow]warning[/yellow] {escape(text)}", highlight=False)
    for reason, count in answer.dropped.items():
        console.print(f"[yellow]dropped[/yellow] {count} rows: {escape(reason)}", highlight=False)
    for reason in answer.gate.reasons:
        console.print(f"[red]gate failed[/red] {escape(reason)}", highlight=False)
    prob = answer.settings["prob"]
    judges = sorted(set(answer.estimates.frame["judge"])) or [""]
    for judge in judges:
        part = answer.estimates.where(judge=judge, group="").frame
        suffix = f", judge {judge}" if judge else ""
        for estimand in ("accuracy", "difference"):
            rows = part[part["estimand"] == estimand]
            if len(rows):
                title = f"{estimand.capitalize()}, {prob:.0%} intervals{suffix}"
                console.print(_long(rows, title) if every else _wide(rows, title, console.width))
    console.print(_quality(answer))
    console.print(_ranks(answer.ranks))
    for path in written:
        console.print(f"Report: {escape(str(path.resolve()))}", highlight=False, soft_wrap=True)


def _wide(rows: pd.DataFrame, title: str, width: int) -> Table:
    """One line a unit, one column a method."""
    estimand = rows["estimand"].iloc[0]
    room = width - 4 - max(len(unit) for unit in rows["unit"]) - 10 * bool(rows["truth"].notna().any())
    methods = _main_methods(rows, most=max(room // CELL_WIDTH, 2))
    units = list(dict.fromkeys(rows["unit"]))
    hidden = max(len(units) - MOST_PAIRS, 0) if estimand == "difference" else 0
    if hidden:
        bayes = rows[rows["method"] == methods[0]].set_index("unit")["point"].abs()
        units = list(bayes.sort_values(ascending=False).index[:MOST_PAIRS])
    table = Table(
        title=title,
        title_justify="left",
        caption=f"{hidden} smaller differences not shown" if hidden else None,
    )
    table.add_column("model" if estimand == "accuracy" else "difference")
    truth = rows["truth"].notna().any()
    signed = estimand == "difference"
    headings = (["truth"] if truth else []) + methods + (["P(> 0)"] if signed else [])
    for heading in headings:
        table.add_column(escape(heading), justify="right", no_wrap=heading in {"truth", "P(> 0)"})
    for unit in units:
        mine = rows[rows["unit"] == unit].drop_duplicates("method").set_index("method")
        cells = [f"{mine['truth'].iloc[0]:.3f}"] if truth else []
        cells += [_cell(mine.loc[method]) if method in mine.index else "" for method in methods]
        cells += [f"{mine['p_positive'].dropna().iloc[-1]:.3f}"] if signed else []
        table.add_row(escape(str(unit)), *cells)
    return table


def _main_methods(rows: pd.DataFrame, *, most: int) -> list[str]:
    """The Bayesian model made for the estimand, then the main baselines."""
    present = list(dict.fromkeys(rows["method"]))
    bayes = [method for method in present if method.startswith("bayes:")]
    first = bayes[:1] if rows["estimand"].iloc[0] == "accuracy" else bayes[-1:]
    return [*first, *(method for method in MAIN if method in present)][:most]


def _cell(row: pd.Series[Any]) -> str:
    if math.isnan(row["point"]):
        return "undefined"
    return f"{row['point']:.3f}\u00a0\\[{row['lower']:.3f},\u00a0{row['upper']:.3f}]"


def _long(rows: pd.DataFrame, title: str) -> Table:
    """One line an estimate, with its note."""
    table = Table(title=title, title_justify="left")
    for heading in ("unit", "method", "estimate", "n", "note"):
        table.add_column(heading)
    for _, row in rows.sort_values("unit", kind="stable").iterrows():
        table.add_row(*(escape(str(row[name])) for name in ("unit", "method")), _cell(row),
                      "" if math.isnan(row["n"]) else f"{row['n']:.0f}", escape(row["note"]))  # fmt: skip
    return table


def _quality(answer: Comparison) -> Table:
    """Sensitivity, specificity and J by the Bayesian model."""
    rows = answer.diagnostics.where(group="").frame
    rows = rows[rows["method"].str.startswith("bayes:")]
    table = Table(title="Judge quality", title_justify="left")
    for heading in ("judge", "model", "sensitivity", "specificity", "Youden's J"):
        table.add_column(heading, justify="left" if heading in {"judge", "model"} else "right")
    for (judge, unit), mine in rows[rows["estimand"] != "delta_youden"].groupby(
        ["judge", "unit"], sort=False
    ):
        by = mine.drop_duplicates("estimand").set_index("estimand")
        cells = [_cell(by.loc[name]) for name in ("sensitivity", "specificity", "youden")]
        table.add_row(escape(str(judge)), escape(str(unit)), *cells)
    return table


def _ranks(ranks: pd.DataFrame) -> Table:
    table = Table(title="Posterior probability of being the best model", title_justify="left")
    for heading in ("judge", "model", "P(best)"):
        table.add_column(heading, justify="right" if heading == "P(best)" else "left")
    for _, row in ranks.iterrows():
        table.add_row(escape(str(row["judge"])), escape(str(row["model"])), f"{row['p_best']:.3f}")
    return table
