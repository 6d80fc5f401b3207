"""Predictive checks: what was observed next to what the model predicts and what resampling the data gives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayesjudge.errors import UsageError
from bayesjudge.plots.palette import BASELINE, BAYES, FLAG, GRID, INK
from bayesjudge.plots.theme import bare, canvas, footnote, shorten, themed

NEEDED = (
    "statistic",
    "unit",
    "observed",
    "mean",
    "lower",
    "upper",
    "p_value",
    "bootstrap_lower",
    "bootstrap_upper",
    "flagged",
)
ROW = 0.2


@themed
def predictive(frame: pd.DataFrame, *, most: int = 16) -> Figure:
    """Observed statistics with their predictive and bootstrap intervals, a panel for each statistic.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns ``statistic, unit, observed, mean, lower, upper, p_value, bootstrap_lower, bootstrap_upper,
        flagged`` (as in `bayesjudge.checks.PredictiveCheck`), optionally ``judge`` and ``method``.
    most : int
        Most units shown of one statistic: flagged ones first, then those with the smallest p-value.

    Returns
    -------
    matplotlib.figure.Figure
        The observed value as a stroke, its posterior predictive interval above and its bootstrap interval
        below; flagged rows carry their p-value and stand out.

    Raises
    ------
    UsageError
        A column is missing, or there are no rows.

    Examples
    --------
    >>> frame = pd.DataFrame([dict(zip(NEEDED, ("rate", "a", 0.5, 0.5, 0.4, 0.6, 0.8, 0.45, 0.55, False)))])
    >>> predictive(frame).axes[0].get_title(loc="left")
    'rate'
    """
    missing = [name for name in NEEDED if name not in frame.columns]
    if missing or frame.empty:
        raise UsageError(f"a predictive check needs rows with columns {list(NEEDED)}; missing {missing}")
    frame = frame.assign(label=_labels(frame), panel=_panels(frame))
    parts = {str(name): part for name, part in frame.groupby("panel", sort=False)}
    kept = {name: _worst(part, most) for name, part in parts.items()}
    figure, grid = _layout(kept)
    for axes, (name, part) in zip(grid, kept.items(), strict=True):
        _panel(axes, part)
        axes.set_title("\n".join(shorten(line, 46) for line in name.split("\n")), fontsize=8.4)
    handles, names = grid[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper left", ncols=3)
    flagged = int(frame["flagged"].sum())
    hidden = len(frame) - sum(len(part) for part in kept.values())
    omitted = f"{hidden} with larger p-values not shown" if hidden else ""
    footnote(figure, f"{flagged} of {len(frame)} statistics flagged", omitted)
    return figure


def _labels(frame: pd.DataFrame) -> pd.Series:
    judge = frame["judge"].astype(str) if "judge" in frame else pd.Series("", index=frame.index)
    return frame["unit"].astype(str) + (" · " + judge if len(judge.unique()) > 1 else "")


def _panels(frame: pd.DataFrame) -> pd.Series:
    """A panel a statistic; also a model, where several were checked."""
    statistic = frame["statistic"].astype(str).str.replace("_", " ")
    if "method" not in frame or frame["method"].nunique() < 2:
        return statistic
    return statistic + "\n" + frame["method"].astype(str)


def _worst(part: pd.DataFrame, most: int) -> pd.DataFrame:
    order = part.sort_values(["flagged", "p_value"], ascending=[False, True], kind="stable").index[:most]
    return part[part.index.isin(order)]


def _layout(kept: dict[str, pd.DataFrame]) -> tuple[Figure, list[Axes]]:
    """Panels two abreast in one grid whose rows are as high as their fullest panel."""
    sizes = [len(part) for part in kept.values()]
    across = 1 if len(sizes) == 1 else 2
    frame = 0.7 if any("\n" in name for name in kept) else 0.55
    heights = [max(sizes[k : k + across]) * ROW + frame for k in range(0, len(sizes), across)]
    figure = canvas(sum(heights) + 0.55)
    grid = figure.add_gridspec(len(heights), across, height_ratios=heights)
    return figure, [figure.add_subplot(grid[divmod(k, across)]) for k in range(len(sizes))]


def _panel(axes: Axes, part: pd.DataFrame) -> None:
    y = np.arange(len(part), dtype=float)
    flagged = part["flagged"].to_numpy(dtype=bool)
    for row in y[flagged]:
        axes.axhspan(row - 0.5, row + 0.5, color=FLAG, alpha=0.1, linewidth=0)
    axes.hlines(y[1:] - 0.5, 0, 1, transform=axes.get_yaxis_transform(), colors=GRID, linewidth=0.6)
    axes.hlines(y - 0.17, part["lower"], part["upper"], colors=BAYES[0], linewidth=2.2, label="posterior predictive")
    axes.plot(part["mean"], y - 0.17, linestyle="none", marker="o", markersize=3.6, color=BAYES[0])
    if part["bootstrap_lower"].notna().any():
        axes.hlines(
            y + 0.2,
            part["bootstrap_lower"],
            part["bootstrap_upper"],
            colors=BASELINE[0],
            linewidth=1.6,
            label="bootstrap of the data",
        )
    for chosen, colour, name in ((~flagged, INK, "observed"), (flagged, FLAG, None)):
        axes.plot(
            part["observed"][chosen],
            y[chosen],
            linestyle="none",
            marker="|",
            markersize=11,
            markeredgewidth=1.5,
            color=colour,
            label=name,
            zorder=4,
        )
    bare(axes).set_ylim(len(part) - 0.5, -0.5)
    axes.set_yticks(y, _tick_names(part))
    for text, bad in zip(axes.get_yticklabels(), flagged, strict=True):
        text.set_color(FLAG if bad else INK)
    axes.margins(x=0.05)
    axes.locator_params(axis="x", nbins=5)


def _tick_names(part: pd.DataFrame) -> Sequence[str]:
    """Names of the units, flagged ones with their p-value."""
    rows = zip(part["label"], part["flagged"], part["p_value"], strict=True)
    return [
        shorten(name, 34) + (f"  p {'< .001' if p < 0.001 else f'= {p:.3f}'}" if bad else "") for name, bad, p in rows
    ]
