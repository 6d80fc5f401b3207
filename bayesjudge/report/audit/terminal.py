"""The audit's answer on a terminal."""

from __future__ import annotations

import math

import pandas as pd
from rich.markup import escape
from rich.table import Table

from bayesjudge.estimates.table import method_words
from bayesjudge.report.audit.headline import headline
from bayesjudge.report.comparison import Comparison
from bayesjudge.report.terminal import empty_table, figure, interval_cell, percent

#: Features and least trusted verdicts that are printed.
MOST_FEATURES, MOST_VERDICTS = 8, 8
#: Categories that are printed, the largest.
MOST_CATEGORIES = 12

_ALL_FLIPS = "The model's row has every held-out flip: by these its guard decides"


def audit_screen(answer: Comparison, _width: int) -> list[Table | str]:
    """What to do, what each method gains, what drives distrust, and the verdicts least trusted."""
    more = "Trust of every verdict: --out FOLDER (check_trust.csv), --json or the report."
    return [
        *map(escape, headline(answer)),
        _expected(answer),
        *_methods(answer),
        *_categories(answer),
        *_attacks(answer),
        *_features(answer),
        _verdicts(answer),
        more,
    ]


def _expected(answer: Comparison) -> Table:
    rows = answer.estimates.where(estimand=("consistency", "consistency (flipped)")).frame
    after = rows[rows["estimand"] == "consistency (flipped)"].set_index("unit")
    columns = ["as judged", *(["after flips"] if len(after) else [])]
    known = answer.settings["verified"] == "all"
    kind = "Consistency when verified" if known else "Expected consistency of unverified verdicts"
    table = empty_table(f"{kind}, {percent(answer)} intervals", ["verdicts"], columns)
    before = rows[rows["estimand"] == "consistency"]
    shown = before.nlargest(MOST_CATEGORIES + 1, "n")
    table.caption = _hidden(len(before) - len(shown))
    for _, row in shown.iterrows():
        unit = str(row["unit"])
        table.add_row(
            escape(unit), interval_cell(row), *([interval_cell(after.loc[unit])] if unit in after.index else [])
        )
    return table


def _methods(answer: Comparison) -> list[Table]:
    """One line a method: consistency, gain, flips and their precision on pairs it did not see."""
    rows = answer.estimates.where(group="").frame
    rows = rows[rows["estimand"].str.endswith("(held out)")]
    if rows.empty:
        return []
    quality = answer.diagnostics.where(unit="held out").frame
    keys = zip(quality["estimand"], quality["method"], strict=True)
    points = dict(zip(keys, quality["point"].astype(float), strict=True))
    by = rows.set_index(["estimand", "method"])
    headings = ["consistency", "gain", "flips", "right flips", "AUC"]
    title = f"Verified pairs held out, {percent(answer)} intervals"
    table = empty_table(title, ["method"], headings)
    for method in dict.fromkeys(rows["method"]):
        at = [(f"{name} (held out)", method) for name in ("consistency", "gain")]
        cells = [interval_cell(by.loc[key]) if key in by.index else "" for key in at]
        cells.append(figure(answer.held_out[method]["flips"]))
        cells += [
            figure(points[key]) if key in points else "" for key in (("precision of flips", method), ("auc", method))
        ]
        table.add_row(escape(method_words(str(method))), *cells)
    needed = points.get(("break-even auc", "normal scores"))
    closing = [_ALL_FLIPS]
    closing += [] if needed is None else [f"AUC at which flipping the lowest breaks even: {needed:.2f}"]
    table.caption = "\n".join(closing)
    return [table]


def _categories(answer: Comparison) -> list[Table]:
    rows = answer.estimates.where(estimand="consistency (held out)").frame
    return _side_by_side(rows[rows["group"] != ""], f"By category, held out, {percent(answer)} intervals", "category")


def _attacks(answer: Comparison) -> list[Table]:
    rows = answer.estimates.where(group="").frame
    rows = rows[rows["estimand"].str.match(r"consistency \((?!held out|flipped)")]
    named = rows.assign(unit=rows["estimand"].str.extract(r"\((.*)\)")[0])
    return _side_by_side(named, f"After each attack, {percent(answer)} intervals", "attack")


def _hidden(count: int) -> str | None:
    return f"{count} smaller categories not shown" if count > 0 else None


def _side_by_side(rows: pd.DataFrame, title: str, first: str) -> list[Table]:
    """One line a unit, the judge next to the model and transport."""
    shown = [
        name for name in dict.fromkeys(rows["method"]) if name.startswith("bayes:") or name in {"judge", "partial-ot"}
    ]
    if rows.empty:
        return []
    table = empty_table(title, [first], shown)
    units = rows.drop_duplicates("unit").nlargest(MOST_CATEGORIES, "n")["unit"]
    table.caption = _hidden(rows["unit"].nunique() - len(units))
    for unit in units:
        by = rows[rows["unit"] == unit].set_index("method")
        table.add_row(escape(str(unit)), *(interval_cell(by.loc[name]) if name in by.index else "" for name in shown))
    return [table]


def _features(answer: Comparison) -> list[Table]:
    rows = answer.checks["features"]
    rows = rows[rows["block"] != "direction"].head(MOST_FEATURES)
    if rows.empty:
        return []
    table = empty_table("What drives trust: log odds of agreement", ["feature"], ["effect", "AUC alone"])
    for _, row in rows.iterrows():
        effect = f"{figure(row['effect'])} [{figure(row['lower'])}, {figure(row['upper'])}]"
        alone = "undefined" if math.isnan(row["auc"]) else figure(row["auc"])
        table.add_row(escape(str(row["feature"])), escape(effect), alone)
    return [table]


def _verdicts(answer: Comparison) -> Table:
    # Verdicts of one pair for one response say the same of it.
    rows = answer.checks["trust"].sort_values("trust", kind="stable")
    response = rows.groupby(["item", "judge_prefers"], sort=False)
    shown = response["order"].agg(lambda orders: ", ".join(sorted(orders.dropna()))).to_numpy()
    rows = response.head(1).assign(shown=shown).head(MOST_VERDICTS)
    ordered = ["shown"] if (rows["shown"] != "").any() else []
    columns, figures = ["item", *ordered, "judge prefers"], ["P(people agree)", "reversed"]
    table = empty_table(f"Least trusted verdicts, {percent(answer)} intervals", columns, figures)
    for _, row in rows.iterrows():
        trust = f"{figure(row['trust'])} [{figure(row['lower'])}, {figure(row['upper'])}]"
        table.add_row(
            escape(str(row["item"])),
            *(row[name] for name in ordered),
            str(row["judge_prefers"]),
            escape(trust),
            "yes" if row["flip"] else "no",
        )
    return table
