"""Bradley–Terry strengths of several raters together, with errors that know shared battles and prompts.

Raters r have strengths θ_r and effects γ_r, stacked to one vector (METHODS 4.6, 4.8). With targets t, fitted
probabilities ``p = σ(θ_i − θ_k + x'γ)`` and rows z of the design, the penalised likelihood has::

    S = Σ (t − p) z        H = Σ n p (1 − p) z z' + penalty

which of one cluster are S_c and H_c, and over single battles give the meat ``B = Σ_b S_b S_b'``. Raters who
looked at the same battles, or prompts, share entries of it: all covariances here are joint.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.errors import UsageError
from bayesjudge.maths.battle_sums import BattleSums, Floats
from bayesjudge.maths.bradley_terry import RIDGE

#: Penalty of the effects of covariates: a standard normal prior.
EFFECT_PENALTY = 1.0
#: Wins or losses below which strengths are no normal about the maximum.
_LEAST = 5
_STEPS, _TOLERANCE, _LONGEST = 200, 1e-9, 2.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Clusters:
    """Scores and curvatures of G kinds of cluster.

    scores: S_c in row c.
    curvatures: For each rater, its H_c one below the other.
    times: How many clusters are of each kind.
    """

    scores: Any
    curvatures: tuple[Any, ...]
    times: Floats

    @functools.cached_property
    def meat(self) -> Floats:
        """``Σ_c S_c S_c'`` (RQ, RQ)."""
        return _meat(self.scores, self.times)

    def curvature_products(self, one: int, other: int) -> Floats:
        """``Σ_c H_cr H_cs'`` of two raters, (Q, Q)."""
        left, right = self.curvatures[one], self.curvatures[other]
        times = np.repeat(self.times, left.shape[1])[:, None]
        return np.asarray((left.T @ right.multiply(times).tocsr()).toarray())


@dataclass(frozen=True, eq=False, kw_only=True)
class Strengths:
    """Raters' strengths and effects at one point, and what their errors follow from; Q = M + K.

    sums: Targets by battle.
    estimate: The point: strengths of the M models, of mean 0 at a fit, then effects of the K covariates.
    penalty: Diagonal that the curvature is penalised by.
    information: Curvature without the penalty.
    score: S; at the penalised maximum it is ``penalty * estimate``.
    meat: B, over battles.
    doubt: Covariance of what the point represents: probabilities and curvatures are then expectations.
    """

    sums: BattleSums
    estimate: Floats
    penalty: Floats
    information: Floats
    score: Floats
    meat: Floats
    doubt: Floats | None = None

    @property
    def curvature(self) -> Floats:
        """H (RQ, RQ), penalty included."""
        return np.asarray(self.information + np.diag(np.tile(self.penalty, self.sums.raters)))

    @functools.cached_property
    def inverse(self) -> Floats:
        """H⁻¹."""
        return np.asarray(np.linalg.inv(self.curvature))

    def covariance(self, meat: Floats) -> Floats:
        """``H⁻¹ meat H⁻¹`` of all strengths and effects, (RQ, RQ)."""
        return np.asarray(self.inverse @ meat @ self.inverse)

    def expected(self, sums: BattleSums) -> Floats:
        """Fitted probability of each row."""
        return self.chances(sums)[0]

    def chances(self, sums: BattleSums) -> tuple[Floats, Floats]:
        """Probability of each row and its derivative, by the logit.

        Of a logit N(η, v) both are those of a flatter curve, ``E σ ≈ σ(κη)`` with ``κ = 1/√(1 + πv/8)``
        (MacKay 1992).
        """
        from scipy.special import expit

        strength, effects = self.estimate[:, : sums.models], self.estimate[:, sums.models :]
        logit = strength[sums.rater, sums.first] - strength[sums.rater, sums.second]
        logit = logit + (sums.x * effects[sums.rater]).sum(axis=1)
        flat = 1 / np.sqrt(1 + np.pi / 8 * self._variance(sums))
        p = expit(flat * logit)
        return np.asarray(p), np.asarray(flat * p * (1 - p))

    def _variance(self, sums: BattleSums) -> Floats:
        """Variance of each row's logit."""
        if self.doubt is None:
            return np.zeros(len(sums.first))
        own = np.arange(sums.raters)
        blocks = self.doubt.reshape(sums.raters, sums.width, sums.raters, sums.width)[own, :, own, :]
        found, z = np.empty(len(sums.first)), _sparse_design(sums)
        for r in own:
            rows = np.flatnonzero(sums.rater == r)
            found[rows] = z[rows].multiply(z[rows] @ blocks[r]).sum(axis=1)
        return np.maximum(found, 0.0)

    def grouped(self, sums: BattleSums) -> Clusters:
        """Scores and curvatures of the clusters of a table of the same targets."""
        (p, slope), z = self.chances(sums), _sparse_design(sums)
        weight, groups = sums.n * slope, len(sums.times)
        mine = [np.flatnonzero(sums.rater == r) for r in range(sums.raters)]
        curvatures = tuple(_outer(z[rows], weight[rows], sums.cluster[rows], groups) for rows in mine)
        return Clusters(scores=_scores(sums, z, p), curvatures=curvatures, times=sums.times)


