"""How many battles a soft target counts for: the dispersion of targets about Bradley–Terry, and its draws.

A soft target ``t = σ(βs)`` of two models whose strengths differ by d varies less than a vote would: its mean
is σ(d) and its variance ``φ σ(d)(1 − σ(d))``, with φ = 1 for votes (quasi-likelihood; McCullagh & Nelder
1989, chapter 9). The likelihood of votes then counts each battle ``1/φ`` times too little, and ``ω = 1/φ``
is the learning rate at which the spread of the generalised posterior is that of Soft-Elo in repeated samples
(Lyddon, Holmes & Walker 2019 match the two in general). φ is not known either. Its posterior is that of a
variance, from the squared residuals X² of B battles and M models::

    φ ~ (φ₀ ν₀ + X²) / χ²(ν₀ + B − M + 1),    X² = Σ (t − σ(d))² / [σ(d)(1 − σ(d))]
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["PRIOR", "learning_rates"]

type Floats = NDArray[np.float64]

#: ν₀ and φ₀: a tenth of a battle whose target varies as a vote does. It keeps φ off 0 where a few battles
#: have one gap, and is lost among fifty.
PRIOR = (0.1, 1.0)


def learning_rates(
    n: Floats, wins: Floats, squares: Floats, d: Floats, *, models: int, rng: np.random.Generator
) -> Floats:
    """One draw of ω for each row of targets.

    Parameters
    ----------
    n : array (P,)
        Battles of each pair.
    wins, squares : array (S, P)
        Sums of the targets, and of their squares.
    d : array (S, P)
        Fitted difference of strengths of each pair.
    models : int
        Models that fought.
    rng : Generator

    Returns
    -------
    array (S,)

    Examples
    --------
    >>> n, targets = np.array([1000.0]), np.repeat([0.7, 0.8], 500)
    >>> sums = np.array([[targets.sum()]]), np.array([[(targets**2).sum()]])
    >>> found = learning_rates(n, *sums, np.full((1, 1), np.log(3)), models=2, rng=np.random.default_rng(0))
    >>> found.round().tolist()  # a vote varies by .1875, these targets by .0025
    [75.0]
    """
    from scipy.special import expit

    p = expit(d)
    misfit = (squares - 2 * p * wins + n * p**2) / (p * expit(-d))
    degrees, scale = PRIOR
    free = max(float(n.sum()) - models + 1, 0.0)
    return np.asarray(rng.chisquare(degrees + free, len(d)) / (degrees * scale + misfit.sum(axis=1)))
