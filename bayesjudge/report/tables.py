"""Estimates as tables of the page: every row, or one line a unit with the methods side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from bayesjudge.estimates import COLUMNS, Estimates
from bayesjudge.estimates.selection import select
from bayesjudge.report.page import Chance, Interval, Table


def estimates_table(estimates: Estimates, *, caption: str, folded: bool | None = None) -> Table:
    """Every row of estimates, without columns that are empty or say the same everywhere.

    Parameters
    ----------
    estimates : Estimates
        Any estimates.
    caption : str
        What the table holds; the intervals' probability is added where it is the same for all.
    folded : bool, optional
        As in `Table`.

    Examples
    --------
    >>> rows = [{"estimand": "accuracy", "unit": "a", "method": "naive", "point": 0.5, "n": 10, "prob": 0.9}]
    >>> table = estimates_table(Estimates.from_rows(rows), caption="All")
    >>> table.caption, list(table.frame.columns)
    ('All (90 % intervals)', ['unit', 'method', 'point', 'lower', 'upper', 'n'])
    """
    frame = estimates.frame
    empty = {name for name in frame.columns if name not in COLUMNS[:6] and _is_empty(frame[name])}
    same = {name for name in ("estimand", "prob") if len(frame[name].unique()) == 1}
    if "prob" in same and not math.isnan(frame["prob"].iloc[0]):
        caption = f"{caption} ({100 * frame['prob'].iloc[0]:.4g} % intervals)"
    kept = [name for name in frame.columns if name not in empty | same]
    formats = {"n": ",.0f", "ess": ",.0f", "prob": ".4g"}
    return Table(caption=caption, frame=frame[kept], number_format=formats, folded=folded)


def _is_empty(column: pd.Series) -> bool:
    return bool(column.isna().all() or (column.astype(str) == "").all())


def comparison_table(
    estimates: Estimates,
    *,
    estimand: str,
    caption: str,
    methods: Sequence[str] | None = None,
    number_format: str = ".3f",
    folded: bool | None = None,
) -> Table:
    """One line a unit and one column a method, ``point [lower, upper]``, sorted by the Bayesian point.

    Parameters
    ----------
    estimates : Estimates
        Any estimates.
    estimand : str
        Exact name of the estimand.
    caption : str
        What the table holds.
    methods : sequence of str, optional
        Columns from left to right, Bayesian ones first; ``"bayes:"`` stands for all of these.
    number_format : str
        Format of the numbers in the cells.
    folded : bool, optional
        As in `Table`.

    Returns
    -------
    Table
        Also the known truth, and the posterior probability of a positive value, where there are any.

    Raises
    ------
    UsageError
        There is no such estimand or method.

    Examples
    --------
    >>> row = {"estimand": "elo", "unit": "a", "method": "mle", "point": 5, "lower": 4, "upper": math.inf}
    >>> made = comparison_table(Estimates.from_rows([row]), estimand="elo", caption="", number_format=".1f")
    >>> made.frame.to_dict("records")
    [{'unit': 'a', 'mle': Interval(point=5.0, lower=4.0, upper=inf)}]
    """
    chosen = select(estimates, estimand=estimand, methods=methods)
    rows = chosen.frame.drop_duplicates(["label", "method"]).set_index(["label", "method"])
    values = zip(rows["point"], rows["lower"], rows["upper"], strict=True)
    cells = {key: Interval(*value) for key, value in zip(rows.index, values, strict=True)}
    columns: dict[str, list[object]] = {"unit": list(chosen.labels)}
    if chosen.truths:
        columns["truth"] = [chosen.truths.get(label, math.nan) for label in chosen.labels]
    for method in chosen.methods:
        columns[method] = [cells.get((label, method), "–") for label in chosen.labels]
    positive = chosen.frame.dropna(subset=["p_positive"]).drop_duplicates("label").set_index("label")
    if len(positive):
        known = {label: Chance(row["p_positive"], row["ess"]) for label, row in positive.iterrows()}
        columns["P(> 0)"] = [known.get(label, "–") for label in chosen.labels]
    return Table(caption=caption, frame=pd.DataFrame(columns), number_format=number_format, folded=folded)
