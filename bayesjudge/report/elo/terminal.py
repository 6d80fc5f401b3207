"""The Elo answer on a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pandas as pd
from rich.markup import escape
from rich.table import Table

from bayesjudge.estimates.table import method_words
from bayesjudge.report.elo.headline import VALID, headline, named_methods
from bayesjudge.report.lead import counted
from bayesjudge.report.terminal import empty_table, figure, fitting, interval_cell, narrowest, percent, why_undefined
from bayesjudge.text import chance

if TYPE_CHECKING:
    from bayesjudge.report.comparison import Comparison


#: Widths of a printed interval and of a column with a single figure, gaps included.
CELL, FIGURE = 20, 9
#: Judges' figures shown by default, as far as the terminal is wide: estimand to heading.
JUDGE = {
    "agreement": "agreement",
    "kappa": "κ",
    "slope": "slope",
    "first_preferred": "first shown",
    "flip_rate": "flips",
    "beta": "β",
}


def elo_screen(answer: Comparison, width: int) -> list[Table | str]:
    """Leaderboards, then the judges, then the models whose votes were hidden."""
    boards = [_board(answer, str(judge), width) for judge in dict.fromkeys(answer.ranks["judge"])]
    further = [*_groups(answer, width), *_covariates(answer), *_judges(answer, width), *_held_out(answer, width)]
    return [*map(escape, headline(answer)), *boards, *further]


def _board(answer: Comparison, judge: str, width: int) -> Table:
    """One line a model, best first: the scale's own methods, then the raw Elo of each judge."""
    rows = answer.estimates.where(estimand="elo", group="").frame
    # Over all groups it says the same again: its groups have a table of their own.
    rows = rows[~rows["method"].str.contains(",by group", regex=False)]
    if judge:
        rows = rows[rows["judge"] == judge]
    rows = rows.assign(column=named_methods(rows, scale=judge))
    ranks = answer.ranks[answer.ranks["judge"] == judge].set_index("model")
    truth = bool(rows["truth"].notna().any())
    room = width + 2 - narrowest(ranks.index) - FIGURE * (1 + truth)
    columns = fitting(dict.fromkeys(rows["column"]), room, least=CELL)
    scale = f"by {judge}" if judge else "on the human scale"
    last = "P(best)" if counted(answer, "human votes") else "P(first)"
    headings = [*(["truth"] if truth else []), *columns, last]
    title = f"Elo {scale}, {percent(answer)} intervals"
    table = empty_table(title, ["model"], headings, doubtful=not answer.gate.passed)
    table.caption = why_undefined(rows[rows["column"].isin(columns)])
    cells = rows.drop_duplicates(["unit", "column"]).set_index(["unit", "column"])
    known = rows.dropna(subset=["truth"]).drop_duplicates("unit").set_index("unit")["truth"]
    draws = rows.dropna(subset=["ess"]).drop_duplicates("unit").set_index("unit")["ess"].to_dict()
    for model, best in zip(map(str, ranks.index), ranks["p_best"], strict=True):
        shown = [figure(known[model], ".0f") if model in known.index else ""] if truth else []
        shown += [
            interval_cell(cells.loc[(model, name)], ".0f") if (model, name) in cells.index else "" for name in columns
        ]
        table.add_row(escape(str(model)), *shown, chance(best, draws.get(model, math.nan)))
    return table


def _groups(answer: Comparison, width: int) -> list[Table]:
    """One line a model and one column a group, as far as the terminal is wide; Hard-Elo's where a gate failed."""
    frame = answer.estimates.where(estimand="elo").frame
    usable = frame["method"].str.startswith("bayes:") if answer.gate.passed else frame["method"].isin(VALID)
    frame = frame[(frame["group"] != "") & usable]
    tables = []
    for judge in dict.fromkeys(frame["judge"]):
        rows = frame[frame["judge"] == judge]
        ranked = [str(name) for name in answer.ranks.loc[answer.ranks["judge"] == judge, "model"]]
        every = list(dict.fromkeys(rows["group"]))
        shown = fitting(every, width + 2 - narrowest(ranked), least=CELL)
        by = f" by {judge}" if judge else ""
        title = f"Elo in each group{by}, {method_words(rows['method'].iloc[0])}, {percent(answer)} intervals"
        table = empty_table(title, ["model"], shown)
        cells = rows.set_index(["unit", "group"])
        for model in ranked:
            found = [(model, group) for group in shown]
            table.add_row(
                escape(model), *(interval_cell(cells.loc[key], ".0f") if key in cells.index else "" for key in found)
            )
        if len(shown) < len(every):
            table.caption = f"{len(every) - len(shown)} more groups: --json, --out and the report"
        tables.append(table)
    return tables


