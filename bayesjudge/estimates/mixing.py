"""How well chains mixed: R-hat and effective sample sizes of many scalars at once (Vehtari et al. 2021), by ArviZ.

Arrays are (scalars, chains, draws). What cannot be worked out is NaN: anything from fewer than four draws, R-hat from
one chain or of what never moved.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

type Floats = NDArray[np.float64]
#: The quantiles between which a posterior is reported, of whose frequencies the tail's effective sample size is.
TAILS = (0.05, 0.95)


def rhat(series: Floats) -> Floats:
    """Rank-normalised split R-hat of each scalar, the larger of location's and scale's."""
    from arviz_stats.base import array_stats

    found = np.full(len(series), np.nan)
    moved = np.ptp(series, axis=(1, 2)) > 0 if _enough(series) and series.shape[1] > 1 else np.zeros(len(series), bool)
    if moved.any():
        found[moved] = array_stats.rhat(series[moved], chain_axis=1, draw_axis=2)
    return found


def ess_bulk(series: Floats) -> Floats:
    """Effective sample size of each scalar's ranks."""
    return _ess(series, method="bulk")


def ess_tail(series: Floats) -> Floats:
    """Effective sample size of the frequencies below the two `TAILS`, the smaller one of each scalar."""
    return _ess(series, method="tail", prob=TAILS)


def ess_mean(series: Floats) -> Floats:
    """Effective sample size of each scalar's mean."""
    return _ess(series, method="mean")


def _ess(series: Floats, *, method: str, prob: tuple[float, float] | None = None) -> Floats:
    from arviz_stats.base import array_stats

    if not _enough(series):
        return np.full(len(series), np.nan)
    found: Any = array_stats.ess(series, chain_axis=1, draw_axis=2, method=method, prob=prob)
    return np.asarray(found, dtype=float)


def _enough(series: Floats) -> bool:
    return len(series) > 0 and series.shape[2] >= 4
