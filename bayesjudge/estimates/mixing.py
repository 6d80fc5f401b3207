"""How well chains mixed: R-hat and effective sample sizes of many scalars at once (Vehtari et al. 2021).

The definitions are ArviZ's, which works through one scalar after another: of a posterior with 1,900 effects that took
as long as a third of its sampling. Arrays here are (scalars, chains, draws).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

type Floats = NDArray[np.float64]
#: Numbers of draws looked at together: what fits the cache is ranked in half of the time.
_TOGETHER = 100_000
#: The quantiles between which a posterior is reported, of whose frequencies the tail's effective sample size is.
TAILS = (0.05, 0.95)


def rhat(series: Floats) -> Floats:
    """Rank-normalised split R-hat of each scalar, the larger of location's and scale's."""
    return _in_parts(_rhat, series)


def ess_bulk(series: Floats) -> Floats:
    """Effective sample size of each scalar's ranks."""
    return _in_parts(lambda part: _ess(_scores(_halves(part))), series)


def ess_tail(series: Floats) -> Floats:
    """Effective sample size of the frequencies below the two `TAILS`, the smaller one of each scalar."""
    return _in_parts(_ess_tail, series)


def ess_mean(series: Floats) -> Floats:
    """Effective sample size of each scalar's mean."""
    return _in_parts(lambda part: _ess(_halves(part)), series)


def _in_parts(function: Callable[[Floats], Floats], series: Floats) -> Floats:
    """Of some scalars after others."""
    if not len(series) or series.shape[2] < 4:
        return np.full(len(series), np.nan)
    step = max(1, _TOGETHER // (series.shape[1] * series.shape[2]))
    return np.concatenate([function(series[k : k + step]) for k in range(0, len(series), step)])


def _halves(series: Floats) -> Floats:
    """Every chain as two, without the draw in the middle of an odd number."""
    half = series.shape[2] // 2
    return np.concatenate([series[:, :, :half], series[:, :, -half:]], axis=1)


def _scores(series: Floats) -> Floats:
    """Normal scores of the ranks among all draws of a scalar (Blom 1958)."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    flat = series.reshape(len(series), -1)
    found: Floats = ndtri((rankdata(flat, axis=1) - 0.375) / (flat.shape[1] + 0.25))
    return found.reshape(series.shape)


def _rhat(series: Floats) -> Floats:
    if series.shape[1] < 2:
        return np.full(len(series), np.nan)
    split = _halves(series)
    folded = np.abs(split - np.median(split, axis=(1, 2), keepdims=True))
    return np.fmax(_plain_rhat(_scores(split)), _plain_rhat(_scores(folded)))


def _plain_rhat(split: Floats) -> Floats:
    draws = split.shape[2]
    between = draws * split.mean(axis=2).var(axis=1, ddof=1)
    within = split.var(axis=2, ddof=1).mean(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):  # what never moved has no R-hat
        found: Floats = np.sqrt((between / within + draws - 1) / draws)
    return found


def _ess_tail(series: Floats) -> Floats:
    ends = np.quantile(series, TAILS, axis=(1, 2))
    low, high = (_ess(_halves((series <= end[:, None, None]).astype(np.float64))) for end in ends)
    return np.minimum(low, high)


def _ess(split: Floats) -> Floats:
    """Effective sample size of the mean of chains that have been split (Geyer 1992)."""
    _, chains, draws = split.shape
    covariance = _autocovariance(split)
    within = covariance[:, :, 0].mean(axis=1) * draws / (draws - 1)
    total = within * (draws - 1) / draws + (split.mean(axis=2).var(axis=1, ddof=1) if chains > 1 else 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = 1 - (within[:, None] - covariance.mean(axis=1)) / total[:, None]
    correlation[:, 0] = 1.0
    tau = np.maximum(_time(correlation), 1 / np.log10(chains * draws))
    never = np.ptp(split, axis=(1, 2)) < np.finfo(float).resolution
    found: Floats = np.where(never, chains * draws, chains * draws / tau)
    return found


def _autocovariance(split: Floats) -> Floats:
    from scipy.fft import irfft, next_fast_len, rfft

    draws = split.shape[2]
    length = next_fast_len(2 * draws, real=True)
    spectrum = rfft(split - split.mean(axis=2, keepdims=True), n=length, axis=2)
    found: Floats = irfft((spectrum * spectrum.conj()).real, n=length, axis=2)[..., :draws] / draws
    return found


def _time(correlation: Floats) -> Floats:
    """Integrated autocorrelation time by Geyer's initial monotone sequence: sums of pairs of lags while positive."""
    last = max(-(-(correlation.shape[1] - 4) // 2), 0)
    even, odd = correlation[:, : 2 * last + 1 : 2], correlation[:, 1 : 2 * last + 2 : 2]
    pairs = even + odd
    ended = ~(pairs > 0)
    end = np.where(ended.any(axis=1), ended.argmax(axis=1), last)
    before = np.arange(last + 1) < end[:, None]
    monotone = np.minimum.accumulate(pairs, axis=1)
    rows = np.arange(len(pairs))
    # Of the pair that ends the sequence, the even lag counts once where it is positive.
    left = np.where((even[rows, end] > 0) | (pairs[rows, end] >= 0), even[rows, end], 0.0)
    found: Floats = -1 + 2 * np.where(before, monotone, 0.0).sum(axis=1) + left
    return np.where(np.isnan(correlation).any(axis=1), np.nan, found)
