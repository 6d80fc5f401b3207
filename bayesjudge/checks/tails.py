"""Importance ratios whose largest values cannot be smoothed, because they are one draw over and over."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["has_flat_tail"]


def has_flat_tail(log_ratios: Any) -> bool:
    """Whether the tail that Pareto smoothing would look at holds one value only.

    Draws that were resampled by very unequal weights repeat; a tail of ``min(S/5, 3√S)`` of S ratios (Vehtari
    et al. 2024) can then be a single draw, and a generalised Pareto distribution cannot be fitted to it.

    Examples
    --------
    >>> has_flat_tail(np.repeat([0.0, 1.0], [900, 100])), has_flat_tail(np.arange(1000.0))
    (True, False)
    """
    ratios = np.asarray(log_ratios, dtype=float).reshape(-1)
    size = math.ceil(min(len(ratios) / 5, 3 * math.sqrt(len(ratios))))
    tail = np.sort(ratios)[-max(size, 1) :]
    return bool(np.ptp(tail) < np.finfo(float).tiny)
