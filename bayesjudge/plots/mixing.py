"""Whether chains mix: ranks of each chain's draws among all draws, for the parameters that mix worst."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from bayesjudge.errors import UsageError
from bayesjudge.plots.palette import BASELINE, BAYES, GRID, MUTED
from bayesjudge.plots.theme import SMALL, bare, canvas, footnote, grid_of, shorten, themed

type Array = NDArray[np.float64]

CHAIN_COLOURS = (BAYES[0], BASELINE[0], BAYES[2], BASELINE[3])
COLUMNS = 3


def worst_mixing(chains: Mapping[str, ArrayLike], *, most: int = 6) -> dict[str, Array]:
    """The quantities with the largest R-hat (those without a number first).

    Parameters
    ----------
    chains : mapping of str to array (chains, draws)
        Draws by name.
    most : int
        How many to keep.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> stuck = rng.normal(size=(4, 100)) + np.arange(4)[:, None]
    >>> list(worst_mixing({"fine": rng.normal(size=(4, 100)), "stuck": stuck}, most=1))
    ['stuck']
    """
    from arviz_stats.base import array_stats

    values = {name: _checked(name, draws) for name, draws in chains.items()}
    rhat = {name: float(np.max(array_stats.rhat(draws, chain_axis=0, draw_axis=1))) for name, draws in values.items()}
    order = sorted(values, key=lambda name: -np.nan_to_num(rhat[name], nan=np.inf))
    return {name: values[name] for name in order[:most]}


@themed
def rank_traces(chains: Mapping[str, ArrayLike], *, bins: int = 20) -> Figure:
    """Rank histograms of the chains, one panel a quantity.

    Parameters
    ----------
    chains : mapping of str to array (chains, draws)
        Draws by name, for instance from `worst_mixing`.
    bins : int
        Bins of the ranks.

    Returns
    -------
    matplotlib.figure.Figure
        Chains that explore the same distribution have flat lines; the grey band holds 99% of the bins of a
        chain of independent draws, so autocorrelated chains leave it now and then.

    Raises
    ------
    UsageError
        There is nothing to draw, or an array is not a matrix of two chains or more.

    References
    ----------
    Vehtari et al. (2021), Rank-normalization, folding, and localization: an improved R-hat, section 4.2.

    Examples
    --------
    >>> len(rank_traces({"theta": np.random.default_rng(0).normal(size=(4, 100))}).axes)
    1
    """
    values = {name: _checked(name, draws) for name, draws in chains.items()}
    if not values:
        raise UsageError("no chains to draw; give a mapping of names to arrays (chains, draws)")
    down, across = grid_of(len(values), COLUMNS)
    figure = canvas(down * 1.35 + 0.5, width=max(3.2 * across, 4.2))
    grid = figure.subplots(down, across, squeeze=False, sharex=True).flatten()
    for axes, (name, draws) in zip(grid, values.items(), strict=False):
        _panel(axes, draws, bins)
        axes.set_title(shorten(name, 34), fontsize=8.4)
    for axes in grid[len(values) :]:
        axes.set_visible(False)
    footnote(
        figure, "share of each chain's draws by rank among all draws", "band: 99% of bins if draws were independent"
    )
    return figure


def _checked(name: str, draws: ArrayLike) -> Array:
    values = np.asarray(draws, dtype=float)
    if values.ndim != 2 or values.shape[0] < 2 or values.shape[1] < 4:
        raise UsageError(f"{name!r} needs an array (chains, draws) with two chains or more, found shape {values.shape}")
    return values


def _panel(axes: Axes, draws: Array, bins: int) -> None:
    from scipy.stats import hypergeom, rankdata

    chains, length = draws.shape
    ranks = rankdata(draws, axis=None).reshape(draws.shape) / (draws.size + 1)
    edges = np.linspace(0, 1, bins + 1)
    # A chain of independent draws is a random sample, without replacement, of all the ranks.
    band = hypergeom(draws.size, round(draws.size / bins), length).ppf([0.005, 0.995]) * bins / length
    axes.axhspan(*band, color=GRID, alpha=0.7, linewidth=0)
    axes.axhline(1, color=MUTED, linewidth=0.8)
    for k in range(chains):
        share = np.histogram(ranks[k], edges)[0] * bins / length
        axes.stairs(share, edges, color=CHAIN_COLOURS[k % len(CHAIN_COLOURS)], linewidth=1.1, baseline=None)
    bare(axes, grid=None)
    axes.set(xlim=(0, 1), ylim=(0, None), xticks=[0, 0.5, 1], yticks=[1])
    axes.set_yticklabels(["even"], fontsize=SMALL, color=MUTED)
