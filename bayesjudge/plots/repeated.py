"""Repeated judging: scores against verdicts, two conditions side by side, and layers of variance."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayesjudge.errors import UsageError
from bayesjudge.plots.matrices import draw_heat_map
from bayesjudge.plots.palette import BASELINE, BAYES, FLAG, GRID, INK, MISSING, MUTED, PAPER
from bayesjudge.plots.theme import (
    WIDTH,
    bare,
    canvas,
    footnote,
    grid_of,
    legend_columns,
    panels_of,
    short_names,
    shorten,
    themed,
)

#: Points apart below which scores hardly differ: twice the mean gaps that the paper found.
SMALL_GAP = 0.5
_COLUMNS = 3
#: Words inside bars: light in every theme, since the bars keep their colours.
_WORD = "#fdfdfd"


@themed
def gap_scatter(frame: pd.DataFrame) -> Figure:
    """Flip rate of each item against the gap between its responses' mean scores.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``judge, item, gap, flip_rate``.

    Returns
    -------
    matplotlib.figure.Figure
        The shaded corner has verdicts that flip although, or because, the scores hardly differ.

    Raises
    ------
    UsageError
        Nothing to draw.

    Examples
    --------
    >>> frame = pd.DataFrame({"judge": "j", "item": ["p", "q"], "gap": [0.1, 2.0], "flip_rate": [0.4, 0.0]})
    >>> gap_scatter(frame).axes[0].get_xlabel()
    'gap between mean scores'
    """
    _require(frame, "items with both verdicts and scores of two responses")
    figure = canvas(3.8, width=0.7 * WIDTH)
    axes = bare(figure.add_subplot(), grid="both")
    axes.axvspan(0, SMALL_GAP, color=FLAG, alpha=0.06, linewidth=0)
    judges = list(dict.fromkeys(frame["judge"]))
    for k, judge in enumerate(judges):
        mine = frame[frame["judge"] == judge]
        axes.scatter(
            mine["gap"],
            mine["flip_rate"],
            s=22,
            color=JUDGES[k % len(JUDGES)],
            alpha=0.75,
            linewidth=0,
            label=shorten(str(judge)),
        )
    axes.set_xlim(left=0)
    axes.set_ylim(-0.02, max(0.5, float(frame["flip_rate"].max())) * 1.05)
    axes.set_xlabel("gap between mean scores")
    axes.set_ylabel("flip rate")
    if len(judges) > 1:
        figure.legend(loc="outside upper left", ncols=legend_columns([str(judge) for judge in judges]))
    footnote(figure, f"shaded: scores less than {SMALL_GAP:g} points different")
    return figure


@themed
def slopegraphs(frame: pd.DataFrame, *, most: int = 9) -> Figure:
    """Flip rates of the same items under two conditions, one panel a judge and pair of conditions.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``judge, first, second, item, first_flip_rate, second_flip_rate, first_majority, second_majority``.
    most : int
        Most panels.

    Returns
    -------
    matplotlib.figure.Figure
        A line an item; marked ones change their majority; the thick line is the mean.

    Raises
    ------
    UsageError
        Nothing to draw.

    Examples
    --------
    >>> frame = pd.DataFrame({"judge": "j", "first": "T = 0", "second": "T = 1", "item": ["p", "q"],
    ...     "first_flip_rate": [0.0, 0.1], "second_flip_rate": [0.1, 0.4], "first_majority": "a",
    ...     "second_majority": ["a", "b"]})
    >>> [text.get_text() for text in slopegraphs(frame).axes[0].get_xticklabels()]
    ['T = 0', 'T = 1']
    """
    _require(frame, "items tried under two conditions")
    panels = list(frame.groupby(["judge", "first", "second"], sort=False))[:most]
    down, across = grid_of(len(panels), _COLUMNS)
    figure = canvas(2.6 * down + 0.4)
    grid = panels_of(figure, len(panels), (down, across), sharey=True)
    for axes, ((judge, first, second), rows) in zip(grid, panels, strict=True):
        _slopes(axes, rows)
        axes.set_xticks([0, 1], short_names((first, second), 22))
        axes.set_title(shorten(str(judge), 34), fontsize=8.4)
    footnote(figure, "flip rate of each item; marked: its majority changes; thick: mean")
    return figure


def _slopes(axes: Axes, rows: pd.DataFrame) -> None:
    changed = (rows["first_majority"] != rows["second_majority"]).to_numpy(dtype=bool)
    ends = rows[["first_flip_rate", "second_flip_rate"]].to_numpy(dtype=float)
    for kept, colour in ((~changed, MISSING), (changed, FLAG)):
        axes.plot([0, 1], ends[kept].T, color=colour, linewidth=0.9, alpha=0.7)
    axes.plot([0, 1], ends.mean(axis=0), color=BAYES[0], linewidth=2.6)
    axes.set_xlim(-0.15, 1.15)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.spines["left"].set_visible(False)


@themed
def variance_layers(frame: pd.DataFrame, *, footer: str = "share of the variance") -> Figure:
    """Stacked bars of shares that add up to 1.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``unit, layer, share``: one bar a unit, one piece a layer, in the frame's order.
    footer : str
        What the shares are of.

    Raises
    ------
    UsageError
        Nothing to draw.

    Examples
    --------
    >>> frame = pd.DataFrame({"unit": "j", "layer": ["response", "residual"], "share": [0.7, 0.3]})
    >>> [text.get_text() for text in variance_layers(frame).axes[0].texts]
    ['.70', '.30']
    """
    _require(frame, "shares of variance")
    units, layers = list(dict.fromkeys(frame["unit"])), list(dict.fromkeys(frame["layer"]))
    table = frame.pivot_table(index="unit", columns="layer", values="share").reindex(units)[layers].fillna(0)
    figure = canvas(0.32 * len(units) + 1.1)
    axes = bare(figure.add_subplot(), grid=None)
    left = np.zeros(len(units))
    for k, layer in enumerate(layers):
        width = table[layer].to_numpy(dtype=float)
        axes.barh(np.arange(len(units)), width, left=left, height=0.66, color=JUDGES[k % len(JUDGES)], label=str(layer))
        for row in np.flatnonzero(width >= 0.05):
            word = f"{width[row]:.2f}".removeprefix("0")
            axes.text(left[row] + width[row] / 2, float(row), word, ha="center", va="center", fontsize=8, color=_WORD)
        left += width
    axes.set_yticks(range(len(units)), short_names(units, 40), fontsize=8.4)
    axes.set_ylim(len(units) - 0.4, -0.6)
    axes.set_xlim(0, 1)
    axes.tick_params(axis="x", colors=MUTED)
    figure.legend(loc="outside upper left", ncols=len(layers))
    footnote(figure, footer)
    return figure


def _require(frame: pd.DataFrame, what: str) -> None:
    if frame.empty:
        raise UsageError(f"there are no {what} to draw")


#: Colours of up to six judges; further ones take them again, hatched.
JUDGES = (BAYES[0], BASELINE[0], BAYES[2], BASELINE[1], BAYES[3], BASELINE[3])
HATCHES = ("", "////", "xxxx")
#: Flip rates that the paper calls the coin-flip danger zone.
DANGER = (0.4, 0.5)


@themed
def flip_bars(frame: pd.DataFrame, *, most: int = 40) -> Figure:
    """Flip rate of each item, one bar a judge, the most unstable items first.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``item, judge, flip_rate`` and, where there are intervals, ``flip_rate_lower, flip_rate_upper``.
    most : int
        Most items shown.

    Returns
    -------
    matplotlib.figure.Figure
        With the paper's coin-flip zone, .4 to .5, shaded.

    Raises
    ------
    UsageError
        No items.

    Examples
    --------
    >>> frame = pd.DataFrame({"item": ["p", "q"], "judge": "j", "flip_rate": [0.1, 0.4]})
    >>> [text.get_text() for text in flip_bars(frame).axes[0].get_yticklabels()]
    ['q', 'p']
    """
    if frame.empty:
        raise UsageError("there are no items whose flip rates could be drawn")
    mean = frame.groupby("item")["flip_rate"].mean().sort_values(ascending=False, kind="stable")
    items, judges = list(mean.index[:most]), list(dict.fromkeys(frame["judge"]))
    width = 0.8 / len(judges)
    figure = canvas(len(items) * max(0.16, 0.085 * len(judges)) + 0.9)
    axes = bare(figure.add_subplot())
    axes.axvspan(*DANGER, color=FLAG, alpha=0.10, linewidth=0)
    intervals = {"flip_rate_lower", "flip_rate_upper"} <= set(frame.columns)
    for k, judge in enumerate(judges):
        mine = frame[frame["judge"] == judge].drop_duplicates("item").set_index("item").reindex(items)
        y = np.arange(len(items)) + (k - (len(judges) - 1) / 2) * width
        hatch = HATCHES[k // len(JUDGES) % len(HATCHES)]
        axes.barh(
            y,
            mine["flip_rate"],
            height=width,
            color=JUDGES[k % len(JUDGES)],
            hatch=hatch,
            edgecolor=PAPER,
            linewidth=0,
            label=shorten(str(judge)),
        )
        if intervals:
            axes.hlines(y, mine["flip_rate_lower"], mine["flip_rate_upper"], color=INK, linewidth=0.9)
    axes.set_yticks(range(len(items)), short_names(items, 34), fontsize=7.6)
    axes.set_ylim(len(items) - 0.4, -0.6)
    ends = frame.loc[frame["item"].isin(items), ["flip_rate", "flip_rate_upper"] if intervals else ["flip_rate"]]
    axes.set_xlim(0, np.nanmax(ends.to_numpy(dtype=float), initial=0.5) * 1.02)
    if len(judges) > 1:
        figure.legend(loc="outside upper left", ncols=legend_columns([str(judge) for judge in judges]))
    hidden = len(mean) - len(items)
    footnote(
        figure,
        "flip rate, the share of trials outside the majority; band: the coin-flip zone",
        f"{hidden} more stable items not shown" if hidden > 0 else "",
    )
    return figure


@themed
def category_flips(frame: pd.DataFrame) -> Figure:
    """Heat map of mean flip rates, judges by categories, the most unstable category first.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``item, judge, category, flip_rate``.

    Raises
    ------
    UsageError
        No item has a category.

    Examples
    --------
    >>> frame = pd.DataFrame({"judge": "j", "category": ["math", "code"], "flip_rate": [0.1, 0.4]})
    >>> [text.get_text() for text in category_flips(frame).axes[0].texts]
    ['.40', '.10']
    """
    known = frame[frame["category"].notna()]
    if known.empty:
        raise UsageError("no item has a category; name the column with columns={'category': ...}")
    table = known.pivot_table(index="category", columns="judge", values="flip_rate", aggfunc="mean")
    table = table.loc[table.mean(axis=1).sort_values(ascending=False, kind="stable").index]
    figure = canvas(0.3 * len(table) + 1.3, width=min(WIDTH, 0.9 * len(table.columns) + 3.2))
    axes = figure.subplots()
    most = max(float(np.nanmax(table.to_numpy())), 0.05)
    columns = short_names(table.columns, 24)
    draw_heat_map(
        axes, table.to_numpy(dtype=float), rows=[str(name) for name in table.index], columns=columns, most=most
    )
    if len(columns) > 2:
        axes.set_xticks(np.arange(len(columns)) + 0.5, columns, rotation=60, ha="left", fontsize=7.8)
    footnote(figure, "mean flip rate")
    return figure
