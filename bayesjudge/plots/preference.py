"""How probably each model is better than each other one."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bayesjudge.errors import UsageError
from bayesjudge.plots.heat_map import draw_heat_map
from bayesjudge.plots.theme import WIDTH, canvas, footnote, short_names, themed

__all__ = ["preference_matrix"]

#: Models up to which the numbers fit into their cells.
WORDS_UP_TO = 25


@themed
def preference_matrix(frame: pd.DataFrame, *, footer: str = "P(row is preferred to column)") -> Figure:
    """Heat map of a square table of probabilities, models in the frame's order.

    Parameters
    ----------
    frame : pandas.DataFrame
        Index and columns are the models in one order; the diagonal is not looked at.
    footer : str
        What a cell means.

    Returns
    -------
    matplotlib.figure.Figure
        Numbers in the cells for up to 25 models.

    Raises
    ------
    UsageError
        Index and columns differ, or there are fewer than two models.

    Examples
    --------
    >>> frame = pd.DataFrame([[0.5, 0.9], [0.1, 0.5]], index=["x", "y"], columns=["x", "y"])
    >>> [text.get_text() for text in preference_matrix(frame).axes[0].texts]
    ['.90', '.10']
    """
    if list(frame.index) != list(frame.columns) or len(frame) < 2:
        raise UsageError(f"a preference matrix is square with two models or more; found {frame.shape}")
    values = frame.to_numpy(dtype=float).copy()
    np.fill_diagonal(values, np.nan)
    count, words = len(frame), len(frame) <= WORDS_UP_TO
    cell = min(0.42, (WIDTH - 2.4) / count)
    figure = canvas(count * min(cell, 0.3) + 1.7, width=min(WIDTH, count * cell + 2.4))
    axes = figure.subplots()
    draw_heat_map(axes, values, rows=[str(name) for name in frame.index], columns=[""] * count, words=words)
    axes.set_xticks(np.arange(count) + 0.5, short_names(frame.columns, 20), rotation=60,
                    ha="left", fontsize=7.8)  # fmt: skip
    footnote(figure, footer)
    return figure
