"""Bradley–Terry strengths from counts by pair: many data sets at once, by Newton's method (METHODS 4.1).

``P(i beats j) = σ(θ_i − θ_j)``. The likelihood, penalised by ``ridge/2 ‖θ‖²``,
needs only each pair's number of battles n and the sum w of its targets, so the cost does not depend on the
number of battles. It is concave; every step is at most 2 logits long, which keeps Newton's method on course.
"""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.errors import UsageError

#: Elo points of one logit, and the Elo of the average model.
PER_LOGIT = 400 / math.log(10)
CENTRE = 1500.0
#: Penalty of METHODS 4.1: it makes every comparison graph have one finite answer.
RIDGE = 0.01
#: Models up to which every difference has a row; past it, neighbours on the leaderboard only.
ALL_PAIRS_UP_TO = 30
#: Step after which a fit is done, and the longest step, in logits.
TOLERANCE = 1e-6
_LONGEST = 2.0
_STEPS = 200
#: Numbers in the largest temporary array: 8 MB stay in the processor's cache.
_LARGEST = 1_000_000
#: Entries up to which a dense incidence matrix is faster.
_DENSE = 400_000

type Ints = NDArray[np.int64]
type Floats = NDArray[np.float64]


def to_elo(strength: Any) -> Any:
    """Elo of a strength in logits."""
    return CENTRE + PER_LOGIT * strength


