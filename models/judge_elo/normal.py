"""The normal step of `judge_elo`: what battles say of strengths, as one linear model of unit noise.

About any point x̂ the scores of the battles are ``S(x) ≈ S(x̂) − H (x − x̂)`` with covariance P, so that
``S(x̂) + H x̂`` is an observation of ``H x``. Only differences within connected parts are observed: on those,
and in units of the noise, ``y = A x + e`` with ``e ~ N(0, I)``. The penalty of x̂ drops out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesjudge.maths.battle_sums import BattleSums
from bayesjudge.maths.prompt_effects import prompt_effects
from bayesjudge.maths.strengths import Strengths

__all__ = ["LEAST", "Normal", "observed", "poorly_known"]

type Floats = NDArray[np.float64]
#: Wins or losses below which the normal step at the maximum is poor.
LEAST = 5
#: Least variance of the noise, as a share of the curvature: soft targets that always agree have next to none.
_FLOOR = 1e-4


@dataclass(frozen=True, eq=False, kw_only=True)
class Normal:
    """``y = Σ_r A_r θ_r + Z γ + e``, N observations.

    Attributes
    ----------
    y : float array (N,)
    design : float array (N, R, M)
        A_r of each rater's strengths.
    effects : float array (N, RK)
        Z of the raters' effects of covariates.
    whitening : float array (N, RQ)
        From scores to y.
    """

    y: Floats
    design: Floats
    effects: Floats
    whitening: Floats


def observed(at: Strengths, clusters: Sequence[BattleSums]) -> Normal:
    """The observation about a point."""
    sums = at.sums
    noise = prompt_effects(at, clusters).meat + _lacking(at) + _FLOOR * at.information
    values, basis = np.linalg.eigh(at.information)
    seen = basis[:, values > 1e-9 * values.max()]
    root = np.linalg.cholesky(seen.T @ noise @ seen)
    pseudo = at.score + at.information @ at.estimate.reshape(-1)
    whitening = np.linalg.solve(root, seen.T)
    design = (whitening @ at.information).reshape(-1, sums.raters, sums.width)
    return Normal(y=whitening @ pseudo, design=design[:, :, : sums.models], whitening=whitening,
                  effects=design[:, :, sums.models :].reshape(len(design), -1))  # fmt: skip


def poorly_known(sums: BattleSums) -> NDArray[np.bool_]:
    """Models with under `LEAST` wins or losses by a rater that saw them, or nothing but ties; (R, M)."""
    n, wins, decided = np.zeros((3, sums.raters, sums.models))
    times, ties = sums.times[sums.cluster], np.isclose(sums.t, sums.n / 2)
    for codes, won in ((sums.first, sums.t), (sums.second, sums.n - sums.t)):
        np.add.at(n, (sums.rater, codes), sums.n * times)
        np.add.at(wins, (sums.rater, codes), won * times)
        np.add.at(decided, (sums.rater, codes), np.where(ties, 0.0, sums.n) * times)
    few = np.minimum(wins, n - wins) < LEAST
    return np.asarray((n > 0) & (few | (decided == 0)))


def _lacking(at: Strengths) -> Floats:
    """Variance that residuals cannot show where all outcomes agree: up to the rater's share of p(1 − p)."""
    sums, p = at.sums, at.expected(at.sums)
    poor, times = poorly_known(sums), sums.times[sums.cluster]
    residual = (sums.t - sums.n * p) ** 2 * times
    binomial = sums.n * p * (1 - p) * times
    mine = poor[sums.rater, sums.first] | poor[sums.rater, sums.second]
    matrix = np.zeros((sums.raters, sums.width) * 2)
    for r in np.flatnonzero(poor.any(axis=1)):
        rater = sums.rater == r
        share = residual[rater].sum() / binomial[rater].sum()
        rows = rater & mine
        pairs, place = np.unique(np.stack([sums.first[rows], sums.second[rows]]), axis=1, return_inverse=True)
        gap = np.bincount(place.reshape(-1), weights=share * binomial[rows] - residual[rows])
        weight = np.maximum(gap, 0.0)
        for i, k, w in zip(*pairs, weight, strict=True):
            block = matrix[r, :, r]
            block[[i, k], [i, k]] += w
            block[[i, k], [k, i]] -= w
    return np.asarray(matrix.reshape(sums.raters * sums.width, -1))
