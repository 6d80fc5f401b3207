"""Reliability diagrams: what was predicted against what happened."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayesjudge.errors import UsageError
from bayesjudge.estimates.table import method_words
from bayesjudge.plots.palette import GRID, MUTED, styles
from bayesjudge.plots.theme import canvas, footnote, grid_of, shorten, themed

NEEDED = ("predicted", "observed", "lower", "upper")
COLUMNS = 3


@themed
def reliability_diagram(
    frame: pd.DataFrame, *, xlabel: str = "predicted probability", ylabel: str = "share that agreed"
) -> Figure:
    """Observed shares, with intervals, against predicted probabilities; on the dashed line they agree.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row a bin: ``predicted, observed, lower, upper``, optionally ``panel`` (one diagram each) and
        ``method`` (one colour each).
    xlabel, ylabel : str
        Names of the two axes.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    UsageError
        A column is missing, or there are no rows.

    Examples
    --------
    >>> frame = pd.DataFrame({"predicted": [0.6], "observed": [0.5], "lower": [0.4], "upper": [0.6]})
    >>> reliability_diagram(frame).axes[0].get_ylabel()
    'share that agreed'
    """
    missing = [name for name in NEEDED if name not in frame.columns]
    if missing or frame.empty:
        raise UsageError(f"a reliability diagram needs rows with columns {list(NEEDED)}; missing {missing}")
    parts = list(frame.groupby("panel", sort=False)) if "panel" in frame else [("", frame)]
    down, across = grid_of(len(parts), COLUMNS)
    figure = canvas(down * 2.9 + 0.4, width=min(9.6, across * 3.2))
    grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True).flatten()
    low = min(float(frame["predicted"].min()), float(frame["observed"].min()), 0.5)
    bottom = min(low, float(frame["lower"].min()))
    for axes, (name, part) in zip(grid, parts, strict=False):
        _panel(axes, part, low, bottom)
        axes.set_title(shorten(str(name), 36))
    for axes in grid[len(parts) :]:
        axes.set_visible(False)
    grid[0].set_ylabel(ylabel)
    footnote(figure, xlabel, "dashed: perfect calibration")
    return figure


def _panel(axes: Axes, part: pd.DataFrame, low: float, bottom: float) -> None:
    axes.plot([low, 1], [low, 1], color=MUTED, linewidth=1, linestyle=(0, (3, 2)), zorder=1)
    methods = list(dict.fromkeys(part["method"])) if "method" in part else [""]
    for method, style in styles(methods).items():
        mine = part[part["method"] == method] if "method" in part else part
        mine = mine.sort_values("predicted", kind="stable")
        axes.vlines(mine["predicted"], mine["lower"], mine["upper"], color=style.colour, linewidth=1.2)
        axes.plot(
            mine["predicted"],
            mine["observed"],
            marker=style.marker,
            markersize=4.5,
            color=style.colour,
            linewidth=1.0,
            label=method_words(method) or None,
        )
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_xlim(low - 0.02, 1.02)
    axes.set_ylim(bottom - 0.02, 1.02)
    if len(methods) > 1:
        axes.legend(loc="lower right")
