"""Whether chains mix: ranks of each chain's draws among all draws, for the parameters that mix worst."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayesjudge.errors import UsageError
from bayesjudge.plots.palette import BASELINE, BAYES, GRID, MUTED
from bayesjudge.plots.theme import SMALL, bare, canvas, footnote, grid_of, shorten, themed

if TYPE_CHECKING:
    from numpy.typing import NDArray


CHAIN_COLOURS = (BAYES[0], BASELINE[0], BAYES[2], BASELINE[3])
COLUMNS = 3


@themed
def rank_traces(ranks: pd.DataFrame) -> Figure:
    """Rank histograms of the chains, one panel a parameter.

    Parameters
    ----------
    ranks : pandas.DataFrame
        The table ``ranks`` of `bayesjudge.checks.convergence`.

    Returns
    -------
    matplotlib.figure.Figure
        Chains that explore the same distribution have flat lines; the grey band holds 99% of the bins of a
        chain of independent draws, so autocorrelated chains leave it now and then.

    Raises
    ------
    UsageError
        There is nothing to draw.

    References
    ----------
    Vehtari et al. (2021), Rank-normalization, folding, and localization: an improved R-hat, section 4.2.

    Examples
    --------
    >>> row = {"parameter": "theta", "draws": 100, "bin 1": 50, "bin 2": 50}
    >>> len(rank_traces(pd.DataFrame([row | {"chain": k} for k in range(4)])).axes)
    1
    """
    if ranks.empty:
        raise UsageError("no chains to draw; give the table `ranks` of bayesjudge.checks.convergence")
    parts = list(ranks.groupby("parameter", sort=False))
    down, across = grid_of(len(parts), COLUMNS)
    figure = canvas(down * 1.35 + 0.5, width=max(3.2 * across, 4.2))
    grid = figure.subplots(down, across, squeeze=False, sharex=True).flatten()
    for axes, (name, rows) in zip(grid, parts, strict=False):
        _panel(axes, rows)
        axes.set_title(shorten(str(name), 34), fontsize=8.4)
    for axes in grid[len(parts) :]:
        axes.set_visible(False)
    footnote(
        figure, "share of each chain's draws by rank among all draws", "band: 99% of bins if draws were independent"
    )
    return figure


def sample_quantiles(total: int, marked: int, drawn: int, probs: Sequence[float]) -> NDArray[np.float64]:
    """Quantiles of how many of ``total`` things, some ``marked``, are among those ``drawn`` without replacement.

    The hypergeometric distribution by its recursion: SciPy's statistics take longer to import than a page to draw.

    Examples
    --------
    >>> sample_quantiles(52, 4, 13, [0.5, 0.99]).tolist()
    [1.0, 3.0]
    """
    least, most = max(0, drawn - (total - marked)), min(marked, drawn)
    k = np.arange(least, most)
    ratios = np.log((marked - k) * (drawn - k)) - np.log((k + 1) * (total - marked - drawn + k + 1))
    logs = np.concatenate([[0.0], np.cumsum(ratios)])
    weights = np.exp(logs - logs.max())
    found: NDArray[np.float64] = least + np.searchsorted(np.cumsum(weights) / weights.sum(), probs).astype(float)
    return found


def _panel(axes: Axes, rows: pd.DataFrame) -> None:
    counts = rows.filter(regex=r"^bin \d+$").to_numpy(dtype=float)
    bins, length = counts.shape[1], int(rows["draws"].iloc[0])
    total, edges = length * len(rows), np.linspace(0, 1, bins + 1)
    # A chain of independent draws is a random sample, without replacement, of all the ranks.
    band = sample_quantiles(total, round(total / bins), length, (0.005, 0.995)) * bins / length
    axes.axhspan(*band, color=GRID, alpha=0.7, linewidth=0)
    axes.axhline(1, color=MUTED, linewidth=0.8)
    for k, share in enumerate(counts * bins / length):
        axes.stairs(share, edges, color=CHAIN_COLOURS[k % len(CHAIN_COLOURS)], linewidth=1.1, baseline=None)
    bare(axes, grid=None)
    axes.set(xlim=(0, 1), ylim=(0, None), xticks=[0, 0.5, 1], yticks=[1])
    axes.set_yticklabels(["even"], fontsize=SMALL, color=MUTED)
