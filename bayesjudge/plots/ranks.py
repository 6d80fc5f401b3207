"""Ranks: of truths over simulated data, next to shrinkage and z-score, and of each chain's draws among all draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from bayesjudge.errors import UsageError
from bayesjudge.plots.palette import BASELINE, BAYES, FLAG, GRID, MUTED
from bayesjudge.plots.theme import SMALL, bare, canvas, footnote, grid_of, panels_of, shorten, themed

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
    figure, grid = _panels(len(lines), sharey=True)
    for axes, (name, line) in zip(grid, lines.items(), strict=True):
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
    figure, grid = _panels(len(parts), sharey=True)
    for axes, (name, part) in zip(grid, parts, strict=True):
        _cloud(axes, part)
        axes.set_title(shorten(str(name), 34), fontsize=8.4)
    footnote(figure, "posterior z-score by contraction (1 − posterior variance/prior variance)")
    return figure


def _panels(count: int, *, sharey: bool) -> tuple[Figure, list[Axes]]:
    down, across = grid_of(count, COLUMNS)
    figure = canvas(down * 1.35 + 0.5, width=max(3.2 * across, 4.2))
    return figure, panels_of(figure, count, (down, across), sharex=True, sharey=sharey)


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


CHAIN_COLOURS = (BAYES[0], BASELINE[0], BAYES[2], BASELINE[3])


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
    figure, grid = _panels(len(parts), sharey=False)
    for axes, (name, rows) in zip(grid, parts, strict=True):
        _histograms(axes, rows)
        axes.set_title(shorten(str(name), 34), fontsize=8.4)
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
    return np.asarray(least + np.searchsorted(np.cumsum(weights) / weights.sum(), probs), dtype=np.float64)


def _histograms(axes: Axes, rows: pd.DataFrame) -> None:
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