def fit_strengths(
    battles: BattleSums, *, ridge: float = RIDGE, effect_penalty: float = EFFECT_PENALTY, start: Floats | None = None
) -> Strengths:
    """Penalised maximum-likelihood strengths and effects of every rater.

    ridge, effect_penalty: Penalties ``ridge/2 ‖θ‖² + effect_penalty/2 ‖γ‖²``, above 0.
    """
    if not (ridge > 0 and effect_penalty > 0):
        raise UsageError(f"ridge={ridge:g}, effect_penalty={effect_penalty:g}: both must be above 0")
    penalty = np.repeat([ridge, effect_penalty], [battles.models, battles.x.shape[1]])
    estimate = np.zeros((battles.raters, battles.width)) if start is None else start.copy()
    for r in range(battles.raters):
        z, n, t = _by_pattern(battles.keep(battles.rater == r))
        estimate[r] = _newton(z, n, t, penalty, estimate[r])
    return linearised(battles, estimate, penalty=penalty)


def _by_pattern(sums: BattleSums) -> tuple[Floats, Floats, Floats]:
    """Distinct rows of one rater's design, and the number and sum of their targets."""
    code = sums.first * sums.models + sums.second
    for column in sums.x.T:
        values, place = np.unique(column, return_inverse=True)
        code = code * len(values) + place.reshape(-1)
    _, at, place = np.unique(code, return_index=True, return_inverse=True)
    place, times = place.reshape(-1), sums.times[sums.cluster]
    n, t = (np.bincount(place, weights=values * times, minlength=len(at)) for values in (sums.n, sums.t))
    return _design(sums)[at], n, t


def _design(sums: BattleSums) -> Floats:
    """Rows z: +1 for the first model, −1 for the second, then the covariates; (N, Q)."""
    z, at = np.zeros((len(sums.first), sums.width)), np.arange(len(sums.first))
    z[at, sums.first], z[at, sums.second] = 1.0, -1.0
    z[:, sums.models :] = sums.x
    return z


def _newton(z: Floats, n: Floats, t: Floats, penalty: Floats, x: Floats) -> Floats:
    """Maximum of a concave penalised likelihood; steps of at most 2 logits keep Newton's method on course."""
    from scipy.special import expit

    for _ in range(_STEPS):
        p = expit(z @ x)
        hessian = (z.T * (n * p * (1 - p))) @ z
        step = np.linalg.solve(hessian + np.diag(penalty), z.T @ (t - n * p) - penalty * x)
        longest = np.abs(step).max(initial=0.0)
        x = x + step * min(1.0, _LONGEST / max(longest, 1e-300))
        if longest <= _TOLERANCE:
            return np.asarray(x)
    raise UsageError(f"strengths do not converge at ridge={penalty[0]:g}; use {RIDGE:g}")


