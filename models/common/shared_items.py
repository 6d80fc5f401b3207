"""The item-clustered adjustment: draws of a composite posterior where answers share items (METHODS 1.9b).

When several models answer the same items, the labels and the judge's errors on one item are not independent
pieces of evidence, and a likelihood that multiplies over answers is a composite one: its posterior is
centred well and too sure. With H the information of that likelihood at the mean of the draws and V the
covariance of its score when whole items are drawn, the variance of an estimate is H⁻¹ V H⁻¹. The open-faced
sandwich (Ribatet, Cooley & Davison 2012; Shaby 2014) moves draws with covariance Σ to the covariance

    C = Σ (V + Σ⁻¹ − H) Σ = Σ + Σ (V − H) Σ,      Σ⁻¹ − H      what the prior adds,

by the symmetric roots φ ↦ φ̄ + C^½ Σ^−½ (φ − φ̄), and scales them by √(df/χ²_df), since V is estimated from
df + 1 labelled items. Σ⁻¹ − H is not cut at 0, though Σ comes from draws: cutting keeps what
their noise adds to the prior's precision and drops what it takes away, which widened intervals the more the
fewer the draws (by 5 to 8 % at 1,000 draws of nine models' 27 rates). Where V = H, draws stay as they are.

Where the likelihood of one model's answers is a saturated multinomial, its own block of V *is* its
information, so only the dependence between models is estimated: V* = D V D with D = √(H_kk/V_kk), own
blocks H. No inverse of V is ever taken, so there may be more parameters than labelled items.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaincinv

from bayesjudge.maths.definite import nearest_definite

type Array = NDArray[np.float64]

#: A variance of scores below this share of its information tells nothing of the dependence (labels without
#: errors).
_LEAST_VARIANCE = 0.02
#: Margins are stretched at most so far.
_MOST_STRETCH = 3.0
#: Fewest degrees of freedom: past this the t distribution has no variance.
LEAST_DF = 3
#: Degrees of freedom past which Student's t is the normal distribution.
_MOST_DF = 1e9
#: Directions in which draws vary less than this share of the most are exact (rates that models share).
RANK = 1e-10


def item_covariance(scores: Array, *, together: Array, sums: Array, items: Any) -> Array:
    """Covariance V (P, P) of a score that is a sum over items, whole items drawn within strata.

    together, sums, items: As `PairCells` has them, (S, K, K), (S, K) and (S,).
    """
    found = np.zeros((scores.shape[1],) * 2)
    for products, total, n in zip(together, sums, np.asarray(items), strict=True):
        if n > 1:
            mean = scores.T @ total
            found += n / (n - 1) * (scores.T @ products @ scores - np.outer(mean, mean) / n)
    return found


def exact_margins(v: Array, information: Array, block: NDArray[Any], *, widen_only: bool = False) -> Array:
    """V*: the dependence in ``v`` between blocks, with every block's own part known to be its information.

    v, information: Covariance of the score as estimated, and information, which is 0 between blocks.
    block: Which block (model) each parameter belongs to.
    widen_only: The margins are not exact (clusters, weights, averaged runs): blocks stay as estimated where they are
        larger, and are never narrower than the information.
    """
    own, exact = np.diag(v), np.maximum(np.diag(information), 1e-9)
    known = own > _LEAST_VARIANCE * exact
    wanted = np.maximum(exact, own) if widen_only else exact
    stretch = np.minimum(np.where(known, np.sqrt(wanted / np.maximum(own, 1e-12)), 0.0), _MOST_STRETCH)
    found = stretch[:, None] * v * stretch
    same = block[:, None] == block
    if not widen_only:
        return np.where(same, information, found)
    for code in np.unique(block):
        inside = np.ix_(block == code, block == code)
        found[inside] = information[inside] + nearest_definite(found[inside] - information[inside])
    return found


def between_systems(
    scores: Sequence[Sequence[tuple[Array, Array, float]]],
    own: Sequence[Array],
    strata: Sequence[NDArray[np.bool_]],
    *,
    widen_only: bool = False,
) -> Array:
    """V* (P, P) of coefficients that systems may share: each system's own part is its information.

    scores: Of every system and rate, by item: the sum of its scores by the logit (I,), by the coefficients (I, P_k),
        and the information on the logit's sum.
    own: Information of every system (P, P).
    strata: Items with labels and without.
    widen_only: As in `exact_margins`.
    """

    def covariance(values: Array) -> Array:
        found = np.zeros((values.shape[1],) * 2)
        for rows in strata:
            if (n := int(rows.sum())) > 1:
                away = values[rows] - values[rows].mean(axis=0)
                found += n / (n - 1) * away.T @ away
        return found

    found, every = np.zeros_like(own[0]), np.zeros((len(strata[0]), own[0].shape[0]))
    for rates, known in zip(scores, own, strict=True):
        stretched = []
        for total, by_coefficient, information in rates:
            estimated, exact = float(covariance(total[:, None])[0, 0]), max(information, 1e-9)
            target = max(exact, estimated) if widen_only else exact
            stretch = min(math.sqrt(target / estimated), _MOST_STRETCH) if estimated > _LEAST_VARIANCE * exact else 0.0
            stretched.append(stretch * by_coefficient)
        mine = np.concatenate(stretched, axis=1)
        apart = covariance(mine)
        found += known - apart + (nearest_definite(apart - known) if widen_only else 0.0)
        every += mine
    return found + covariance(every)


def adjust(draws: Array, *, information: Array, variance: Array, df: ArrayLike, seed: int = 0) -> Array:
    """Draws (D, P) with the covariance of the sandwich, in the order they were drawn.

    df: Labelled items behind the worst-labelled model, minus 1, or for each parameter (P,) those that inform it; at
        least `LEAST_DF`; infinitely many where nothing is estimated.
    seed: Of the factors √(df/χ²_df): of one draw, all are quantiles of one probability, so that parameters of equal df
        move together.

    Parameters that are functions of each other (rates that models share) leave the draws in a subspace, and
    the adjustment is made there: V and H of the shared parameters are sums over the models.

    Ribatet, Cooley & Davison (2012), Bayesian inference from composite likelihoods. *Statistica Sinica* 22.
    Shaby (2014), The open-faced sandwich adjustment for MCMC using estimating functions. *JCGS* 23.
    """
    centre = draws.mean(axis=0)
    spread, basis = np.linalg.eigh((draws - centre).T @ (draws - centre) / max(len(draws) - 1, 1))
    kept = spread > RANK * max(float(spread.max(initial=0.0)), np.finfo(float).tiny)
    if not kept.any():
        return draws
    basis, spread = basis[:, kept], spread[kept]
    half = np.sqrt(spread)
    added = half[:, None] * (basis.T @ (variance - information) @ basis) * half
    # Shares of Σ below its own noise, √(P/D), are not known to be smaller: the difference of a model and its copy would
    # vary less than its mean is off by chance.
    least = min(1.0, math.sqrt(len(spread) / len(draws)))
    target = half[:, None] * nearest_definite(np.eye(len(spread)) + added, least=least) * half
    move = _root(target) / half
    degrees, of = np.unique(np.broadcast_to(np.clip(df, LEAST_DF, _MOST_DF), draws.shape[1]), return_inverse=True)
    chance = np.random.default_rng(seed).random((len(draws), 1))
    factor = np.sqrt(degrees / (2 * gammaincinv(degrees / 2, chance)))[:, of]
    return np.asarray(centre + factor * ((draws - centre) @ basis @ move.T @ basis.T))


def _root(matrix: Array) -> Array:
    """Symmetric root; negative eigenvalues are 0."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
