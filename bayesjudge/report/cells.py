"""Values to the words of a table's cells."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import pandas as pd

from bayesjudge.estimates.table import estimand_words, is_bayesian, method_words
from bayesjudge.report.page import Chance, Interval, Number, Table
from bayesjudge.text import chance, number, rounded

#: Format of numbers for which none is stated: fewer decimals of large ones, and none of columns of counts.
PLAIN = ".3f"
#: Tables longer than this are folded by default.
LONG = 24
#: Rows with one of these marks stand out.
FLAGS = ("flagged", "prior_sensitive")


class Cell(NamedTuple):
    """Words of a cell, and the number it is sorted by (empty where there is none)."""

    text: str
    value: str = ""


@dataclass(frozen=True, kw_only=True)
class Row:
    """Cells of a row, and its kind: ``bayes``, ``flagged`` or nothing."""

    cells: tuple[Cell, ...]
    kind: str


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A table ready for the template: headings, rows of cells, and of what kinds each column is.

    Kinds are ``number``, ``bayes`` (of a posterior), ``chance`` (a probability) and ``more`` (shown after a click).
    """

    caption: str
    headings: tuple[str, ...]
    kinds: tuple[str, ...]
    rows: tuple[Row, ...]
    folded: bool


def grid_of(table: Table) -> Grid:
    """Format every cell."""
    frame = table.frame
    shown = frame.shape[1] if table.shown is None else table.shown
    columns = [_cells(frame.iloc[:, k], str(name), table) for k, name in enumerate(frame.columns)]
    rows = tuple(
        Row(cells=cells, kind=kind) for cells, kind in zip(zip(*columns, strict=True), _row_kinds(frame), strict=True)
    )
    return Grid(
        caption=table.caption,
        headings=tuple(
            # A column's name as words; the name of a method stays as it is.
            name.replace("_", " ") if re.fullmatch(r"[a-z0-9_]+", name) else name
            for name in map(str, frame.columns)
        ),
        kinds=tuple(_kinds(frame.iloc[:, k], str(name), more=k >= shown) for k, name in enumerate(frame.columns)),
        rows=rows,
        folded=len(frame) > LONG if table.folded is None else table.folded,
    )


def _cells(column: pd.Series, name: str, table: Table) -> list[Cell]:
    spec = table.number_format if isinstance(table.number_format, str) else table.number_format.get(name, PLAIN)
    words = {"method": method_words, "estimand": estimand_words}.get(name, partial(cell_of, spec=spec))
    values = column.tolist()
    if spec == PLAIN and _are_counts(column):
        spec = ".0f"
    # Most cells of a long table are numbers or one of a few texts, and there may be a hundred thousand.
    texts = {value: Cell(words(value), "") for value in {value for value in values if isinstance(value, str)}}
    return [
        texts[value]
        if isinstance(value, str)
        else Cell(number(value, _decimals(value, spec)), f"{value:.7g}")
        if type(value) is float and math.isfinite(value)
        else Cell(words(value), _value(value))
        for value in values
    ]


def _are_counts(column: pd.Series) -> bool:
    """Whether all numbers of a column are whole, and not all 0 or 1, as probabilities may be."""
    if not pd.api.types.is_float_dtype(column):
        return False
    finite = column[column.abs() < math.inf]
    return bool((finite % 1 == 0).all() and finite.abs().max() > 1)


def _decimals(value: float, spec: str) -> str:
    """The format of a number: of a large one, of which none is stated, no more digits than anyone reads."""
    if spec != PLAIN or abs(value) < 10:
        return spec
    return ".2f" if abs(value) < 100 else ".1f"


def _kinds(column: pd.Series, name: str, *, more: bool) -> str:
    """Kinds of a column, as `Grid` has them."""
    mixed = column.tolist() if column.dtype == object else []
    chances = any(isinstance(value, Chance) for value in mixed)
    numbers = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    found = {
        "number": numbers or chances or any(isinstance(value, Interval | Number) for value in mixed),
        "bayes": chances or is_bayesian(name),
        "chance": chances,
        "more": more,
    }
    return " ".join(kind for kind, is_so in found.items() if is_so)


def cell_of(value: Any, spec: str = ".3f") -> str:
    """One value in words: a dash where there is none, a real minus, ∞ for infinities.

    Examples
    --------
    >>> [cell_of(value) for value in (-0.5, math.nan, None, -math.inf, True, 1200, "x", Chance(1.0))]
    ['−0.500', '–', '–', '−∞', 'yes', '1,200', 'x', '> .999']
    >>> cell_of(Interval(5, 4, math.inf), ".1f"), cell_of(Interval(math.inf, math.inf, math.inf))
    ('5.0 [4.0, ∞]', 'cannot be reached')
    """
    if isinstance(value, Interval):
        return _interval(value, spec)
    if isinstance(value, str | Chance):
        return value if isinstance(value, str) else chance(value.p, value.draws)
    if isinstance(value, Number):
        return cell_of(value.shown, value.spec)
    value = value.item() if hasattr(value, "item") else value
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, float):
        shown = "∞" if value > 0 else "−∞"
        return number(value, spec) if math.isfinite(value) else shown
    words = {True: "yes", False: "no"} if isinstance(value, bool) else {}
    return words.get(value) or (f"{value:,}".replace("-", "−") if isinstance(value, int) else str(value))


def _interval(value: Interval, spec: str) -> str:
    if math.isnan(value.point):
        return "undefined"
    if value.lower == math.inf:
        return "cannot be reached"
    *ends, spec = rounded(vars(value), spec)
    point, lower, upper = (number(end, spec) if math.isfinite(end) else cell_of(end, spec) for end in ends)
    return f"{point} [{lower}, {upper}]"


def _value(value: Any) -> str:
    """The number that a cell is sorted by, as a script reads it; empty where there is none."""
    names = {Chance: "p", Interval: "point", Number: "value"}
    value = getattr(value, names[type(value)]) if type(value) in names else value
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        return ""
    if isinstance(value, int):
        return str(value)
    return f"{value:.7g}" if math.isfinite(value) else f"{'-' * (value < 0)}Infinity"


def _row_kinds(frame: pd.DataFrame) -> list[str]:
    """Which rows stand out: flagged ones, and those of a posterior among baselines."""
    flagged = pd.Series(data=False, index=range(len(frame)))
    for name in FLAGS:
        if name in frame:
            flagged |= frame[name].fillna(value=False).astype(bool).to_numpy()
    methods = frame["method"].astype(str) if "method" in frame else pd.Series("", index=range(len(frame)))
    bayes = methods.map(is_bayesian).to_numpy(dtype=bool)
    return ["flagged" if bad else "bayes" if good else "" for bad, good in zip(flagged, bayes, strict=True)]