def poorly_known(sums: BattleSums) -> NDArray[np.bool_]:
    """Models with under five wins or losses by a rater that saw them, or nothing but ties; (R, M)."""
    times, ties = np.tile(sums.times[sums.cluster], 2), np.isclose(sums.t, sums.n / 2)
    code = np.concatenate([sums.rater * sums.models + side for side in (sums.first, sums.second)])
    both = (np.tile(sums.n, 2), np.concatenate([sums.t, sums.n - sums.t]), np.tile(np.where(ties, 0.0, sums.n), 2))
    shape = (sums.raters, sums.models)
    n, wins, decided = (
        np.bincount(code, weights=each * times, minlength=shape[0] * shape[1]).reshape(shape) for each in both
    )
    few = np.minimum(wins, n - wins) < _LEAST
    return np.asarray((n > 0) & (few | (decided == 0)))


def linearised(battles: BattleSums, estimate: Floats, *, penalty: Floats, doubt: Floats | None = None) -> Strengths:
    """Score, curvature and meat at any point, not only at the maximum, or expected about it."""
    blank = np.zeros((battles.raters * battles.width,) * 2)
    zeros = {"information": blank, "score": blank[0], "meat": blank}
    at = Strengths(sums=battles, estimate=estimate, penalty=penalty, doubt=doubt, **zeros)
    (p, slope), z = at.chances(battles), _sparse_design(battles)
    scores, times = _scores(battles, z, p), battles.times
    rows, weight = _stacked(battles, z), battles.total * slope
    information = np.asarray((rows.T @ rows.multiply(weight[:, None]).tocsr()).toarray())
    return replace(at, information=information, score=np.asarray(scores.T @ times), meat=_meat(scores, times))


def _scores(sums: BattleSums, z: Any, p: Floats) -> Any:
    """S_c in row c, sparse."""
    from scipy.sparse import csr_array

    rows, residual, each = _stacked(sums, z), sums.t - sums.n * p, np.diff(z.indptr)
    at = (np.repeat(sums.cluster, each), rows.indices)
    return csr_array((z.data * np.repeat(residual, each), at), shape=(len(sums.times), rows.shape[1]))


def _stacked(sums: BattleSums, z: Any) -> Any:
    """The design with columns of its own for each rater, (N, RQ)."""
    from scipy.sparse import csr_array

    columns = np.repeat(sums.rater, np.diff(z.indptr)) * sums.width + z.indices
    return csr_array((z.data, columns, z.indptr), shape=(len(sums.rater), sums.raters * sums.width))


def _meat(scores: Any, times: Floats) -> Floats:
    return np.asarray((scores.T @ scores.multiply(times[:, None]).tocsr()).toarray())


def _sparse_design(sums: BattleSums) -> Any:
    from scipy.sparse import csr_array

    rows, effects = len(sums.first), sums.x.shape[1]
    values = np.column_stack([np.ones(rows), -np.ones(rows), sums.x])
    columns = np.column_stack([sums.first, sums.second, *(np.full(rows, sums.models + k) for k in range(effects))])
    used = values != 0
    starts = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
    return csr_array((values[used], columns[used], starts), shape=(rows, sums.width))


def _outer(z: Any, weight: Floats, cluster: NDArray[np.int64], groups: int) -> Any:
    """``Σ weight z z'`` of each cluster, one below the other, sparse (G·Q, Q)."""
    from scipy.sparse import csr_array

    width, own = z.shape[1], np.diff(z.indptr)
    # Every two nonzero entries of one row are a term of its outer product.
    row = np.repeat(np.arange(z.shape[0]), own**2)
    place = np.arange(len(row)) - np.repeat(np.cumsum(own**2) - own**2, own**2)
    i, j = z.indptr[row] + place // own[row], z.indptr[row] + place % own[row]
    at = (cluster[row] * width + z.indices[i], z.indices[j])
    return csr_array((z.data[i] * z.data[j] * weight[row], at), shape=(groups * width, width))
