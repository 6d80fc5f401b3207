"""How many trials a majority needs: curves with bands, all items and by stratum."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayesjudge.errors import UsageError
from bayesjudge.estimates.selection import bayes_first
from bayesjudge.estimates.table import method_words
from bayesjudge.plots.palette import INK, MUTED, styles
from bayesjudge.plots.theme import bare, canvas, footnote, grid_of, legend_columns, panels_of, shorten, themed

_COLUMNS = 3
#: Line of each stratum.
_DASHES = {"all": "-", "easy": ":", "hard": "--"}


@themed
def reliability_curves(frame: pd.DataFrame, *, targets: tuple[float, ...] = (0.90, 0.95), most: int = 9) -> Figure:
    """P(majority of K trials is the reference) against K, one panel a judge and condition.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``judge, group, stratum, method, trials, point, lower, upper``; the band is drawn for ``all``.
    targets : tuple of float
        Horizontal lines.
    most : int
        Most panels.

    Returns
    -------
    matplotlib.figure.Figure
        Solid lines for all items, dotted for easy and dashed for hard ones; one colour a method.

    Raises
    ------
    UsageError
        Nothing to draw.

    Examples
    --------
    >>> frame = pd.DataFrame({"judge": "j", "group": "", "stratum": "all", "method": "exact",
    ...     "trials": [1, 3], "point": [0.8, 0.9], "lower": [0.7, 0.8], "upper": [0.9, 1.0]})
    >>> reliability_curves(frame).axes[0].get_title(loc="left")
    'j'
    """
    if frame.empty:
        raise UsageError("there are no reliability curves to draw")
    panels = list(frame.groupby(["judge", "group"], sort=False))[:most]
    methods = bayes_first(frame["method"])
    down, across = grid_of(len(panels), _COLUMNS)
    figure = canvas(2.5 * down + 0.7)
    grid = panels_of(figure, len(panels), (down, across), sharex=True, sharey=True)
    for axes, ((judge, group), rows) in zip(grid, panels, strict=True):
        _panel(axes, rows, methods, targets)
        axes.set_title(shorten(f"{judge}, {group}" if group else str(judge), 40), fontsize=8.4)
    # Panels share their axes: limits and ticks are those of all.
    ticks = [1, 3, 5, 11, 21, 51, 101]
    grid[0].set_xticks([tick for tick in ticks if tick <= frame["trials"].max()])
    grid[0].set_ylim(top=1.005)
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=legend_columns(labels))
    footnote(figure, "trials K (log scale)", "solid: all items, dotted: easy, dashed: hard")
    return figure


def _panel(axes: Axes, rows: pd.DataFrame, methods: list[str], targets: tuple[float, ...]) -> None:
    looks = styles(methods)
    bare(axes, grid="both")
    for method in methods:
        look = looks[method]
        ordered = rows[rows["method"] == method].sort_values("trials")
        for stratum, mine in ordered.groupby("stratum", sort=False):
            whole = stratum == "all"
            axes.plot(
                mine["trials"],
                mine["point"],
                color=look.colour,
                linestyle=_DASHES[str(stratum)],
                linewidth=look.width if whole else 1.0,
                label=method_words(method) if whole else None,
            )
            if whole:
                axes.fill_between(
                    mine["trials"], mine["lower"], mine["upper"], color=look.colour, alpha=0.16, linewidth=0
                )
    for target in targets:
        axes.axhline(target, color=MUTED, linewidth=0.7, linestyle=(0, (2, 3)))
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:.0f}")
    axes.minorticks_off()
    axes.tick_params(axis="x", colors=INK)
