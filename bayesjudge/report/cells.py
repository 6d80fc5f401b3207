"""Values to the words of a table's cells."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bayesjudge.report.page import Table

#: Tables longer than this are folded unless told otherwise.
LONG = 24
#: Rows with one of these marks stand out.
FLAGS = ("flagged", "prior_sensitive")


@dataclass(frozen=True, kw_only=True)
class Row:
    """Cells of a row, and its kind: ``bayes``, ``flagged`` or nothing."""

    cells: tuple[str, ...]
    kind: str


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A table ready for the template: headings, which of them are numbers, rows of text."""

    caption: str
    headings: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[Row, ...]
    folded: bool


def grid_of(table: Table) -> Grid:
    """Format every cell.

    Examples
    --------
    >>> frame = pd.DataFrame({"unit": ["a"], "p_best": [0.25], "upper": [math.inf]})
    >>> grid = grid_of(Table(caption="", frame=frame))
    >>> grid.headings, grid.rows[0].cells
    (('unit', 'p best', 'upper'), ('a', '0.250', '∞'))
    """
    frame = table.frame
    formats = [_format(table.number_format, str(name)) for name in frame.columns]
    columns = [[cell_of(value, spec) for value in frame.iloc[:, k]] for k, spec in enumerate(formats)]
    rows = tuple(
        Row(cells=cells, kind=kind) for cells, kind in zip(zip(*columns, strict=True), _kinds(frame), strict=True)
    )
    return Grid(
        caption=table.caption,
        headings=tuple(_heading(str(name)) for name in frame.columns),
        numeric=tuple(_is_number(frame.iloc[:, k]) for k in range(frame.shape[1])),
        rows=rows,
        folded=len(frame) > LONG if table.folded is None else table.folded,
    )


def cell_of(value: Any, spec: str = ".3f") -> str:
    """One value in words: a dash where there is none, a real minus, ∞ for infinities.

    Examples
    --------
    >>> [cell_of(value) for value in (-0.5, math.nan, None, -math.inf, True, 1200, "x")]
    ['−0.500', '–', '–', '−∞', 'yes', '1,200', 'x']
    """
    if isinstance(value, str):
        return value
    value = value.item() if hasattr(value, "item") else value
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        shown = "∞" if value > 0 else "-∞"
        return (format(value, spec) if math.isfinite(value) else shown).replace("-", "−")
    return f"{value:,}".replace("-", "−") if isinstance(value, int) else str(value)


def _heading(name: str) -> str:
    """A column's name as words; the name of a method stays as it is."""
    return name.replace("_", " ") if re.fullmatch(r"[a-z0-9_]+", name) else name


def _format(formats: str | Mapping[str, str], column: str) -> str:
    return formats if isinstance(formats, str) else formats.get(column, ".3f")


def _is_number(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def _kinds(frame: pd.DataFrame) -> list[str]:
    """Which rows stand out: flagged ones, and those of a posterior beside baselines."""
    flagged = pd.Series(data=False, index=range(len(frame)))
    for name in FLAGS:
        if name in frame:
            flagged |= frame[name].fillna(value=False).astype(bool).to_numpy()
    methods = frame["method"].astype(str) if "method" in frame else pd.Series("", index=range(len(frame)))
    bayes = methods.str.startswith("bayes:").to_numpy(dtype=bool)
    mixed = bayes.any() and not bayes.all()
    return ["flagged" if bad else "bayes" if good and mixed else "" for bad, good in zip(flagged, bayes, strict=True)]
