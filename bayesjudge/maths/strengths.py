"""Bradley–Terry strengths of several raters together, with errors that know shared battles and prompts.

Raters r have strengths θ_r and effects γ_r, stacked to one vector x (METHODS 4.6, 4.8). With targets t,
fitted probabilities ``p = σ(θ_i − θ_k + x'γ)`` and design rows z, the penalised likelihood has scores and
curvature::

    S = Σ (t − p) z        H = Σ n p (1 − p) z z' + penalty

which for every cluster c are S_c and H_c, and for every battle b give the meat ``B = Σ_b S_b S_b'``. Raters
who saw the same battles, or the same prompts, share entries of B and of ``Σ_c S_c S_c'``: all covariances
here are joint.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.errors import UsageError
from bayesjudge.maths.battle_sums import BattleSums, Floats
from bayesjudge.maths.bradley_terry import RIDGE

__all__ = ["EFFECT_PENALTY", "Clusters", "Strengths", "fit_strengths", "linearised"]

#: Penalty of the effects of covariates: a standard normal prior.
EFFECT_PENALTY = 1.0
_STEPS, _TOLERANCE, _LONGEST = 200, 1e-9, 2.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Clusters:
    """Scores and curvatures of the G clusters of one kind.

    Attributes
    ----------
    scores : sparse array (G, RQ)
        S_c in row c.
    curvatures : tuple of sparse array (G·Q, Q)
        For each rater, its H_c one below the other.
    """

    scores: Any
    curvatures: tuple[Any, ...]

    @property
    def number(self) -> int:
        """Number G of clusters."""
        return int(self.scores.shape[0])


@dataclass(frozen=True, eq=False, kw_only=True)
class Strengths:
    """Raters' strengths and effects at one point, and what their errors follow from; Q = M + K.

    Attributes
    ----------
    sums : BattleSums
        What was fitted.
    estimate : float array (R, Q)
        The point: strengths of the M models, each rater's with mean 0, then effects of the K covariates.
    penalty : float array (Q,)
        Diagonal that the curvature is penalised by.
    information : float array (RQ, RQ)
        Curvature without the penalty.
    score : float array (RQ,)
        S; at the penalised maximum it is ``penalty * estimate``.
    meat : float array (RQ, RQ)
        B, over battles.
    """

    sums: BattleSums
    estimate: Floats
    penalty: Floats
    information: Floats
    score: Floats
    meat: Floats

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

    def clusters(self, kind: int = 0) -> Clusters:
        """Scores and curvatures by the clusters of one kind."""
        return self.grouped(self.sums.cluster[:, kind])

    def grouped(self, cluster: NDArray[np.int64]) -> Clusters:
        """Scores and curvatures by any code of the cells (C,)."""
        return _grouped(self, cluster)

    @functools.cached_property
    def expected(self) -> Floats:
        """Fitted probability of each pattern (D,)."""
        from scipy.special import expit

        every = np.ones(len(self.sums.rater), dtype=bool)
        return np.asarray(expit((_design(self.sums, every) * self.estimate[self.sums.rater]).sum(axis=1)))

    def sandwich_meat(self, kind: int = 0) -> Floats:
        """``G/(G − 1) Σ_c S_c S_c'``: covariance of the score where clusters are the independent units.

        Intervals take Student's t with G − 1 degrees of freedom (Cameron & Miller 2015). The rank is at most
        G − 1, so with fewer clusters than models this is for contrasts one at a time, not for a posterior.
        """
        scores = self.clusters(kind).scores
        groups = scores.shape[0]
        if groups < 2:
            raise UsageError(
                f"clustered errors need 2 clusters or more, and there is {groups}: cluster='none'"
            )
        return np.asarray((scores.T @ scores).toarray() * groups / (groups - 1))


def fit_strengths(
    sums: BattleSums,
    *,
    ridge: float = RIDGE,
    effect_penalty: float = EFFECT_PENALTY,
    start: Floats | None = None,
) -> Strengths:
    """Penalised maximum-likelihood strengths and effects of every rater.

    Parameters
    ----------
    sums : BattleSums
    ridge, effect_penalty : float
        Penalties ``ridge/2 ‖θ‖² + effect_penalty/2 ‖γ‖²``, above 0.
    start : float array (R, Q), optional
        Where Newton's method starts.

    Returns
    -------
    Strengths

    Raises
    ------
    UsageError
        A penalty that is not above 0.

    Examples
    --------
    Three wins of four, half of them on each of two prompts:

    >>> from bayesjudge.maths.battle_sums import sum_battles
    >>> zero = np.zeros(4, dtype=int)
    >>> sums = sum_battles(battle=np.arange(4), rater=zero, first=zero, second=zero + 1,
    ...                    target=np.array([1.0, 1.0, 1.0, 0.0]), clusters=[np.array([0, 0, 1, 1])],
    ...                    models=2, raters=1)
    >>> found = fit_strengths(sums, ridge=1e-6)
    >>> found.estimate.round(2).tolist(), found.clusters().scores.toarray().round(2).tolist()
    ([[0.55, -0.55]], [[0.5, -0.5], [-0.5, 0.5]])
    """
    if not (ridge > 0 and effect_penalty > 0):
        raise UsageError(f"ridge={ridge:g}, effect_penalty={effect_penalty:g}: both must be above 0")
    penalty = np.repeat([ridge, effect_penalty], [sums.models, sums.x.shape[1]])
    n, t = sums.by_pattern()
    estimate = np.zeros((sums.raters, sums.width)) if start is None else start.copy()
    for r in range(sums.raters):
        mine = sums.rater == r
        estimate[r] = _newton(_design(sums, mine), n[mine], t[mine], penalty, estimate[r])
    return linearised(sums, estimate, penalty=penalty)


def _newton(z: Any, n: Floats, t: Floats, penalty: Floats, x: Floats) -> Floats:
    """Maximum of a concave penalised likelihood; steps of at most 2 logits keep Newton's method on course."""
    from scipy.special import expit

    for _ in range(_STEPS):
        p = expit(z @ x)
        slope = z.T @ (t - n * p) - penalty * x
        hessian = (z.T * (n * p * (1 - p))) @ z
        step = np.linalg.solve(hessian + np.diag(penalty), slope)
        longest = np.abs(step).max(initial=0.0)
        x = x + step * min(1.0, _LONGEST / max(longest, 1e-300))
        if longest <= _TOLERANCE:
            return np.asarray(x)
    raise UsageError(f"strengths do not converge at ridge={penalty[0]:g}; use {RIDGE:g}")


