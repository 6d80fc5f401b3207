"""Which model predicts left-out observations best."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayesjudge.errors import UsageError
from bayesjudge.estimates.table import method_words
from bayesjudge.plots.palette import BAYES, FLAG, GRID, INK
from bayesjudge.plots.theme import bare, canvas, footnote, short_names, shorten, themed

NEEDED = ("model", "elpd_diff", "diff_se", "weight", "bad_k")


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
    missing = [name for name in NEEDED if name not in frame.columns]
    if missing or frame.empty:
        raise UsageError(f"a comparison needs rows with columns {list(NEEDED)}; missing {missing}")
    by = [name for name in ("judge", "best") if name in frame]
    parts = [part for _, part in frame.groupby(by, sort=False)] if by else [frame]
    judges = [part["judge"].iloc[0] if "judge" in part else "" for part in parts]
    figure = canvas(sum(len(part) * 0.3 + 0.55 for part in parts) + 0.3, width=8.4)
    ratios = [len(part) + 1 for part in parts]
    grid = figure.subplots(len(parts), 1, squeeze=False, height_ratios=ratios)[:, 0]
    for axes, judge, part in zip(grid, judges, parts, strict=True):
        _panel(axes, part)
        axes.set_title(shorten(f"Judge {judge}", 44) if len(set(judges)) > 1 else "")
    footnote(
        figure, "difference of ELPD to the best model of the same observations (higher is better), ± 2 standard errors"
    )
    return figure


def _panel(axes: Axes, part: pd.DataFrame) -> None:
    part = part.sort_values("elpd_diff", ascending=False, kind="stable")
    y = np.arange(len(part), dtype=float)
    point, reach = (part["elpd_diff"].to_numpy(dtype=float), 2 * part["diff_se"].fillna(0).to_numpy(dtype=float))
    bad = part["bad_k"].to_numpy(dtype=float) > 0
    for chosen, colour in ((~bad, BAYES[0]), (bad, FLAG)):
        axes.hlines(y[chosen], (point - reach)[chosen], (point + reach)[chosen], colors=colour, linewidth=2)
        axes.plot(point[chosen], y[chosen], linestyle="none", marker="o", markersize=5, color=colour)
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
