"""Posterior densities below each other, the highest mean on top."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from bayesjudge.errors import UsageError
from bayesjudge.plots.intervals import draw_truth
from bayesjudge.plots.palette import BAYES, BAYES_SOFT, GRID, INK
from bayesjudge.plots.theme import bare, canvas, short_names, themed

ROW = 0.46
#: Height of a ridge in rows.
OVERLAP = 0.88


@themed
def ridge(
    draws: pd.DataFrame | ArrayLike,
    names: Sequence[str] | None = None,
    *,
    xlabel: str = "Accuracy",
    prob: float = 0.95,
    truth: Mapping[str, float] | None = None,
) -> Figure:
    """Posterior density of each quantity with its mean and equal-tailed interval.

    Parameters
    ----------
    draws : pandas.DataFrame or array (draws, quantities)
        Draws of all chains together, a column a quantity.
    names : sequence of str, optional
        Names of the columns; those of the frame by default.
    xlabel : str
        What the numbers are.
    prob : float
        Probability of the interval drawn under each density.
    truth : mapping of str to float, optional
        Known truth by name.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    UsageError
        The draws are not a finite matrix, or the names do not fit it.

    Examples
    --------
    >>> draws = np.random.default_rng(0).beta([8, 5], [2, 5], size=(500, 2))
    >>> [text.get_text() for text in ridge(draws, ["high", "middle"]).axes[0].get_yticklabels()]
    ['high', 'middle']
    """
    frame = _frame(draws, names)
    frame = frame[frame.mean().sort_values(ascending=False, kind="stable").index]
    figure = canvas(len(frame.columns) * ROW + 0.9)
    axes = bare(figure.add_subplot())
    curves = [_density(frame[name].to_numpy()) for name in frame.columns]
    for k, (x, height) in enumerate(curves):
        axes.fill_between(x, k, k - OVERLAP * height, facecolor=BAYES_SOFT, linewidth=0, alpha=0.85, zorder=1 + k)
        axes.plot(x, k - OVERLAP * height, color=BAYES[0], linewidth=1.2, zorder=1 + k)
        axes.axhline(k, color=GRID, linewidth=0.6, zorder=0.5)
    low, high = (frame.quantile(q).to_numpy() for q in ((1 - prob) / 2, (1 + prob) / 2))
    rows, top = np.arange(len(frame.columns)), len(frame.columns) + 2
    axes.hlines(rows, low, high, colors=BAYES[0], linewidth=2.6, zorder=top)
    axes.plot(frame.mean().to_numpy(), rows, "o", markersize=4.5, color=BAYES[0], zorder=top)
    for k, name in enumerate(frame.columns):
        if name in (truth or {}):
            draw_truth(axes, (truth or {})[name], k + 0.12, k - 0.5, zorder=top)
    axes.set(
        ylim=(len(frame.columns) - 0.55, -OVERLAP - 0.15),
        xlabel=f"{xlabel}: posterior density, mean and {100 * prob:.4g}% interval",
    )
    axes.set_yticks(rows, short_names(frame.columns), fontsize=8.6, color=INK)
    return figure


def _frame(draws: pd.DataFrame | ArrayLike, names: Sequence[str] | None) -> pd.DataFrame:
    values = draws.to_numpy() if isinstance(draws, pd.DataFrame) else np.asarray(draws)
    if names is None:
        names = [str(name) for name in draws.columns] if isinstance(draws, pd.DataFrame) else None
    if values.ndim != 2 or 0 in values.shape or not np.isfinite(values).all():
        raise UsageError(f"draws must be a finite matrix (draws, quantities); found shape {values.shape}")
    names = [str(k) for k in range(values.shape[1])] if names is None else list(names)
    if len(names) != values.shape[1] or len(set(names)) < len(names):
        raise UsageError(f"names must be {values.shape[1]} different names, one a column; found {names}")
    return pd.DataFrame(values.astype(float), columns=names)


def _density(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Kernel density on a grid, scaled to a highest point of 1; a constant is a spike."""
    from arviz_stats.base import array_stats

    if np.ptp(values) == 0:
        return np.full(3, values[0]), np.array([0.0, 1.0, 0.0])
    x, density, _ = array_stats.kde(values, grid_len=160)
    return x, density / density.max()