def _design(sums: BattleSums, rows: NDArray[np.bool_]) -> Floats:
    """Rows z of some patterns: +1 for the first model, −1 for the second, then the covariates; (D, Q)."""
    first, second, x = sums.first[rows], sums.second[rows], sums.x[rows]
    z, at = np.zeros((len(first), sums.width)), np.arange(len(first))
    z[at, first], z[at, second] = 1.0, -1.0
    z[:, sums.models :] = x
    return z


def linearised(
    sums: BattleSums, estimate: Floats, *, penalty: Floats, model_based: NDArray[np.bool_] | None = None
) -> Strengths:
    """Scores, curvature and meat at any point, not only at the maximum.

    Parameters
    ----------
    sums : BattleSums
    estimate : float array (R, Q)
    penalty : float array (Q,)
    model_based : bool array (D,), optional
        Patterns whose own part of the meat is the curvature ``n p (1 − p)`` instead of the squares of the
        residuals: where all outcomes agree, residuals at the maximum say that nothing is uncertain.
    """
    from scipy.special import expit

    every = np.ones(len(sums.rater), dtype=bool)
    z = _design(sums, every)
    n, t = sums.by_pattern()
    p = expit((z * estimate[sums.rater]).sum(axis=1))
    weight = n * p * (1 - p)
    stacked = _stacked(sums, z)
    meat = _meat(sums, p, stacked, np.zeros_like(every) if model_based is None else model_based, weight)
    return Strengths(
        sums=sums, estimate=estimate, penalty=penalty, score=np.asarray(stacked.T @ (t - n * p)), meat=meat,
        information=(stacked.T @ (stacked.multiply(weight[:, None]))).toarray(),
    )  # fmt: skip


def _stacked(sums: BattleSums, z: Floats) -> Any:
    """Row z of each pattern at its rater's place among all parameters, sparse (D, RQ)."""
    from scipy.sparse import csr_array

    row, column = np.nonzero(z)
    at = sums.rater[row] * sums.width + column
    return csr_array((z[row, column], (row, at)), shape=(len(z), sums.raters * sums.width))


def _meat(sums: BattleSums, p: Floats, z: Any, model_based: NDArray[np.bool_], weight: Floats) -> Floats:
    """``Σ_b S_b S_b'`` from the products: Σ (T_l − N_l p_l)(T_r − N_r p_r) for every two patterns."""
    from scipy.sparse import csr_array

    a, b = p[sums.left], p[sums.right]
    residuals = sums.tt - a * sums.nt - b * sums.tn + a * b * sums.nn
    own = sums.left == sums.right
    residuals = np.where(own & model_based[sums.left], weight[sums.left], residuals)
    rows = len(p)
    half = csr_array((np.where(own, residuals / 2, residuals), (sums.left, sums.right)), shape=(rows, rows))
    part = (z.T @ half @ z).toarray()
    return np.asarray(part + part.T)


def _grouped(at: Strengths, cluster: NDArray[np.int64]) -> Clusters:
    """Sums over the cells of each cluster."""
    from scipy.sparse import coo_array

    sums = at.sums
    _, code = np.unique(cluster, return_inverse=True)
    code, groups, width = code.reshape(-1), int(code.max(initial=-1)) + 1, sums.width
    z = _design(sums, np.ones(len(sums.rater), dtype=bool))
    p = at.expected[sums.pattern]
    stacked = _stacked(sums, z)[sums.pattern].tocoo()
    residual = sums.t - sums.n * p
    scores = coo_array((stacked.data * residual[stacked.row], (code[stacked.row], stacked.col)),
                       shape=(groups, sums.raters * width)).tocsr()  # fmt: skip
    weight = sums.n * p * (1 - p)
    found = []
    for r in range(sums.raters):
        mine = sums.rater[sums.pattern] == r
        found.append(_outer(z[sums.pattern[mine]], weight[mine], code[mine], groups))
    return Clusters(scores=scores, curvatures=tuple(found))


def _outer(z: Floats, weight: Floats, code: NDArray[np.int64], groups: int) -> Any:
    """``Σ weight z z'`` of each cluster, one below the other, sparse (G·Q, Q)."""
    from scipy.sparse import coo_array, csr_array

    width = z.shape[1]
    sparse = csr_array(z)
    own = np.diff(sparse.indptr)
    # Every two nonzero entries of one row are a term of its outer product.
    row = np.repeat(np.arange(len(z)), own**2)
    place = np.arange(len(row)) - np.repeat(np.cumsum(own**2) - own**2, own**2)
    start, size = sparse.indptr[row], own[row]
    i, j = start + place // size, start + place % size
    values = sparse.data[i] * sparse.data[j] * weight[row]
    at = (code[row] * width + sparse.indices[i], sparse.indices[j])
    return coo_array((values, at), shape=(groups * width, width)).tocsr()
