"""Variance of scores between responses, between trials and within: components, shares, margin of error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bayesjudge.baselines.reliability.icc import MeanSquares

__all__ = ["OneWay", "Variances", "one_way", "variances"]


@dataclass(frozen=True, kw_only=True)
class OneWay:
    """One-way analysis of variance of n responses with different numbers of scores.

    Attributes
    ----------
    n : int
        Responses.
    scores : int
        Scores in all.
    size : float
        Effective number of scores a response, ``(N − Σn_i²/N)/(n − 1)``.
    between, within : float
        Mean squares.
    """

    n: int
    scores: int
    size: float
    between: float
    within: float

    @property
    def icc(self) -> float:
        """ICC(1,1), ``(MSB − MSW)/(MSB + (n0 − 1) MSW)``."""
        whole = self.between + (self.size - 1.0) * self.within
        return (self.between - self.within) / whole if whole > 0 else float("nan")


@dataclass(frozen=True, kw_only=True)
class Variances:
    """Components of a score's variance, negative estimates set to 0.

    Attributes
    ----------
    response, trial, residual : float
        Between responses (what a score is about), between trials common to all responses, and the rest.
    """

    response: float
    trial: float
    residual: float

    @property
    def share(self) -> tuple[float, float, float]:
        """Each component over their sum; NaN where nothing varies."""
        total = self.response + self.trial + self.residual
        return tuple(part / total if total > 0 else float("nan")
                     for part in (self.response, self.trial, self.residual))  # type: ignore[return-value]  # three parts  # fmt: skip


def one_way(n: ArrayLike, mean: ArrayLike, squares: ArrayLike) -> OneWay:
    """From each response's number of scores, mean and sum of squares within: arrays (R,).

    Examples
    --------
    >>> found = one_way([2, 2, 1], [7.5, 9.0, 4.0], [0.5, 0.0, 0.0])
    >>> round(found.within, 3), round(found.between, 2), round(found.size, 2)
    (0.25, 8.35, 1.6)
    """
    n, mean, squares = (np.asarray(values, dtype=np.float64) for values in (n, mean, squares))
    total = float(n.sum())
    grand = float(n @ mean) / total
    rows, left = len(n), total - len(n)
    between = float(n @ (mean - grand) ** 2) / (rows - 1) if rows > 1 else float("nan")
    size = (total - float(n @ n) / total) / (rows - 1) if rows > 1 else float("nan")
    within = float(squares.sum()) / left if left > 0 else float("nan")
    return OneWay(n=rows, scores=int(total), size=size, between=between, within=within)


def variances(squares: MeanSquares) -> Variances:
    """Expected mean squares solved for the components of a two-way random model (Shrout & Fleiss, case 2).

    Examples
    --------
    >>> from bayesjudge.baselines.reliability.icc import mean_squares
    >>> found = variances(mean_squares([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    >>> found.response, found.trial, found.residual
    (4.0, 0.5, 0.0)
    """
    return Variances(
        response=max((squares.rows - squares.error) / squares.k, 0.0),
        trial=max((squares.columns - squares.error) / squares.n, 0.0),
        residual=squares.error,
    )