def spectral_gap(first: Ints, second: Ints) -> float:
    """How well the pairs of models that met link the models: 1 and more where all met all, or all met one; 0 in parts.

    The second eigenvalue of the normalised Laplacian of the graph of pairs (Chung 1997, Spectral Graph Theory).

    Examples
    --------
    >>> chain, one = np.arange(9), np.zeros(9, dtype=int)
    >>> round(spectral_gap(chain, chain + 1), 2), round(spectral_gap(one, chain + 1), 2)
    (0.06, 1.0)
    >>> spectral_gap(np.array([0, 2]), np.array([1, 3]))
    0.0
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import laplacian

    named, code = np.unique(np.concatenate([first, second]), return_inverse=True)
    ends = (code, np.roll(code, len(first)))
    met = coo_array((np.ones(len(code)), ends), shape=(len(named), len(named))).toarray() > 0
    gap = float(np.linalg.eigvalsh(laplacian(met.astype(float), normed=True))[1])
    return gap if gap > TOLERANCE else 0.0


def shown_pairs(elo: Floats) -> list[tuple[int, int]]:
    """Pairs of models whose difference has a row: all of them for up to 30 models, else neighbours.

    Examples
    --------
    >>> shown_pairs(np.array([1500.0, 1600.0, 1400.0]))
    [(0, 1), (0, 2), (1, 2)]
    >>> shown_pairs(np.arange(31.0))[:2]
    [(30, 29), (29, 28)]
    """
    if len(elo) <= ALL_PAIRS_UP_TO:
        return list(itertools.combinations(range(len(elo)), 2))
    ranked = [int(m) for m in np.argsort(-elo, kind="stable") if not np.isnan(elo[m])]
    return list(itertools.pairwise(ranked))


def solve_strengths(
    first: Ints,
    second: Ints,
    n: NDArray[Any],
    wins: NDArray[Any],
    models: int,
    *,
    ridge: float = RIDGE,
    start: Floats | None = None,
    tolerance: float = TOLERANCE,
) -> Floats:
    """Strengths of B data sets on the same P pairs.

    ridge: Penalty; 0 where `comparison_graph` says that a finite answer exists.

    Returns: Each sums to 0, as the penalty makes it within every connected part; a model without battles has 0.
    """
    wins = np.atleast_2d(np.asarray(wins, dtype=np.float64))
    n = np.broadcast_to(np.asarray(n, dtype=np.float64), wins.shape)
    problem = _Problem(np.asarray(first), np.asarray(second), models, ridge, tolerance)
    origin = np.zeros(models) if start is None else start
    step = max(1, _LARGEST // max(len(first), models * models))
    parts = [problem.solve(n[at : at + step], wins[at : at + step], origin) for at in range(0, len(wins), step)]
    theta = np.concatenate(parts) if parts else np.zeros((0, models))
    return np.asarray(theta - theta.mean(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class _Problem:
    first: Ints
    second: Ints
    models: int
    ridge: float
    tolerance: float

    def solve(self, n: Floats, wins: Floats, origin: Floats) -> Floats:
        # One row, for all start at the same place: broadcasting saves the first step most of its work.
        theta = origin[None, :]
        for _ in range(_STEPS):
            expected = self._expected(theta)
            slope = (wins - n * expected) @ self.incidence - self.ridge * theta
            step = _capped(np.linalg.solve(self._curvature(n, expected), slope[..., None])[..., 0])
            theta = theta + step
            if np.abs(step).max(initial=0.0) <= self.tolerance:
                return theta
        raise UsageError(
            f"strengths do not converge at ridge={self.ridge:g}: some models never lose or never meet the "
            f"others; use a ridge above 0, for instance {RIDGE:g}"
        )

    def _expected(self, theta: Floats) -> Floats:
        from scipy.special import expit

        found: Floats = expit(theta[:, self.first] - theta[:, self.second])
        return found

    @functools.cached_property
    def incidence(self) -> Any:
        """+1 for the first model of each pair, −1 for the second, (P, M); sparse where that is faster."""
        from scipy.sparse import csr_array

        pairs = np.arange(len(self.first))
        rows, columns = np.tile(pairs, 2), np.concatenate([self.first, self.second])
        signs = np.repeat([1.0, -1.0], len(pairs))
        matrix = csr_array((signs, (rows, columns)), shape=(len(pairs), self.models))
        return matrix.toarray() if len(pairs) * self.models <= _DENSE else matrix

    def _curvature(self, n: Floats, expected: Floats) -> Floats:
        weight = n * (expected * (1 - expected))
        hessian = np.zeros((len(weight), self.models, self.models))
        hessian[:, self.first, self.second] = -weight
        hessian[:, self.second, self.first] = -weight
        own = np.arange(self.models)
        hessian[:, own, own] = weight @ abs(self.incidence) + self.ridge
        if self.ridge == 0:
            # Without a penalty the level is free; a pull on the mean alone fixes it and moves no difference.
            hessian += 1.0 / self.models
        return hessian


def _capped(step: Floats) -> Floats:
    longest = np.abs(step).max(axis=1, keepdims=True)
    return np.asarray(step * np.minimum(1.0, _LONGEST / np.maximum(longest, 1e-300)))


def anchored_strengths(n: NDArray[Any], wins: NDArray[Any], anchors: Floats, *, ridge: float = RIDGE) -> Floats:
    """Strength of one model against others whose strengths are fixed, in B data sets (METHODS 4.3)."""
    from scipy.special import expit

    wins = np.atleast_2d(np.asarray(wins, dtype=np.float64))
    n = np.broadcast_to(np.asarray(n, dtype=np.float64), wins.shape)
    total, won = n.sum(axis=1), wins.sum(axis=1)
    if ridge == 0 and np.any((won <= 0) | (won >= total)):
        raise UsageError(f"a model that won or lost everything has no finite strength at ridge=0; use {RIDGE:g}")
    theta = np.zeros(len(wins))
    for _ in range(_STEPS):
        p = expit(theta[:, None] - anchors)
        slope = (wins - n * p).sum(axis=1) - ridge * theta
        step = np.clip(slope / ((n * p * (1 - p)).sum(axis=1) + ridge), -_LONGEST, _LONGEST)
        theta = theta + step
        if np.abs(step).max(initial=0.0) <= TOLERANCE:
            return np.asarray(theta)
    raise UsageError(f"a strength against anchors does not converge at ridge={ridge:g}; use {RIDGE:g}")
