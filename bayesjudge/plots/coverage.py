"""Coverage and width of every method along a sweep."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayesjudge.errors import UsageError
from bayesjudge.plots.palette import MUTED, styles
from bayesjudge.plots.theme import bare, canvas, footnote, legend_columns, shorten, themed

NEEDED = ("swept", "value", "method", "estimand", "nominal", "coverage", "coverage_lower", "coverage_upper", "width")
#: Columns side by side.
_ABREAST = 4


@themed
def coverage_curves(frame: pd.DataFrame, *, most: int = 8) -> Figure:
    """Coverage with its exact bounds above mean width, one column for each sweep and estimand.

    Columns stand four abreast; where there are more than `most` the figure says how many it leaves out.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row a cell, method and estimand, as `bayesjudge.checks.Coverage` has them.
    most : int
        Most columns.

    Returns
    -------
    matplotlib.figure.Figure
        Bars: exact binomial bounds of the coverage; dashed line: the nominal probability.

    Raises
    ------
    UsageError
        A column is missing, or there is no row.

    Examples
    --------
    >>> frame = pd.DataFrame({"swept": "labels", "value": [20, 40], "method": "x", "estimand": "accuracy",
    ...     "nominal": 0.95, "coverage": [0.94, 0.95], "coverage_lower": 0.9, "coverage_upper": 0.97,
    ...     "width": [0.2, 0.1]})
    >>> len(coverage_curves(frame).axes)
    2
    """
    require_coverage(frame, NEEDED)
    found = list(frame.groupby(["swept", "estimand"], sort=False))
    columns = found[:most]
    figure = canvas(5.4 * -(-len(columns) // _ABREAST))
    grid = _grid(figure, len(columns), alike=len({estimand for (_, estimand), _ in columns}) == 1)
    for (above, below), ((swept, estimand), rows) in zip(grid, columns, strict=True):
        _column(above, below, rows, list(dict.fromkeys(frame["method"])))
        above.set_title(shorten(str(estimand), 30))
        below.set_xlabel("\n".join(textwrap.wrap(shorten(str(swept), 64), 32)))
    # When all columns are drawn: limits that are set hold for all that share them, and stop growing.
    for _, below in grid:
        below.set_ylim(bottom=0)
    for above, below in grid[::_ABREAST]:
        above.set_ylabel("coverage")
        below.set_ylabel("mean width")
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=legend_columns(labels))
    left_out = len(found) - len(columns)
    footnote(
        figure,
        "bars: exact binomial bounds",
        "dashed: nominal",
        f"{left_out} more columns in the table" if left_out else "",
    )
    return figure


def _grid(figure: Figure, columns: int, *, alike: bool) -> list[tuple[Axes, Axes]]:
    """Axes of coverage above those of width; widths share a scale where they are of one estimand."""
    spec = figure.add_gridspec(2 * -(-columns // _ABREAST), min(columns, _ABREAST))
    grid = list[tuple[Axes, Axes]]()
    for k in range(columns):
        left, (row, place) = grid[0] if grid else (None, None), divmod(k, _ABREAST)
        above = figure.add_subplot(spec[2 * row, place], sharey=left[0])
        below = figure.add_subplot(spec[2 * row + 1, place], sharex=above, sharey=left[1] if alike else None)
        above.tick_params(labelbottom=False, labelleft=not place)
        below.tick_params(labelleft=not place or not alike)
        grid.append((above, below))
    return grid


def require_coverage(frame: pd.DataFrame, needed: Sequence[str]) -> None:
    """Refuse what cannot be drawn: a column is missing, or there is no row."""
    if missing := [name for name in needed if name not in frame.columns]:
        raise UsageError(f"coverage needs columns {', '.join(needed)}; missing {', '.join(missing)}")
    if frame.empty:
        raise UsageError("there is no coverage to draw")


def _column(above: Axes, below: Axes, rows: pd.DataFrame, methods: list[str]) -> None:
    looks, step = styles(methods), _spacing(rows["value"])
    for place, method in enumerate(methods):
        mine, look = rows[rows["method"] == method].sort_values("value"), looks[method]
        # Side by side, since many methods cover alike.
        at = mine["value"] + step * (place - (len(methods) - 1) / 2) / (2 * len(methods))
        bars = mine["coverage"] - mine["coverage_lower"], mine["coverage_upper"] - mine["coverage"]
        above.errorbar(
            at,
            mine["coverage"],
            yerr=bars,
            color=look.colour,
            marker=look.marker,
            markersize=3.5,
            linewidth=look.width,
            elinewidth=0.8,
            label=method,
        )
        below.plot(at, mine["width"], color=look.colour, marker=look.marker, markersize=3.5, linewidth=look.width)
    above.axhline(float(rows["nominal"].iloc[0]), color=MUTED, linewidth=0.8, linestyle=(0, (3, 3)))
    for axes in (above, below):
        bare(axes, grid="y")


def _spacing(values: pd.Series[float]) -> float:
    """Room for the methods of one value: the least step, and a tenth of all where values are few."""
    steps = values.drop_duplicates().sort_values().diff().dropna()
    return min(float(steps.min()), float(steps.sum()) / 10) if len(steps) else 1.0


POINTS_NEEDED = ("method", "estimand", "nominal", "coverage", "coverage_lower", "coverage_upper")
#: Heights in inches: of a row, of what is around them.
ROW, AROUND = 0.17, 0.9


@themed
def coverage_points(frame: pd.DataFrame) -> Figure:
    """Coverage with its exact bounds, a row for each method and estimand.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row a method and estimand, as `bayesjudge.checks.Coverage` has them in one cell.

    Returns
    -------
    matplotlib.figure.Figure
        Bars: exact binomial bounds; dashed line: the nominal probability. Each method's name stands above
        its rows.

    Raises
    ------
    UsageError
        A column is missing, or there is no row.

    Examples
    --------
    >>> frame = pd.DataFrame({"method": "x", "estimand": ["accuracy", "youden"], "nominal": 0.95,
    ...                       "coverage": [0.94, 0.96], "coverage_lower": 0.9, "coverage_upper": 0.97})
    >>> figure = coverage_points(frame)
    >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
    ['x', 'accuracy', 'youden']
    """
    require_coverage(frame, POINTS_NEEDED)
    lines: list[str | dict[Any, Any]] = []
    for method, rows in frame.groupby("method", sort=False):
        lines += [str(method), *rows.to_dict("records")]
    figure = canvas(AROUND + ROW * len(lines))
    axes = bare(figure.add_subplot())
    looks = styles(list(dict.fromkeys(frame["method"])))
    for place, row in enumerate(lines):
        if not isinstance(row, str):
            bars = [[row["coverage"] - row["coverage_lower"]], [row["coverage_upper"] - row["coverage"]]]
            look = looks[row["method"]]
            axes.errorbar(
                [row["coverage"]], [place], xerr=bars, color=look.colour, marker="o", markersize=3.5, elinewidth=1.0
            )
    names = [row if isinstance(row, str) else shorten(str(row["estimand"]), 36) for row in lines]
    axes.set_yticks(range(len(lines)), names)
    for label, row in zip(axes.get_yticklabels(), lines, strict=True):
        label.set_fontweight("bold" if isinstance(row, str) else "normal")
    axes.set_ylim(len(lines) - 0.4, -0.6)
    axes.axvline(float(frame["nominal"].iloc[0]), color=MUTED, linewidth=0.8, linestyle=(0, (3, 3)))
    axes.set_xlabel("coverage")
    footnote(figure, "bars: exact binomial bounds", "dashed: nominal")
    return figure
