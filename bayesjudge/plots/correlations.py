"""How far judges err together: a matrix of correlations."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bayesjudge.errors import UsageError
from bayesjudge.plots.heat_map import draw_heat_map
from bayesjudge.plots.theme import canvas, footnote, short_names, themed

__all__ = ["error_correlation_matrix"]

#: Judges up to which cells carry their number.
WORDS_UP_TO = 16


@themed
def error_correlation_matrix(frame: pd.DataFrame) -> Figure:
    """Heat map of the correlations of judges' errors given the label.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns ``unit`` (``"a ~ b"``) and ``point``, a row a pair.

    Returns
    -------
    matplotlib.figure.Figure
        Judges by their mean correlation with the others, highest first; the diagonal stays empty, and a
        negative correlation has the colour of none.

    Raises
    ------
    UsageError
        The frame lacks those columns or has no rows.

    Examples
    --------
    >>> frame = pd.DataFrame({"unit": ["a ~ b", "a ~ c", "b ~ c"], "point": [0.5, 0.1, 0.2]})
    >>> [label.get_text() for label in error_correlation_matrix(frame).axes[0].get_yticklabels()]
    ['b', 'a', 'c']
    """
    if frame.empty or not {"unit", "point"} <= set(frame):
        raise UsageError(f"correlations need rows with columns unit and point; found {list(frame.columns)}")
    ends = frame["unit"].str.split(" ~ ", n=1, expand=True)
    half = pd.DataFrame({"a": ends[0], "b": ends[1], "r": frame["point"]})
    both = pd.concat([half, half.rename(columns={"a": "b", "b": "a"})])
    matrix = both.pivot_table(index="a", columns="b", values="r", dropna=False)
    order = matrix.mean(axis=1).sort_values(ascending=False, kind="stable").index
    values = matrix.loc[order, order].to_numpy(dtype=float)
    size = len(order)
    figure = canvas(size * 0.34 + 1.5, width=min(9.6, 2.6 + 0.55 * size))
    (axes,) = figure.subplots(1, 1, squeeze=False)[0]
    draw_heat_map(axes, values, rows=list(order), columns=[""] * size, empty=-1.0, words=size <= WORDS_UP_TO)
    axes.set_xticks(np.arange(size) + 0.5, short_names(order, 16), rotation=40,
                    ha="left", fontsize=8)  # fmt: skip
    footnote(figure, "correlation of two judges' errors given the label; 0 would be independent judges")
    return figure
