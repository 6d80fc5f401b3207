"""Simulation-based calibration: ranks against their band, and shrinkage against z-score."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from bayesjudge.errors import UsageError
from bayesjudge.plots.palette import BAYES, FLAG, GRID, MUTED
from bayesjudge.plots.theme import SMALL, bare, canvas, footnote, grid_of, shorten, themed

COLUMNS = 3
#: Columns of the tidy rows of a calibration that `shrinkage` reads.
NEEDED = ("quantity", "of_data", "truth", "mean", "sd")
#: |z| that a calibrated posterior seldom passes.
FAR = 4.0


@themed
def rank_ecdfs(
    deviations: Mapping[str, ArrayLike], low: ArrayLike, high: ArrayLike, *, failed: tuple[str, ...] = ()
) -> Figure:
    """Difference of each quantity's rank ECDF from the uniform's, within simultaneous limits.

    Parameters
    ----------
    deviations : mapping of str to array (draws,)
        One panel a quantity.
    low, high : array (draws,)
        Simultaneous limits, which a calibrated quantity leaves anywhere with the stated probability only.
    failed : tuple of str
        Quantities to draw in the colour of a warning.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    UsageError
        Nothing to draw, or arrays of different lengths.

    References
    ----------
    Säilynoja, Bürkner & Vehtari (2022), Graphical test for discrete uniformity, section 2.

    Examples
    --------
    >>> len(rank_ecdfs({"theta": [0.01, 0.0]}, [-0.1, -0.1], [0.1, 0.1]).axes)
    1
    """
    lines = {name: np.asarray(line, dtype=float) for name, line in deviations.items()}
    band = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    if not lines or {len(line) for line in (*lines.values(), *band)} != {len(band[0])}:
        raise UsageError("give one deviation or more, all of the band's length")
    figure, grid = _panels(len(lines))
    for axes, (name, line) in zip(grid, lines.items(), strict=False):
        _ecdf(axes, line, band, FLAG if name in failed else BAYES[0])
        axes.set_title(shorten(name, 34), fontsize=8.4)
    footnote(figure, "ECDF of ranks minus the uniform's, by rank", "band: simultaneous 95 %")
    return figure


@themed
def shrinkage(rows: pd.DataFrame) -> Figure:
    """Posterior z-score against contraction, one point a replicate, one panel a parameter.

    Parameters
    ----------
    rows : pandas.DataFrame
        One row a replicate and quantity: ``quantity, of_data, truth, mean, sd``; quantities of the data have
        no prior to contract from and are left out.

    Returns
    -------
    matplotlib.figure.Figure
        Points at the right: the data say much. Far above or below the middle: confidently wrong. At the left
        and in the middle: the posterior is the prior.

    Raises
    ------
    UsageError
        A column is missing, or no row is a parameter's.

    References
    ----------
    Betancourt (2020), Towards a principled Bayesian workflow, section 1.3.

    Examples
    --------
    >>> rows = pd.DataFrame({"quantity": "theta", "of_data": False, "truth": [0.2, 0.8], "mean": [0.3, 0.7],
    ...                      "sd": [0.1, 0.1]})
    >>> len(shrinkage(rows).axes)
    1
    """
    if missing := [name for name in NEEDED if name not in rows.columns]:
        raise UsageError(f"shrinkage needs rows with columns {', '.join(NEEDED)}; missing {', '.join(missing)}")
    parts = list(rows[~rows["of_data"]].groupby("quantity", sort=False))
    if not parts:
        raise UsageError("no row is a parameter's: there is no prior to contract from")
    figure, grid = _panels(len(parts))
    for axes, (name, part) in zip(grid, parts, strict=False):
        _cloud(axes, part)
        axes.set_title(shorten(str(name), 34), fontsize=8.4)
    footnote(figure, "posterior z-score by contraction (1 − posterior variance/prior variance)")
    return figure


def _panels(count: int) -> tuple[Figure, NDArray[np.object_]]:
    down, across = grid_of(count, COLUMNS)
    figure = canvas(down * 1.35 + 0.5, width=max(3.2 * across, 4.2))
    grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True).flatten()
    for axes in grid[count:]:
        axes.set_visible(False)
    return figure, grid


def _ecdf(
    axes: Axes, line: NDArray[np.float64], band: tuple[NDArray[np.float64], NDArray[np.float64]], colour: str
) -> None:
    at = np.arange(1, len(line) + 1) / (len(line) + 1)
    axes.fill_between(at, band[0], band[1], color=GRID, alpha=0.7, linewidth=0)
    axes.axhline(0, color=MUTED, linewidth=0.8)
    axes.plot(at, line, color=colour, linewidth=1.1)
    bare(axes, grid=None)
    axes.set(xlim=(0, 1), xticks=[0, 0.5, 1])
    axes.tick_params(labelsize=SMALL)


def _cloud(axes: Axes, part: pd.DataFrame) -> None:
    prior = float(part["truth"].var())
    contraction = 1 - part["sd"] ** 2 / prior
    score = ((part["mean"] - part["truth"]) / part["sd"]).clip(-FAR, FAR)
    axes.axhline(0, color=MUTED, linewidth=0.8)
    axes.scatter(contraction.clip(lower=0), score, s=4, color=BAYES[0], alpha=0.35, linewidth=0)
    bare(axes, grid=None)
    axes.set(xlim=(-0.02, 1.02), ylim=(-FAR - 0.3, FAR + 0.3), xticks=[0, 0.5, 1], yticks=[-2, 0, 2])
    axes.tick_params(labelsize=SMALL)
