"""A table of probabilities as coloured cells with their numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from numpy.typing import NDArray

from bayesjudge.plots.palette import PAPER
from bayesjudge.plots.theme import short_names

__all__ = ["draw_heat_map"]

#: From paper to the Bayesian blue; the same in a dark theme, so words in the cells have colours of their own.
_MAP = LinearSegmentedColormap.from_list("bayesjudge", ["#f3f7fa", "#9cc9e4", "#0a6aa8", "#06365a"])
_DARK_WORD, _LIGHT_WORD = "#102030", "#fdfdfd"


def draw_heat_map(
    axes: Axes, values: NDArray[np.float64], *, rows: Sequence[str], columns: Sequence[str],
    empty: float = 0.0, most: float = 1.0, words: bool = True,
) -> None:  # fmt: skip
    """Draw values between 0 and ``most``; a cell below ``empty`` or not a number stays blank."""
    shown = np.isfinite(values) & (values >= empty)
    axes.pcolormesh(np.ma.masked_array(np.nan_to_num(values), ~shown), cmap=_MAP, vmin=0, vmax=most,
                    edgecolors=PAPER, linewidth=1.5)  # fmt: skip
    for row, column in np.argwhere(shown) if words else ():
        value = values[row, column]
        colour = _LIGHT_WORD if value > 0.45 * most else _DARK_WORD
        text = f"{value:.2f}".removeprefix("0")
        axes.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=8, color=colour)
    axes.set_xticks(np.arange(len(columns)) + 0.5, columns)
    axes.set_yticks(np.arange(len(rows)) + 0.5, short_names(rows, 34), fontsize=8.6)
    axes.tick_params(length=0)
    axes.invert_yaxis()
    axes.spines[:].set_visible(False)
    axes.xaxis.tick_top()