def _covariates(answer: Comparison) -> list[Table]:
    """What each covariate is worth, where any was asked for."""
    rows = answer.diagnostics.where(estimand="effect", unit=answer.settings.get("covariates", [])).frame
    if rows.empty:
        return []
    title = f"Effects of the answers' differences, {percent(answer)} intervals"
    table = empty_table(title, ["covariate"], ["effect", "in"])
    for row in rows.to_dict("records"):
        name = f"{row['unit']} by {row['judge']}" if row["judge"] else str(row["unit"])
        table.add_row(escape(name), interval_cell(row, ".2f"), escape(str(row["note"]).split(";")[0]))
    return [table]


def _judges(answer: Comparison, width: int) -> list[Table]:
    """One line a judge: what its verdicts are worth."""
    rows = answer.diagnostics.where(estimand=list(JUDGE), group="").frame
    rows = rows.assign(name=[j or u for j, u in zip(rows["judge"], rows["unit"], strict=True)])
    if rows.empty:
        return []
    known = [kind for kind in JUDGE if kind in set(rows["estimand"])]
    shown = fitting(known, width + 2 - narrowest(rows["name"]), least=CELL)
    title = f"Judges, {percent(answer)} intervals"
    table = empty_table(title, ["judge"], [JUDGE[kind] for kind in shown])
    cells = rows.drop_duplicates(["name", "estimand"]).set_index(["name", "estimand"])
    for judge in dict.fromkeys(rows["name"]):
        found = [_short(cells.loc[(judge, kind)]) if (judge, kind) in cells.index else "" for kind in shown]
        table.add_row(escape(str(judge)), *found)
    return [table]


def _short(row: Any) -> str:
    return interval_cell(row, ".2f")


def _held_out(answer: Comparison, width: int) -> list[Table]:
    """Predictions of hidden votes, and how each method did over all of them."""
    rows = answer.estimates.where(estimand="held_out_elo").frame
    if rows.empty:
        return []
    rows = rows.assign(column=named_methods(rows))
    room = width + 2 - narrowest(rows["unit"]) - FIGURE
    columns = fitting(dict.fromkeys(rows["column"]), room, least=CELL)
    table = empty_table(
        f"Held out: Elo by votes that were hidden, {percent(answer)} intervals", ["model"], ["votes", *columns]
    )
    table.caption = why_undefined(rows[rows["column"].isin(columns)])
    for model, mine in rows.groupby("unit", sort=False):
        by = mine.drop_duplicates("column").set_index("column")
        truth = mine["truth"].dropna()
        votes = figure(truth.iloc[0], ".0f") if len(truth) else "none"
        table.add_row(escape(str(model)), votes, *_cells(by, columns))
    return [table, *_scores(answer)]


def _cells(by: pd.DataFrame, columns: Iterable[str]) -> list[str]:
    return [interval_cell(by.loc[name], ".0f") if name in by.index else "" for name in columns]


def _scores(answer: Comparison) -> list[Table]:
    if max((scores["n"] for scores in answer.held_out.values()), default=0) < 2:
        return []
    table = empty_table(
        "Held-out models: error and coverage by method",
        ["method"],
        ["n", "mean |error|", "interval score", "coverage", "median width", "Spearman"],
    )
    for method, scores in answer.held_out.items():
        rank = "" if math.isnan(scores["spearman"]) else f"{scores['spearman']:.3f}"
        formats = {"n": ".0f", "mae": ".1f", "interval_score": ".0f", "coverage": ".2f", "median_width": ".0f"}
        cells = {name: f"{scores[name]:{spec}}" for name, spec in formats.items()}
        if math.isnan(scores["coverage"]):
            cells["coverage"] = "by construction"
        table.add_row(escape(method_words(method)), *cells.values(), rank)
    return [table]
