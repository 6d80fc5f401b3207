"""Estimates as tables of the page: every row, or one line a unit with the methods side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from bayesjudge.estimates import COLUMNS, Estimates
from bayesjudge.estimates.selection import select
from bayesjudge.estimates.table import is_bayesian, method_words
from bayesjudge.report.page import INTERVAL, Chance, Interval, Number, Table
from bayesjudge.text import rounded

#: Methods side by side, and columns of a table with every row, before a click.
MOST_METHODS, MOST_COLUMNS = 4, 9


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
    shown = frame[kept]
    if "p_positive" in kept:
        chances = [Chance(*one) for one in zip(frame["p_positive"], frame["ess"], strict=True)]
        column = pd.Series(chances, index=frame.index, dtype=object)
        shown = shown.assign(p_positive=column).rename(columns={"p_positive": "P(> 0)"})
    if "ess" in kept:
        shown = shown.assign(**_rounded(frame))
    formats = {"n": ",.0f", "ess": ",.0f", "prob": ".4g"}
    return Table(caption=caption, frame=shown, number_format=formats, folded=folded, shown=MOST_COLUMNS)


def _rounded(frame: pd.DataFrame) -> dict[str, pd.Series]:
    """Estimates and the ends of their intervals, those from draws with the digits of their row."""
    drawn = frame["ess"].notna().to_numpy()
    rows = [rounded(row) for row in frame.loc[drawn, list(INTERVAL)].to_dict("records")]
    found = {}
    for name in ("point", "lower", "upper"):
        found[name] = frame[name].astype(object)
        pairs = zip(frame.loc[drawn, name].tolist(), rows, strict=True)
        found[name][drawn] = [Number(value, getattr(row, name), row.spec) for value, row in pairs]
    return found


def _is_empty(column: pd.Series) -> bool:
    return bool(column.isna().all() or (column == "").all())


def comparison_table(
    estimates: Estimates,
    *,
    estimand: str,
    caption: str,
    methods: Sequence[str] | None = None,
    first: str = "unit",
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
        Columns from left to right, Bayesian ones first; ``"bayes:"`` represents all of these.
    first : str
        What a unit is.
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
    [{'unit': 'a', 'MLE': Interval(point=5.0, lower=4.0, upper=inf, prob=nan, ess=nan)}]
    """
    chosen = select(estimates, estimand=estimand, methods=methods)
    rows = chosen.frame.drop_duplicates(["label", "method"])
    keys = zip(rows["label"].tolist(), rows["method"].tolist(), strict=True)
    values = rows[list(INTERVAL)].to_numpy(dtype=float).tolist()
    cells = {key: Interval(*value) for key, value in zip(keys, values, strict=True)}
    columns: dict[str, list[object]] = {first: list(chosen.labels)}
    if chosen.truths:
        columns["truth"] = [chosen.truths.get(label, math.nan) for label in chosen.labels]
    for method in chosen.methods:
        columns[method_words(method)] = [cells.get((label, method), "–") for label in chosen.labels]
    positive = chosen.frame.dropna(subset=["p_positive"]).drop_duplicates("label")
    if len(positive):
        chances = map(Chance, positive["p_positive"].tolist(), positive["ess"].tolist())
        known = dict(zip(positive["label"].tolist(), chances, strict=True))
        columns = _after_bayes(columns, "P(> 0)", [known.get(label, "–") for label in chosen.labels])
    shown = len(columns) - max(len(chosen.methods) - MOST_METHODS, 0)
    return Table(caption=caption, frame=pd.DataFrame(columns), number_format=number_format, folded=folded, shown=shown)


def _after_bayes(columns: dict[str, list[object]], name: str, values: list[object]) -> dict[str, list[object]]:
    """The columns with a further one after the last Bayesian one."""
    found = list(columns.items())
    place = 1 + max((k for k, (method, _) in enumerate(found) if is_bayesian(method)), default=len(found) - 1)
    return dict([*found[:place], (name, values), *found[place:]])


def units_table(
    columns: Mapping[str, pd.DataFrame],
    units: Sequence[str],
    *,
    caption: str,
    first: str = "model",
    number_format: str | Mapping[str, str] = ".3f",
    chances: Mapping[str, Mapping[str, Chance]] | None = None,
) -> Table:
    """One line a unit, in the order given: rows of estimates indexed by unit, a column each, then probabilities.

    Examples
    --------
    >>> rows = pd.DataFrame({"point": [0.5], "lower": [0.4], "upper": [0.6]}, index=["a"])
    >>> made = units_table({"naive": rows}, ["a"], caption="", chances={"P(best)": {"a": Chance(0.5)}})
    >>> list(made.frame.columns)
    ['model', 'raw rate', 'P(best)']
    """
    found: dict[str, list[object]] = {first: list(units)}
    known = pd.concat([rows["truth"] for rows in columns.values() if "truth" in rows] or [pd.Series(dtype=float)])
    known = known.dropna().groupby(level=0).first()
    if len(known):
        found["truth"] = list(known.reindex(list(units)))
    for name, rows in columns.items():
        ends = rows[[name for name in INTERVAL if name in rows]].loc[~rows.index.duplicated()]
        cells = {str(unit): Interval(*row) for unit, row in zip(ends.index, ends.to_numpy().tolist(), strict=True)}
        found[method_words(name)] = [cells.get(unit, "–") for unit in units]
    for name, values in (chances or {}).items():
        found[name] = [values.get(unit, "–") for unit in units]
    return Table(caption=caption, frame=pd.DataFrame(found), number_format=number_format, folded=False)
