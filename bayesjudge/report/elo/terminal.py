"""The Elo answer on a terminal."""

from __future__ import annotations

import math

from rich.markup import escape
from rich.table import Table

from bayesjudge.estimates.table import method_words
from bayesjudge.report.comparison import Comparison
from bayesjudge.report.elo.headline import SCALE, VALID, headline, method_by, named_methods
from bayesjudge.report.lead import counted
from bayesjudge.report.terminal import (
    empty_table,
    figure,
    fitted_table,
    interval_cell,
    interval_columns,
    percent,
    why_undefined,
)
from bayesjudge.text import chance

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
    known = rows.dropna(subset=["truth"]).drop_duplicates("unit").set_index("unit")["truth"]
    draws = rows.dropna(subset=["ess"]).drop_duplicates("unit").set_index("unit")["ess"].to_dict()
    models = list(map(str, ranks.index))
    of_models = interval_columns(rows, "unit", "column", models, ".0f")
    last = "P(best)" if counted(answer, "human votes") else "P(first)"
    truths = {"truth": [figure(known[one], ".0f") if one in known.index else "" for one in models]} if truth else {}
    best = [chance(p, draws.get(one, math.nan)) for one, p in zip(models, ranks["p_best"], strict=True)]
    table, columns = fitted_table(
        f"Elo {f'by {judge}' if judge else 'on the human scale'}, {percent(answer)} intervals",
        of_models,
        width,
        names={"model": models},
        before=truths,
        after={last: best},
        doubtful=not answer.gate.passed,
    )
    table.caption = why_undefined(rows[rows["column"].isin(columns)])
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
        by = f" by {judge}" if judge else ""
        method = method_words(method_by(rows["method"].iloc[0], judge, scale=judge))
        title = f"Elo in each group{by}, {method}, {percent(answer)} intervals"
        of_groups = interval_columns(rows, "unit", "group", ranked, ".0f")
        table, shown = fitted_table(title, of_groups, width, names={"model": ranked})
        if len(shown) < len(of_groups):
            table.caption = f"{len(of_groups) - len(shown)} more groups: --json, --out and the report"
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
    judges = list(map(str, dict.fromkeys(rows["name"])))
    found = interval_columns(rows, "name", "estimand", judges, ".2f")
    of_judges = {heading: found[kind] for kind, heading in JUDGE.items() if kind in found}
    table, _ = fitted_table(f"Judges, {percent(answer)} intervals", of_judges, width, names={"judge": judges})
    return [table]


def _held_out(answer: Comparison, width: int) -> list[Table]:
    """Predictions of hidden votes, and how each method did over all of them."""
    rows = answer.estimates.where(estimand="held_out_elo").frame
    if rows.empty:
        return []
    rows = rows.assign(column=named_methods(rows))
    models = list(map(str, dict.fromkeys(rows["unit"])))
    truth = rows.dropna(subset=["truth"]).drop_duplicates("unit").set_index("unit")["truth"]
    votes = [figure(truth[one], ".0f") if one in truth.index else "none" for one in models]
    of_models = interval_columns(rows, "unit", "column", models, ".0f")
    title = f"Held out: Elo by votes that were hidden, {percent(answer)} intervals"
    table, columns = fitted_table(title, of_models, width, names={"model": models}, before={"votes": votes})
    undefined = why_undefined(rows[rows["column"].isin(columns)])
    table.caption = "\n".join([SCALE, *([undefined] if undefined else [])])
    return [table, *_scores(answer)]


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
