"""Sensitivity against specificity: where each judge stands, and what that makes of Youden's J."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray

from bayesjudge.errors import UsageError
from bayesjudge.estimates import Estimates
from bayesjudge.estimates.selection import Selection, bayes_first, select
from bayesjudge.estimates.table import is_bayesian, method_words
from bayesjudge.plots.forest import draw_rows, rows_height
from bayesjudge.plots.palette import GRID, INK, MUTED, PAPER, Style, styles
from bayesjudge.plots.theme import SMALL, WIDTH, canvas, footnote, grid_of, legend_columns, panels_of, shorten, themed

type Array = NDArray[np.float64]
ENDS = ["point", "lower", "upper"]
#: Values of J whose lines are drawn.
ISO = np.arange(-0.8, 0.81, 0.2)


@themed
def judge_quality(estimates: Estimates, *, methods: Sequence[str] | None = None) -> Figure:
    """Sensitivity against specificity of each judge on each model, with both intervals.

    Parameters
    ----------
    estimates : Estimates
        Rows of ``sensitivity`` and ``specificity``, one unit a model; a panel for each judge.
    methods : sequence of str, optional
        By default the first Bayesian method and the first baseline.

    Returns
    -------
    matplotlib.figure.Figure
        A cross for each model; thin lines join points of equal J = sensitivity + specificity − 1. On the
        line J = 0 a verdict says nothing about the answer.

    Raises
    ------
    UsageError
        No row has both quantities, or a method has none.

    Examples
    --------
    >>> rows = [{"estimand": name, "unit": "a", "method": "bayes:x", "point": 0.8, "lower": 0.7, "upper": 0.9}
    ...         for name in ("sensitivity", "specificity")]
    >>> judge_quality(Estimates.from_rows(rows)).axes[0].get_xlabel()
    'Specificity'
    """
    wide = _wide(estimates)
    order = bayes_first(wide["method"])
    if methods is None:
        methods = [next((m for m in order if is_bayesian(m) == bayes), "") for bayes in (True, False)]
    elif missing := [method for method in methods if method not in order]:
        raise UsageError(f"no sensitivity and specificity by {missing[0]!r}; there are {order}")
    wide = wide[wide["method"].isin(list(methods))]
    judges = list(dict.fromkeys(wide["judge"]))
    down, across = grid_of(len(judges), 2)
    # Room for the names next to the panel.
    most = int(wide.groupby("judge")["name"].nunique().max())
    height = float(np.clip(0.16 * most + 0.8, 3.7 if across > 1 else 5.2, 12.0))
    figure = canvas(down * height + 0.6, width=WIDTH if across > 1 else 7.6)
    # Room at the left: the layout does not see the labels of panels that keep their aspect.
    figure.set_layout_engine("constrained", rect=(0.02, 0.0, 0.96, 1.0))
    grid = panels_of(figure, len(judges), (down, across))
    # The lower end of both axes: all intervals, and enough of the plane to see the line of chance.
    ends = wide[["lower_x", "lower_y", "point_x", "point_y"]].to_numpy(dtype=float)
    low = float(np.floor(np.clip(np.nanmin(ends), 0.0, 0.4) * 10) / 10)
    for axes, judge in zip(grid, judges, strict=True):
        _panel(axes, wide[wide["judge"] == judge], [m for m in order if m in methods], low)
        axes.set_title(shorten(f"Judge {judge}", 44) if judge else "")
    handles, names = grid[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper left", ncols=3)
    footnote(figure, "lines of equal J = sensitivity + specificity − 1")
    return figure


def _wide(estimates: Estimates) -> pd.DataFrame:
    """One row a judge, model and method, with both quantities side by side."""
    keys = ["judge", "group", "unit", "method"]
    sides = [estimates.where(estimand=name).frame for name in ("sensitivity", "specificity")]
    kept = [side.dropna(subset=["point"]).drop_duplicates(keys)[keys + ENDS] for side in sides]
    wide = kept[0].merge(kept[1], on=keys, suffixes=("_y", "_x"))
    if wide.empty:
        raise UsageError("no model has both a sensitivity and a specificity to draw")
    several = len(wide["group"].unique()) > 1
    return wide.assign(name=wide["unit"] + " · " + wide["group"] if several else wide["unit"])


def _panel(axes: Axes, mine: pd.DataFrame, methods: Sequence[str], low: float) -> None:
    _iso_lines(axes, low)
    for method, style in styles(methods).items():
        _crosses(axes, mine[mine["method"] == method], method, style)
    leading = mine[mine["method"] == methods[0]]
    _names(axes, leading if len(leading) else mine, low)
    axes.set(xlim=(low, 1.0), ylim=(low, 1.0), aspect="equal", xlabel="Specificity", ylabel="Sensitivity")
    axes.yaxis.set_tick_params(labelcolor=MUTED)


def _crosses(axes: Axes, rows: pd.DataFrame, method: str, style: Style) -> None:
    x, y = rows["point_x"], rows["point_y"]
    width = style.width * 0.65
    axes.hlines(y, rows["lower_x"], rows["upper_x"], colors=style.colour, linewidth=width, alpha=0.6)
    axes.vlines(x, rows["lower_y"], rows["upper_y"], colors=style.colour, linewidth=width, alpha=0.6)
    axes.plot(
        x,
        y,
        style.marker,
        markersize=5.5,
        markeredgecolor=PAPER,
        markeredgewidth=0.7,
        color=style.colour,
        label=method_words(method),
        zorder=4,
    )


def _iso_lines(axes: Axes, low: float) -> None:
    """Lines of equal J, named where they leave the panel at its left or lower edge."""
    axes.plot([low, 1.0], [1 - low, 0.0], color=MUTED, linewidth=1.1, zorder=1, linestyle=(0, (4, 2)))
    lines = [[(low, youden + 1 - low), (1.0, youden)] for youden in ISO if abs(youden) > 1e-9]
    axes.add_collection(LineCollection(lines, colors=GRID, linewidths=0.8, zorder=1))
    for youden in ISO:
        chance = abs(youden) < 1e-9
        x, y = (low, youden + 1 - low) if youden < low else (youden, 1.0)
        if low < y and x < 0.99:
            name = "J = 0, chance" if chance else f"J = {youden:.1f}".replace("-", "−")
            axes.text(
                x + 0.012,
                y - 0.012,
                name,
                fontsize=7,
                color=MUTED,
                rotation=-45,
                va="bottom",
                ha="left",
                rotation_mode="anchor",
                in_layout=False,
            )


def _names(axes: Axes, rows: pd.DataFrame, low: float) -> None:
    """Names in a column next to the panel, in the order of their points, each joined to its own."""
    rows = rows.sort_values("point_y", ascending=False)
    span = 1.0 - low
    gap = span / max(len(rows) + 1, 21)
    heights = spread(rows["point_y"].to_numpy(dtype=float), gap, low, 1.0)
    edge = 1.0 + 0.03 * span
    for name, height in zip(rows["name"], heights, strict=True):
        axes.text(edge, height, shorten(str(name), 28), fontsize=SMALL, va="center", color=INK)
    # One artist for all lines: arrows of annotations took a tenth of a large page's time.
    ends = zip(rows["point_x"], rows["point_y"], heights, strict=True)
    lines = [[(edge, height), (x, y)] for x, y, height in ends]
    axes.add_collection(LineCollection(lines, colors=MUTED, linewidths=0.5, alpha=0.7, clip_on=False))


def spread(wanted: Array, gap: float, low: float, high: float) -> Array:
    """Heights in descending order at least ``gap`` apart, near those wanted and within the panel if they fit."""
    if not len(wanted):
        return wanted
    steps: Array = -gap * np.arange(len(wanted), dtype=np.float64)
    target = wanted - steps
    blocks: list[tuple[float, int]] = []
    for value in target:  # pool adjacent violators: the nearest non-increasing sequence
        mean, size = float(value), 1
        while blocks and blocks[-1][0] < mean:
            before, many = blocks.pop()
            mean, size = (before * many + mean * size) / (many + size), many + size
        blocks.append((mean, size))
    near = np.concatenate([np.full(size, mean, dtype=np.float64) for mean, size in blocks])
    return np.asarray(np.clip(near, low - steps[-1], high) + steps)


@themed
def youden(estimates: Estimates, *, methods: tuple[str, ...] | None = None, most: int = 12) -> Figure:
    """J for each model next to ΔJ for each pair of models.

    Parameters
    ----------
    estimates : Estimates
        Rows of ``youden`` and, for two models or more, of ``delta_youden``.
    methods : tuple of str, optional
        Only these; ``"bayes:"`` represents all Bayesian methods. A method with rows of only one of the two
        estimands is drawn there.
    most : int
        Most pairs shown, those with the largest |ΔJ|.

    Returns
    -------
    matplotlib.figure.Figure
        Left J with its line at 0, where verdicts say nothing; right ΔJ, whose intervals should reach 0 before
        one model's labels may calibrate the judge for another (seed paper, section 4.4).

    Raises
    ------
    UsageError
        There are no rows of ``youden``.

    Examples
    --------
    >>> row = {"estimand": "youden", "unit": "a", "method": "mle", "point": 0.5, "lower": 0.4, "upper": 0.6}
    >>> len(youden(Estimates.from_rows([row])).axes)
    1
    """
    parts = [_part(estimates, name, methods, most) for name in ("youden", "delta_youden")]
    chosen = [part for part in parts if part is not None]
    names = list(dict.fromkeys(method for part in chosen for method in part.methods))
    figure = canvas(max(rows_height(part) for part in chosen) + 0.35 + 0.35 * len(names) / legend_columns(names) + 0.6)
    panels = figure.subplots(1, len(chosen), squeeze=False)[0]
    for axes, part in zip(panels, chosen, strict=True):
        draw_rows(axes, part, reference=0.0)
        axes.set_xlabel(part.axis_label)
    handles: dict[str, Artist] = {}
    for axes in panels:
        handles |= {str(name): handle for handle, name in zip(*axes.get_legend_handles_labels(), strict=True)}
    columns = legend_columns(names)
    figure.legend(list(handles.values()), list(handles), loc="outside upper left", ncols=columns)
    footnote(figure, *dict.fromkeys(note for part in chosen for note in part.notes))
    return figure


def _part(estimates: Estimates, estimand: str, methods: tuple[str, ...] | None, most: int) -> Selection | None:
    """Rows of one estimand; None where a single model leaves no pair to compare."""
    present = estimates.where(estimand=estimand)
    if estimand != "youden" and not len(present):
        return None
    names = set(present.frame["method"])
    wanted = None if methods is None else [m for m in methods if m == "bayes:" or m in names]
    return select(present, estimand=estimand, methods=wanted, most=most)
