"""The density of `judge_elo` with strengths and effects integrated out, in NumPy.

Of ``y = Σ_r A_r θ_r + Z γ + e`` (`data`) with ``(θ_i, η_1i, ..., η_Ji) ~ N(0, G)`` for every model i and
``γ ~ N(0, I)``, what is left is ``y ~ N(0, K)`` with ``K = I + Z Z' + Σ_rs G_rs A_r A_s'``: a density of the
few hyperparameters in G. Given them strengths are normal too. Leave-one-out folds differ in y and A alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import expit

from bayesjudge.maths.bradley_terry import PER_LOGIT
from bayesjudge.maths.definite import nearest_definite
from bayesjudge.model import Data
from bayesjudge.models.judge_elo.scales import LEAST_SHARING, joint_scale, vine_shapes
from bayesjudge.priors import Prior

type Floats = NDArray[np.float64]
#: Step of differences, of hyperparameters of size 1.
_STEP = 1e-5


#: Of `strength`, `slope` and `deviation_spread`.
type Priors = Mapping[str, Prior]


def log_prior(priors: Priors, u: Floats, judges: int) -> Floats:
    """Of unconstrained hyperparameters (..., d), with the Jacobians of logarithms and logits."""
    spread, slope, deviation, partial, shared = unpacked(u, judges)
    shapes = np.array([shape for *_, shape in vine_shapes(judges)])
    return np.asarray(
        priors["strength"].log_density(PER_LOGIT * spread)
        + np.log(spread)
        + priors["slope"].log_density(slope).sum(axis=-1)
        + (priors["deviation_spread"].log_density(PER_LOGIT * deviation) + np.log(deviation)).sum(axis=-1)
        + (shapes * (np.log(partial) + np.log1p(-partial))).sum(axis=-1)
        + (np.log(shared) + np.log1p(-shared) if judges >= LEAST_SHARING else 0.0)
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class Mode:
    """Likeliest unconstrained hyperparameters (d,) and the curvature there (d, d)."""

    at: Floats
    curvature: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class Marginal:
    """One observation; N numbers, R = J + 1 raters, M models, E effects of each judge.

    gram: ``A_r A_s' + A_s A_r'`` (half of that for r = s) in the order of `numpy.triu_indices`.
    known: ``Z Z'``.
    """

    y: Floats
    design: Floats
    effects: Floats
    gram: Floats
    known: Floats

    @classmethod
    def of(cls, y: Floats, design: Floats, effects: Floats) -> Marginal:
        """From the observation and its design."""
        one, two = np.triu_indices(design.shape[1])
        by_rater = np.moveaxis(design, 1, 0)
        half = np.where(one == two, 0.5, 1.0)[:, None, None]
        product = by_rater[one] @ np.swapaxes(by_rater[two], -1, -2) * half
        flat = effects.reshape(len(y), -1)
        return cls(
            y=y, design=design, effects=effects, gram=product + np.swapaxes(product, -1, -2), known=flat @ flat.T
        )

    @classmethod
    def of_data(cls, data: Data) -> Marginal:
        """Of what the model was prepared from."""
        return cls(**{name: np.asarray(data[name]) for name in ("y", "design", "effects", "gram", "known")})

    def expected(self, strengths: Floats, effects: Floats) -> Floats:
        """The observation (S, N) without noise, of strengths (S, R, M) and effects (S, J, E)."""
        found = np.einsum("nrm,srm->sn", self.design, strengths) + np.einsum("nje,sje->sn", self.effects, effects)
        return np.asarray(found)

    @property
    def judges(self) -> int:
        """Number J."""
        return int(self.design.shape[1]) - 1

    def parts(self, *, border: int = 0) -> Floats:
        """What `combined` makes K of, with as many rows and columns of zeros after it."""
        parts = np.concatenate([self.gram, (self.known + np.eye(len(self.y)))[None]])
        return np.pad(parts, ((0, 0), (0, border), (0, border)))

    def covariance(self, scale: Floats) -> Floats:
        """K (..., N, N) of G (..., R, R)."""
        return combined(self.parts(), scale)

    def log_density(self, u: Floats, priors: Priors) -> float:
        """Log posterior density of unconstrained hyperparameters (d,), up to a constant."""
        root = np.linalg.cholesky(self.covariance(joint_scale(np, *unpacked(u, self.judges))))
        white = solve_triangular(root, self.y, lower=True, check_finite=False)
        return float(log_prior(priors, u, self.judges) - np.log(np.diag(root)).sum() - white @ white / 2)

    def slope(self, u: Floats, priors: Priors) -> tuple[float, Floats]:
        """Log density and its gradient (d,)."""
        inverse = np.linalg.inv(self.covariance(joint_scale(np, *unpacked(u, self.judges))))
        weights, (sign, log_det) = inverse @ self.y, np.linalg.slogdet(inverse)
        pull = np.outer(weights, weights) - inverse
        by_scale = np.tensordot(self.gram, pull, axes=2) / 2
        one, two = np.triu_indices(self.judges + 1)
        moved = u + _STEP * np.concatenate([np.eye(len(u)), -np.eye(len(u))])
        scales = joint_scale(np, *unpacked(moved, self.judges))[:, one, two]
        change = scales @ by_scale + log_prior(priors, moved, self.judges)
        value = float(log_prior(priors, u, self.judges) + sign * log_det / 2 - weights @ self.y / 2)
        return value, (change[: len(u)] - change[len(u) :]) / (2 * _STEP)


def combined(parts: Floats, scale: Floats) -> Floats:
    """K (..., N, N) of G (..., R, R), as one product, so that a large array is written once."""
    one, two = np.triu_indices(scale.shape[-1])
    weights = np.concatenate([scale[..., one, two], np.ones((*scale.shape[:-2], 1))], axis=-1)
    found = weights @ parts.reshape(len(parts), -1)
    return np.asarray(found.reshape(*scale.shape[:-2], *parts.shape[1:]))


def unpacked(u: Any, judges: int) -> tuple[Any, Any, Any, Any, Any]:
    """τ (...), a (..., J), s (..., J), partial correlations (..., J(J − 1)/2) and ρ (...) of unconstrained values."""
    each = [1 + judges, 1 + 2 * judges, 1 + 2 * judges + len(vine_shapes(judges))]
    spread, slope, deviation, partial, shared = np.split(u, [1, *each], axis=-1)
    rho = expit(shared[..., 0]) if judges >= LEAST_SHARING else np.zeros(np.shape(u)[:-1])
    return np.exp(spread[..., 0]), slope, np.exp(deviation), expit(partial), rho


def start(judges: int) -> Floats:
    """Hyperparameters in the middle of their priors."""
    pairs, shared = len(vine_shapes(judges)), int(judges >= LEAST_SHARING)
    each = np.full(judges, 0.8), np.full(judges, np.log(0.3)), np.full(pairs, 0.3), np.zeros(shared)
    return np.concatenate([[-0.5], *each])


def find_mode(marginal: Marginal, priors: Priors) -> Mode:
    """By BFGS; the curvature by differences of the gradient."""
    from scipy.optimize import minimize

    def down(u: Floats) -> tuple[float, Floats]:
        value, slope = marginal.slope(u, priors)
        return -value, -slope

    found = minimize(
        down,
        start(marginal.judges),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-6, 4)]
        + [(-8, 8)] * marginal.judges
        + [(-6, 3)] * marginal.judges
        + [(-8, 8)] * (len(start(marginal.judges)) - 1 - 2 * marginal.judges),
    )
    return Mode(at=found.x, curvature=curvature_at(marginal, found.x, priors))


def curvature_at(marginal: Marginal, u: Floats, priors: Priors) -> Floats:
    """Minus the Hessian, kept positive definite."""
    step = 1e-3
    moves = step * np.eye(len(u))
    slopes = [(marginal.slope(u + move, priors)[1], marginal.slope(u - move, priors)[1]) for move in moves]
    matrix = -np.array([(up - down) / (2 * step) for up, down in slopes])
    # A prior of unit width is the least that is known of any direction.
    return nearest_definite(matrix, least=0.3)


def conditional(marginal: Marginal, u: Floats) -> tuple[Floats, Floats]:
    """Mean strengths (R, M), without what effects of the family add, and effects (J, E), given y and u."""
    scale = joint_scale(np, *unpacked(u, marginal.judges))
    weights = np.linalg.solve(marginal.covariance(scale), marginal.y)
    pulled = np.einsum("nrm,n->rm", marginal.design, weights)
    return scale @ pulled, np.einsum("nje,n->je", marginal.effects, weights)
