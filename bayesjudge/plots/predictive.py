"""What a model predicts: next to what was observed and what resampling it gives, and of left-out observations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayesjudge.estimates.table import method_words
from bayesjudge.plots.palette import BASELINE, BAYES, FLAG, GRID, INK
from bayesjudge.plots.theme import bare, canvas, footnote, require_rows, short_names, shorten, themed

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
    require_rows(frame, NEEDED, "a predictive check needs")
    judge = frame["judge"].astype(str) if "judge" in frame else pd.Series("", index=frame.index)
    label = frame["unit"].astype(str) + (" · " + judge if len(judge.unique()) > 1 else "")
    frame = frame.assign(label=label, panel=_panels(frame))
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
    axes.plot(part["mean"], y - 0.17, "o", markersize=3.6, color=BAYES[0])
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
            "|",
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


LOO_NEEDED = ("model", "elpd_diff", "diff_se", "weight", "bad_k")


@themed
def loo_comparison(frame: pd.DataFrame) -> Figure:
    """Difference of each model's expected log predictive density to the best one's, with two standard errors.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns ``model, elpd_diff, diff_se, weight, bad_k`` (as in `bayesjudge.checks.ModelComparison`),
        optionally ``judge``, which gets a panel each, and ``best``, a panel for the models compared with each.

    Returns
    -------
    matplotlib.figure.Figure
        The best model at 0, the others to the left. An interval that reaches 0 is no evidence against a
        model. Red rows rest on observations whose Pareto k is too large.

    Raises
    ------
    UsageError
        A column is missing, or there are no rows.

    Examples
    --------
    >>> frame = pd.DataFrame({"model": ["a", "b"], "elpd_diff": [0.0, -5.0], "diff_se": [0.0, 2.0],
    ...                       "weight": [0.9, 0.1], "bad_k": [0, 0]})
    >>> [text.get_text() for text in loo_comparison(frame).axes[0].get_yticklabels()]
    ['a', 'b']
    """
    require_rows(frame, LOO_NEEDED, "a comparison needs")
    by = [name for name in ("judge", "best") if name in frame]
    parts = [part for _, part in frame.groupby(by, sort=False)] if by else [frame]
    judges = [part["judge"].iloc[0] if "judge" in part else "" for part in parts]
    figure = canvas(sum(len(part) * 0.3 + 0.55 for part in parts) + 0.3, width=8.4)
    ratios = [len(part) + 1 for part in parts]
    grid = figure.subplots(len(parts), 1, squeeze=False, height_ratios=ratios)[:, 0]
    for axes, judge, part in zip(grid, judges, parts, strict=True):
        _models(axes, part)
        axes.set_title(shorten(f"Judge {judge}", 44) if len(set(judges)) > 1 else "")
    footnote(
        figure, "difference of ELPD to the best model of the same observations (higher is better), ± 2 standard errors"
    )
    return figure


def _models(axes: Axes, part: pd.DataFrame) -> None:
    part = part.sort_values("elpd_diff", ascending=False, kind="stable")
    y = np.arange(len(part), dtype=float)
    point, reach = (part["elpd_diff"].to_numpy(dtype=float), 2 * part["diff_se"].fillna(0).to_numpy(dtype=float))
    bad = part["bad_k"].to_numpy(dtype=float) > 0
    for chosen, colour in ((~bad, BAYES[0]), (bad, FLAG)):
        axes.hlines(y[chosen], (point - reach)[chosen], (point + reach)[chosen], colors=colour, linewidth=2)
        axes.plot(point[chosen], y[chosen], "o", markersize=5, color=colour)
    axes.axvline(0, color=GRID, linewidth=1.2, zorder=0)
    bare(axes).set_ylim(len(part) - 0.4, -0.6)
    axes.set_yticks(y, short_names(map(method_words, part["model"])), fontsize=8.6, color=INK)
    axes.margins(x=0.06)
    _weights(axes, part, y)


def _weights(axes: Axes, part: pd.DataFrame, y: np.ndarray) -> None:
    """Stacking weights, and how many observations are unreliable, to the right of each row."""
    for height, weight, bad in zip(y, part["weight"], part["bad_k"], strict=True):
        words = f"weight {weight:.2f}" + (f", {bad:.0f} with large k" if bad else "")
        axes.annotate(
            words,
            (1.0, height),
            xycoords=("axes fraction", "data"),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=7.8,
            color=FLAG if bad else INK,
            annotation_clip=False,
        )
