"""In which units `judge_temperature` samples what its judges, and their groups, add to μ; see `effect_units`.

Hundreds of votes on one judge fix log β but not how it is made of μ and τ z: in units of τ that is a curved
ridge, where chains diverge. The votes on a judge's gaps are summed up by a normal guess at log β.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.models.common.effect_units import Guess, Units

__all__ = ["group_units", "guessed", "judge_units"]

#: Steps of Fisher scoring, and how far one may go: the prior N(0, 1) keeps a few votes from infinity.
STEPS, FURTHEST = 50, 1.0


def guessed(gap: NDArray[np.float64], n: NDArray[np.int64], cell: Any, cells: int) -> Guess:
    """What votes say of log β in each cell, a normal at the mode under log β ~ N(0, 1).

    Parameters
    ----------
    gap : array (R,)
        Sizes of gaps, positive.
    n : int array (R, 2)
        Votes with the judge and against.
    cell : int array (R,)
        Judge (and group) of each, below ``cells``.

    Examples
    --------
    >>> found = guessed(np.array([1.0, 1.0]), np.array([[800, 200], [0, 0]]), np.array([0, 1]), 2)
    >>> (found.pull[0] / found.information[0]).round(3), np.log(np.log(4)).round(3), found.information[1]
    (np.float64(0.327), np.float64(0.327), np.float64(0.0))
    """
    total, log_beta = n.sum(axis=1), np.zeros(cells)
    for _ in range(STEPS):
        score, information = _derivatives(gap, n[:, 0], total, cell, log_beta)
        step = (score - log_beta) / (information + 1)
        log_beta = log_beta + np.clip(step, -FURTHEST, FURTHEST)
    score, information = _derivatives(gap, n[:, 0], total, cell, log_beta)
    return Guess(information=information, pull=information * log_beta + score)


def _derivatives(gap: Any, votes: Any, total: Any, cell: Any, log_beta: Any) -> tuple[Any, Any]:
    """Score and expected information of log β in each cell."""
    logit = np.exp(log_beta[cell]) * gap
    p = 1 / (1 + np.exp(-logit))
    parts = logit * (votes - total * p), total * p * (1 - p) * logit**2
    score, information = (np.bincount(cell, part, minlength=len(log_beta)) for part in parts)
    return score, information


def judge_units(guess: Guess, mu: Any, tau: Any, omega: Any) -> Units:
    """Of what each judge adds to μ, (..., judges, 1); groups that differ by ω blur the guess."""
    return guess.around(mu).blurred(omega).over(-1, keepdims=True).units(tau)


def group_units(guess: Guess, log_beta: Any, omega: Any) -> Units:
    """Of what each group adds to its judge's log β, (..., judges, groups)."""
    return guess.around(log_beta).units(omega)
