"""The Elo scale: 1500 + (400/ln 10) θ, where θ is what Hard-Elo estimates.

Hard-Elo counts a tie as half a win for both. Under any model of the outcomes it therefore estimates the θ
whose expected scores are nearest to the model's (in Kullback–Leibler divergence, White 1982), on the pairs
that were played. That θ is a function of the parameters, and its posterior is the Elo a Bayesian should
report beside Hard-Elo: the same estimand, on the same scale. Davidson's strengths are not: where a third of
even battles are ties they are half as wide again.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CENTRE", "PER_LOGIT", "RIDGE", "anchored_strength", "hard_strengths", "to_elo"]

#: Elo points of one logit, and the Elo of the average model.
PER_LOGIT = 400 / math.log(10)
CENTRE = 1500.0
#: Ridge of the penalised likelihood (METHODS 4.1): every comparison graph has a finite answer.
RIDGE = 0.01
#: Draws that are solved at once.
_CHUNK = 256


def to_elo(strength: Any) -> Any:
    """Elo of a strength in logits.

    Examples
    --------
    >>> to_elo(math.log(10))
    1900.0
    """
    return CENTRE + PER_LOGIT * strength


def hard_strengths(
    first: NDArray[np.int64], second: NDArray[np.int64], weight: NDArray[Any], score: NDArray[np.float64],
    models: int, *, ridge: float = RIDGE,
) -> NDArray[np.float64]:  # fmt: skip
    """Bradley–Terry strengths of many tables of scores on the same pairs, by Newton's method.

    Parameters
    ----------
    first, second : int array (R,)
        Models of each row.
    weight : array (R,)
        Battles of each row.
    score : array (S, R)
        Mean score of the first model, in [0, 1], in each of S tables.
    models : int
        Number of models.
    ridge : float
        Penalty ``ridge/2 ‖θ‖²``.

    Returns
    -------
    array (S, models)
        Strengths in logits; they sum to 0.

    Examples
    --------
    >>> one = hard_strengths(np.array([0]), np.array([1]), np.array([1e6]), np.array([[0.75]]), 2)
    >>> (one[0, 0] - one[0, 1]).round(4) == np.log(3).round(4)
    np.True_
    """
    pair, place = np.unique(np.stack([first, second]), axis=1, return_inverse=True)
    total = np.bincount(place.reshape(-1), weights=weight, minlength=pair.shape[1])
    share = np.zeros((len(first), pair.shape[1]))
    share[np.arange(len(first)), place.reshape(-1)] = weight
    wins = score @ share
    start = _newton(pair, total, wins.mean(axis=0, keepdims=True), np.zeros((1, models)), ridge)
    parts = [
        _newton(pair, total, wins[at : at + _CHUNK], np.repeat(start, len(wins[at : at + _CHUNK]), 0), ridge)
        for at in range(0, len(wins), _CHUNK)
    ]
    return np.concatenate(parts)


def _newton(
    pair: NDArray[np.int64], total: NDArray[np.float64], wins: NDArray[np.float64],
    strength: NDArray[np.float64], ridge: float,
) -> NDArray[np.float64]:  # fmt: skip
    """Newton steps, each no longer than 2 logits, until none moves by 1e-10; the problem is concave."""
    first, second = pair
    diagonal = np.arange(strength.shape[1])
    for _ in range(100):
        p = _sigmoid(strength[:, first] - strength[:, second])
        residual, curve = wins - total * p, total * p * (1 - p)
        gradient, hessian = -ridge * strength, np.zeros((*strength.shape, strength.shape[1]))
        for row, (a, b) in enumerate(zip(first, second, strict=True)):
            gradient[:, a] += residual[:, row]
            gradient[:, b] -= residual[:, row]
            hessian[:, a, b] = hessian[:, b, a] = -curve[:, row]
        hessian[:, diagonal, diagonal] = ridge - hessian.sum(axis=2)
        # Strengths sum to 0, so this changes no step; it makes the matrix regular without a ridge.
        hessian += 1 / len(diagonal)
        step = np.linalg.solve(hessian, gradient[..., None])[..., 0]
        step *= np.minimum(1, 2 / np.maximum(np.abs(step).max(axis=1, keepdims=True), 1e-300))
        strength = strength + step
        if np.abs(step).max() < 1e-10:
            break
    return strength - strength.mean(axis=1, keepdims=True)


def anchored_strength(
    weight: NDArray[Any], wins: NDArray[np.float64], anchors: NDArray[np.float64], *, ridge: float = RIDGE
) -> NDArray[np.float64]:
    """Strength of one model against anchors whose strengths are fixed: the second step of METHODS 4.3.

    Parameters
    ----------
    weight : array (A,)
        Battles against each anchor.
    wins : array (S, A)
        Wins against each, ties counting half, in each of S tables.
    anchors : array (A,)
        Their strengths.

    Returns
    -------
    array (S,)

    Examples
    --------
    >>> anchored_strength(np.array([1e6]), np.array([[5e5]]), np.array([0.3])).round(4).tolist()
    [0.3]
    """
    strength = np.zeros(len(wins))
    for _ in range(100):
        p = _sigmoid(strength[:, None] - anchors)
        gradient = (wins - weight * p).sum(axis=1) - ridge * strength
        step = np.clip(gradient / ((weight * p * (1 - p)).sum(axis=1) + ridge), -2, 2)
        strength = strength + step
        if np.abs(step).max() < 1e-10:
            break
    return strength


def _sigmoid(x: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = 1 / (1 + np.exp(-x))
    return found
