"""Figures of an audit: trust in single verdicts, where they lie, and how the answer moves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayesjudge.errors import UsageError
from bayesjudge.estimates.table import method_words
from bayesjudge.plots.palette import BASELINE, BAYES, BAYES_SOFT, FLAG, GRID, MUTED, styles
from bayesjudge.plots.theme import bare, canvas, footnote, legend_columns, short_names, shorten, themed


@themed
def trust_scores(trust: pd.DataFrame, held_out: pd.DataFrame | None = None, *, kind: str = "unverified") -> Figure:
    """Distribution of trust, by what people said where they did, and every verdict's trust in order.

    Parameters
    ----------
    trust : pandas.DataFrame
        One row a verdict: ``trust, lower, upper, flip``.
    held_out : pandas.DataFrame, optional
        Verified verdicts: ``score`` (trust by a model fitted without them) and ``agrees``.
    kind : {"unverified", "verified"}
        What the rows of ``trust`` are; verified ones are drawn by what people said alone.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    UsageError
        No verdicts.

    Examples
    --------
    >>> frame = pd.DataFrame({"trust": [0.2, 0.9], "lower": [0.1, 0.8], "upper": [0.4, 1.0], "flip": False})
    >>> trust_scores(frame).axes[1].get_ylabel()
    'P(people agree)'
    """
    if trust.empty:
        raise UsageError(f"there are no {kind} verdicts whose trust could be drawn")
    figure = canvas(3.0)
    left, right = figure.subplots(1, 2)
    edges = np.linspace(0, 1, 26)
    parts = [(kind, trust["trust"].to_numpy(), MUTED)] if kind == "unverified" else []
    if held_out is not None and len(held_out):
        for value, name, colour in ((1, "people agree", BAYES[0]), (0, "people disagree", BASELINE[0])):
            mine = held_out.loc[held_out["agrees"] == value, "score"].dropna().to_numpy()
            parts += [(f"held out, {name}", mine, colour)] if len(mine) else []
    for name, values, colour in parts:
        height, _ = np.histogram(values, bins=edges)
        left.stairs(height / len(values) / (edges[1] - edges[0]), edges, color=colour, label=name, linewidth=1.5)
    bare(left).set_xlabel("P(people agree)")
    left.set_ylabel("density")
    left.legend(loc="upper center")
    _ordered(right, trust, kind)
    footnote(figure, f"{int(trust['flip'].sum())} of {len(trust)} reversed verdicts; dotted: one half")
    return figure


def _ordered(axes: Axes, trust: pd.DataFrame, kind: str) -> None:
    """Trust with its interval, verdicts in order of trust."""
    rows = trust.sort_values("trust", kind="stable")
    place, flip = np.arange(len(rows)), rows["flip"].to_numpy(dtype=bool)
    axes.fill_between(place, rows["lower"], rows["upper"], color=BAYES_SOFT, linewidth=0, step="mid")
    for chosen, colour, name in ((~flip, BAYES[0], "kept"), (flip, FLAG, "reversed")):
        if chosen.any():
            axes.plot(place[chosen], rows["trust"][chosen], ".", markersize=2.5, color=colour, label=name)
    axes.axhline(0.5, color=MUTED, linewidth=1, linestyle=(0, (1, 2)))
    bare(axes, grid="y").set_ylim(-0.02, 1.02)
    axes.set_xlabel(f"{kind} verdicts, in order")
    axes.set_ylabel("P(people agree)")
    axes.legend(loc="upper left", markerscale=3)


@themed
def trust_map(trust: pd.DataFrame) -> Figure:
    """Verdicts among the first two principal directions, coloured by trust.

    Parameters
    ----------
    trust : pandas.DataFrame
        ``direction_1, direction_2, trust, flip``.

    Raises
    ------
    UsageError
        No directions: the table has no embeddings.

    Examples
    --------
    >>> frame = pd.DataFrame({"direction_1": [0.0], "direction_2": [1.0], "trust": [0.7], "flip": [False]})
    >>> trust_map(frame).axes[0].get_xlabel()
    'direction 1'
    """
    if not {"direction_1", "direction_2"} <= set(trust.columns):
        raise UsageError("there are no two directions to draw: the table has no embeddings")
    figure = canvas(3.6, width=5.2)
    axes = figure.subplots()
    flip = trust["flip"].to_numpy(dtype=bool)
    sizes = np.clip(4000 / len(trust), 4, 30)
    for chosen, marker, name in ((~flip, "o", "kept"), (flip, "X", "reversed")):
        # In the legend only: in the drawing, colour is trust.
        axes.plot([], [], marker, color=MUTED, markersize=4, label=name)
        if chosen.any():
            drawn = axes.scatter(
                trust["direction_1"][chosen],
                trust["direction_2"][chosen],
                s=sizes,
                c=trust["trust"][chosen],
                cmap="RdYlBu",
                vmin=0,
                vmax=1,
                marker=marker,
                edgecolors=MUTED,
                linewidths=0.3,
            )
    bar = figure.colorbar(drawn, ax=axes, label="P(people agree)", shrink=0.8)
    # A page takes shapes, no embedded images; past 50 colours a colour bar would be one.
    if bar.solids is not None:
        bar.solids.set_rasterized(False)
    bare(axes, grid="both")
    axes.set_xlabel("direction 1")
    axes.set_ylabel("direction 2")
    axes.legend(loc="best")
    return figure


@themed
def sensitivity_curves(frame: pd.DataFrame, *, over: str, xlabel: str) -> Figure:
    """Held-out consistency before and after an audit, and its flips, over one setting.

    Parameters
    ----------
    frame : pandas.DataFrame
        Column ``over`` and ``before, after, flips``.
    over, xlabel : str
        The setting's column and its name.

    Raises
    ------
    UsageError
        No rows.

    Examples
    --------
    >>> frame = pd.DataFrame({"share": [0.5, 0.9], "before": 0.8, "after": [0.5, 0.7], "flips": [0.5, 0.1]})
    >>> len(sensitivity_curves(frame, over="share", xlabel="s").axes[0].lines)
    3
    """
    if frame.empty:
        raise UsageError(f"there are no values of {xlabel} to draw")
    figure = canvas(2.6, width=5.2)
    axes = bare(figure.subplots(), grid="both")
    shown = (
        ("after", BAYES[0], "o", "consistency after"),
        ("before", MUTED, "", "consistency before"),
        ("flips", BASELINE[0], "s", "share flipped"),
    )
    for name, colour, marker, label in shown:
        axes.plot(frame[over], frame[name], color=colour, marker=marker, markersize=4, label=label)
    axes.set_xlabel(xlabel)
    axes.set_ylim(-0.02, 1.02)
    figure.legend(loc="outside upper left", ncols=3)
    return figure


@themed
def consistency_dots(frame: pd.DataFrame, *, panels: Sequence[str]) -> Figure:
    """Consistency of each method by category, one panel for each estimand (an attack, or held-out pairs).

    Parameters
    ----------
    frame : pandas.DataFrame
        ``estimand, unit, method, point, lower, upper``.
    panels : sequence of str
        Estimands to draw.

    Raises
    ------
    UsageError
        No such rows.

    Examples
    --------
    >>> row = {"estimand": "consistency", "unit": "all", "method": "judge", "point": 0.7, "lower": 0.6}
    >>> figure = consistency_dots(pd.DataFrame([{**row, "upper": 0.8}]), panels=["consistency"])
    >>> figure.axes[0].get_title(loc="left")
    'consistency'
    """
    frame = frame[frame["estimand"].isin(list(panels))]
    if frame.empty:
        raise UsageError(f"there is no estimand among {list(panels)}")
    units, looks = list(dict.fromkeys(frame["unit"])), styles(list(dict.fromkeys(frame["method"])))
    there = [name for name in panels if (frame["estimand"] == name).any()]
    figure = canvas(0.32 * len(units) + 1.1)
    grid = figure.subplots(1, len(there), squeeze=False, sharey=True, sharex=True).flatten()
    for axes, name in zip(grid, there, strict=True):
        for k, (method, style) in enumerate(looks.items()):
            mine = frame[(frame["estimand"] == name) & (frame["method"] == method)]
            y = np.array([units.index(unit) for unit in mine["unit"]]) + 0.7 * ((k + 0.5) / len(looks) - 0.5)
            axes.hlines(y, mine["lower"], mine["upper"], colors=style.colour, linewidth=1.2)
            axes.plot(mine["point"], y, style.marker, markersize=4, label=method_words(method), color=style.colour)
        bare(axes).set_title(shorten(name, 36))
        axes.set_yticks(range(len(units)), short_names(units, 32))
        for edge in range(1, len(units)):
            axes.axhline(edge - 0.5, color=GRID, linewidth=0.6)
    grid[0].set_ylim(len(units) - 0.5, -0.5)
    handles, names = grid[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper left", ncols=legend_columns(names))
    return figure
