"""Predictions against what came out: intervals of what was held out, and reliability diagrams."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayesjudge.estimates.selection import bayes_first
from bayesjudge.estimates.table import is_bayesian, method_words
from bayesjudge.plots.intervals import draw_intervals, limits_of
from bayesjudge.plots.palette import BASELINE, BAYES, GRID, INK, MUTED, styles
from bayesjudge.plots.theme import (
    SMALL,
    WIDTH,
    bare,
    canvas,
    footnote,
    grid_of,
    legend_columns,
    panels_of,
    require_rows,
    short_names,
    shorten,
    themed,
)

#: Panels of one row of a figure: more leave no room for the names of methods.
ACROSS = 3
NEEDED = ("unit", "method", "point", "lower", "upper", "truth")


@themed
def held_out_intervals(frame: pd.DataFrame, *, label: str = "Elo") -> Figure:
    """Predictive intervals of each held-out unit, by method, with the figure that came out.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows ``unit, method, point, lower, upper, truth``; an infinite interval ends in arrows.
    label : str
        Name of the axis.

    Returns
    -------
    matplotlib.figure.Figure
        Units from the largest truth down; a black stroke is the truth.

    Raises
    ------
    UsageError
        A column is missing, or there are no rows.

    Examples
    --------
    >>> frame = pd.DataFrame({"unit": ["m"], "method": ["bayes:x"], "point": [1500.0], "lower": [1450.0],
    ...                       "upper": [1550.0], "truth": [1510.0]})
    >>> [text.get_text() for text in held_out_intervals(frame).axes[0].get_yticklabels()]
    ['m']
    """
    require_rows(frame, NEEDED, "held-out predictions need")
    frame = frame.assign(note=frame.get("note", ""))
    methods = bayes_first(frame["method"])
    units = list(dict.fromkeys(frame.sort_values("truth", ascending=False, kind="stable")["unit"]))
    step = 0.15 * len(methods) + 0.12
    figure = canvas(step * len(units) + 0.9 + 0.2 * (len(methods) / legend_columns(methods)), width=WIDTH)
    axes, limits = figure.subplots(), limits_of(frame)
    for k, (method, style) in enumerate(styles(methods).items()):
        mine = frame[frame["method"] == method]
        at = np.array([units.index(unit) for unit in mine["unit"]]) + (k + 1) / (len(methods) + 1) - 0.5
        draw_intervals(axes, mine, at, style=style, limits=limits, label=method_words(method), thickness=0.1)
    truths = frame.drop_duplicates("unit")
    at = np.array([units.index(unit) for unit in truths["unit"]])
    axes.vlines(truths["truth"], at - 0.42, at + 0.42, color=INK, linewidth=1.6, zorder=4)
    bare(axes).set_xlim(limits.lower, limits.upper)
    axes.set_ylim(len(units) - 0.5, -0.5)
    axes.set_yticks(np.arange(len(units)), short_names(units), fontsize=8.6)
    axes.set_xlabel(label)
    figure.legend(loc="outside upper left", ncols=legend_columns(methods), fontsize=SMALL)
    footnote(figure, "black stroke: people's votes")
    return figure


@themed
def residuals_by_strength(frame: pd.DataFrame, *, label: str = "Elo by people's votes") -> Figure:
    """Error of each held-out prediction against the strength it was to predict; one panel a method.

    A slope means that the method shrinks or stretches the scale.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows as for `held_out_intervals`.
    label : str
        Name of the horizontal axis.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    UsageError
        A column is missing, or there are no rows.

    Examples
    --------
    >>> frame = pd.DataFrame({"unit": ["m", "k"], "method": "a", "point": [1500.0, 1600.0],
    ...                       "lower": [1450.0, 1550.0], "upper": [1550.0, 1650.0], "truth": [1510, 1580]})
    >>> residuals_by_strength(frame).axes[0].get_title(loc="left")
    'a'
    """
    require_rows(frame, NEEDED, "held-out predictions need")
    methods = bayes_first(frame["method"])
    error = (frame["point"] - frame["truth"]).to_numpy(dtype=float)
    reach = 1.1 * float(np.nanmax(np.abs(error[np.isfinite(error)]), initial=1.0))
    across = min(len(methods), ACROSS)
    down = math.ceil(len(methods) / across)
    figure = canvas(0.3 + 2.4 * down, width=min(WIDTH, 3.2 * across))
    panels = panels_of(figure, len(methods), (down, across), sharex=True, sharey=True)
    titles = short_names(map(method_words, methods), 38)
    for axes, method, title in zip(panels, methods, titles, strict=True):
        mine = (frame["method"] == method).to_numpy()
        _residuals(axes, frame["truth"].to_numpy(dtype=float)[mine], error[mine], reach, bayes=is_bayesian(method))
        axes.set_title(title)
    for axes in panels[::across]:
        axes.set_ylabel("prediction − votes")
    footnote(figure, label)
    return figure


def _residuals(axes: Axes, truth: np.ndarray, error: np.ndarray, reach: float, *, bayes: bool) -> None:
    colour = BAYES[0] if bayes else BASELINE[0]
    finite = np.isfinite(truth) & np.isfinite(error)
    axes.axhline(0, color=INK, linewidth=0.8)
    axes.plot(truth[finite], error[finite], "o", markersize=4.5, color=colour)
    if finite.sum() > 2 and np.ptp(truth[finite]) > 0:
        slope, intercept = np.polyfit(truth[finite], error[finite], 1)
        ends = np.array([truth[finite].min(), truth[finite].max()])
        axes.plot(ends, intercept + slope * ends, color=colour, linewidth=1.2, linestyle=(0, (4, 2)))
        axes.text(0.03, 0.04, f"slope {slope:+.2f}", transform=axes.transAxes, fontsize=SMALL)
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_ylim(-reach, reach)


BINS_NEEDED = ("predicted", "observed", "lower", "upper")


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
    require_rows(frame, BINS_NEEDED, "a reliability diagram needs")
    parts = list(frame.groupby("panel", sort=False)) if "panel" in frame else [("", frame)]
    down, across = grid_of(len(parts), ACROSS)
    figure = canvas(down * 2.9 + 0.4, width=min(9.6, across * 3.2))
    grid = panels_of(figure, len(parts), (down, across), sharex=True, sharey=True)
    low = min(float(frame["predicted"].min()), float(frame["observed"].min()), 0.5)
    bottom = min(low, float(frame["lower"].min()))
    for axes, (name, part) in zip(grid, parts, strict=True):
        _bins(axes, part, low, bottom)
        axes.set_title(shorten(str(name), 36))
    grid[0].set_ylabel(ylabel)
    footnote(figure, xlabel, "dashed: perfect calibration")
    return figure


def _bins(axes: Axes, part: pd.DataFrame, low: float, bottom: float) -> None:
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
