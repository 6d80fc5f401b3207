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

#: Methods printed by default, in the order of their columns.
MAIN = ("bayes:", "ppi++[logit]", "ppi++", "rogan-gladen[specific]", "rogan-gladen[shared]", "labelled", "naive")
#: Pairs of models printed by default.
MOST_PAIRS = 12


def show_answer(answer: Comparison, *, every: bool = False, written: Sequence[Path] = ()) -> None:
    """Print warnings, the accuracy and difference tables, judge quality, and where the page is."""
    console = Console()
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
                console.print(_long(rows, title) if every else _wide(rows, title, estimand))
    console.print(_quality(answer))
    console.print(_ranks(answer.ranks))
    for path in written:
        console.print(f"Report: {escape(str(path.resolve()))}", highlight=False, soft_wrap=True)


def _wide(rows: pd.DataFrame, title: str, estimand: str) -> Table:
    """One line a unit, one column a method."""
    methods = _main_methods(rows)
    units = list(dict.fromkeys(rows["unit"]))
    hidden = max(len(units) - MOST_PAIRS, 0) if estimand == "difference" else 0
    if hidden:
        bayes = rows[rows["method"] == methods[0]].set_index("unit")["point"].abs()
        units = list(bayes.sort_values(ascending=False).index[:MOST_PAIRS])
    table = Table(title=title, title_justify="left", caption=f"{hidden} smaller differences not shown" if hidden else None)
    table.add_column("model" if estimand == "accuracy" else "difference")
    truth = rows["truth"].notna().any()
    signed = estimand == "difference"
    headings = (["truth"] if truth else []) + methods + (["P(> 0)"] if signed else [])
    for heading in headings:
        table.add_column(escape(heading), justify="right")
    for unit in units:
        mine = rows[rows["unit"] == unit].drop_duplicates("method").set_index("method")
        cells = [f"{mine['truth'].iloc[0]:.3f}"] if truth else []
        cells += [_cell(mine.loc[method]) if method in mine.index else "" for method in methods]
        cells += [f"{mine['p_positive'].dropna().iloc[-1]:.3f}"] if signed else []
        table.add_row(escape(str(unit)), *cells)
    return table


def _main_methods(rows: pd.DataFrame) -> list[str]:
    present = list(dict.fromkeys(rows["method"]))
    bayes = [method for method in present if method.startswith("bayes:")]
    order = (bayes[:1] if rows["estimand"].iloc[0] == "accuracy" else bayes[-1:]) + [m for m in MAIN if m in present]
    return order[:5]


def _cell(row: pd.Series[Any]) -> str:
    if math.isnan(row["point"]):
        return "undefined"
    return f"{row['point']:.3f} \\[{row['lower']:.3f}, {row['upper']:.3f}]"


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
    for (judge, unit), mine in rows[rows["estimand"] != "delta_youden"].groupby(["judge", "unit"], sort=False):
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
