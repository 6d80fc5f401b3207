"""What the columns of formulas do, on the page of a reliability answer; and forest plots where units fit on them."""

from __future__ import annotations

import pandas as pd

from bayesjudge.estimates import Estimates
from bayesjudge.plots import forest
from bayesjudge.report.comparison import Comparison
from bayesjudge.report.page import Figure, Section, Table
from bayesjudge.report.sections import figure_of
from bayesjudge.report.tables import comparison_table

_EFFECTS = """An effect is a change when the number is one standard deviation higher: of P(first wins) − P(second wins)
or of P(a wins), in decided verdicts on a pair that is even otherwise, or of a score."""
#: What is given of every category of a column.
CATEGORIES = {
    "flip_rate": "Flip rate by category",
    "position_effect": "P(first wins) − P(second wins) by category",
    "mean_score": "Mean score by category",
}
#: Panels and rows that a figure of estimates has room for.
MOST_UNITS = 30


def columns_section(answer: Comparison) -> Section | None:
    """What formulas say of columns: effects of numbers, and every category by every method."""
    rows = Estimates.concat([answer.estimates, answer.diagnostics])
    rows = Estimates(rows.frame[rows.frame["point"].notna()])
    tables: list[Table] = []
    figures: list[Figure] = []
    effects = rows.where(estimand="effect").frame
    if len(effects):
        whose = effects["judge"].map(lambda name: f" ({name})" if name else "")
        named = Estimates(effects.assign(unit=effects["unit"] + whose, judge=""))
        tables.append(comparison_table(named, estimand="effect", caption="Average effects", first="effect"))
    for kind, caption in CATEGORIES.items():
        found = rows.frame[rows.frame["estimand"].str.fullmatch(rf"{kind}\[(?!N=|same order).*=.*\]")]
        if len(found):
            of = _by_category(found.assign(estimand=kind), found["estimand"].str.slice(len(kind) + 1, -1))
            drawn = forest_where_it_fits(of, kind, f"{caption}.")
            figures += drawn
            first = "category, judge" if len(set(found["judge"])) > 1 else "category"
            tables.append(comparison_table(of, estimand=kind, caption=caption, first=first, folded=bool(drawn)))
    text = [_EFFECTS] if len(effects) else []
    return Section(title="What columns do", text=text, figures=figures, tables=tables) if tables else None


def _by_category(rows: pd.DataFrame, categories: pd.Series[str]) -> Estimates:
    """Rows whose units are categories, of their column where there are several, and judges where there are several."""
    parts = categories.str.partition("=")
    names = categories if len(set(parts[0])) > 1 else parts[2]
    units = names + ", " + rows["unit"] if len(set(rows["judge"])) > 1 else names
    return Estimates(rows.assign(unit=units, judge=""))


def forest_where_it_fits(estimates: Estimates, estimand: str, caption: str = "") -> list[Figure]:
    """A forest plot where the units fit on it and something is defined."""
    rows = estimates.where(estimand=estimand).frame
    units = len(rows[["unit", "group"]].drop_duplicates())
    if not units or units > MOST_UNITS or not rows["point"].notna().any():
        return []
    words = caption or f"{estimand.replace('_', ' ').capitalize()} of each judge by every method."
    return [figure_of(forest(estimates, estimand=estimand), words, f"Forest plot. {words}")]
