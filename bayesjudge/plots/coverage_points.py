"""Coverage of many estimands of one world, down the page."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from bayesjudge.plots.coverage import require_coverage
from bayesjudge.plots.palette import MUTED, styles
from bayesjudge.plots.theme import bare, canvas, footnote, shorten, themed

__all__ = ["coverage_points"]

NEEDED = ("method", "estimand", "nominal", "coverage", "coverage_lower", "coverage_upper")
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
    require_coverage(frame, NEEDED)
    lines = _lines(frame)
    figure = canvas(AROUND + ROW * len(lines))
    axes = bare(figure.add_subplot())
    looks = styles(list(dict.fromkeys(frame["method"])))
    for place, row in enumerate(lines):
        if not isinstance(row, str):
            bars = [[row["coverage"] - row["coverage_lower"]], [row["coverage_upper"] - row["coverage"]]]
            look = looks[row["method"]]
            axes.errorbar([row["coverage"]], [place], xerr=bars, color=look.colour, marker="o",
                          markersize=3.5, elinewidth=1.0)  # fmt: skip
    names = [row if isinstance(row, str) else shorten(str(row["estimand"]), 36) for row in lines]
    axes.set_yticks(range(len(lines)), names)
    for label, row in zip(axes.get_yticklabels(), lines, strict=True):
        label.set_fontweight("bold" if isinstance(row, str) else "normal")
    axes.set_ylim(len(lines) - 0.4, -0.6)
    axes.axvline(float(frame["nominal"].iloc[0]), color=MUTED, linewidth=0.8, linestyle=(0, (3, 3)))
    axes.set_xlabel("coverage")
    footnote(figure, "bars: exact binomial bounds", "dashed: nominal")
    return figure


def _lines(frame: pd.DataFrame) -> list[str | dict[Any, Any]]:
    """Each method's name, then its rows."""
    lines: list[str | dict[Any, Any]] = []
    for method, rows in frame.groupby("method", sort=False):
        lines += [str(method), *rows.to_dict("records")]
    return lines
