"""Which items a judge keeps changing its mind about: bars of flip rates, and their means by category."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bayesjudge.errors import UsageError
from bayesjudge.plots.heat_map import draw_heat_map
from bayesjudge.plots.palette import BASELINE, BAYES, FLAG, INK, PAPER
from bayesjudge.plots.theme import WIDTH, bare, canvas, footnote, legend_columns, short_names, shorten, themed

__all__ = ["category_flips", "flip_bars"]

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
    for k, judge in enumerate(judges):
        mine = frame[frame["judge"] == judge].drop_duplicates("item").set_index("item").reindex(items)
        y = np.arange(len(items)) + (k - (len(judges) - 1) / 2) * width
        hatch = HATCHES[k // len(JUDGES) % len(HATCHES)]
        axes.barh(y, mine["flip_rate"], height=width, color=JUDGES[k % len(JUDGES)], hatch=hatch,
                  edgecolor=PAPER, linewidth=0, label=shorten(str(judge)))  # fmt: skip
        if {"flip_rate_lower", "flip_rate_upper"} <= set(mine.columns):
            axes.hlines(y, mine["flip_rate_lower"], mine["flip_rate_upper"], color=INK, linewidth=0.9)
    axes.set_yticks(range(len(items)), short_names(items, 34), fontsize=7.6)
    axes.set_ylim(len(items) - 0.4, -0.6)
    axes.set_xlim(0, max(0.5, float(frame["flip_rate"].max())) * 1.04)
    if len(judges) > 1:
        figure.legend(loc="outside upper left", ncols=legend_columns([str(judge) for judge in judges]))
    hidden = len(mean) - len(items)
    footnote(figure, "flip rate, the share of trials outside the majority; band: the coin-flip zone",
             f"{hidden} more stable items not shown" if hidden > 0 else "")  # fmt: skip
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
    draw_heat_map(axes, table.to_numpy(dtype=float), rows=[str(name) for name in table.index],
                  columns=columns, most=most)  # fmt: skip
    if len(columns) > 2:
        axes.set_xticks(np.arange(len(columns)) + 0.5, columns, rotation=60, ha="left", fontsize=7.8)
    footnote(figure, "mean flip rate")
    return figure
