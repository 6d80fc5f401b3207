r"""A hierarchical logit of the label on all votes, as a prediction rule for the efficient estimator.

.. math:: \mathrm{logit}\,P(y_{im}=1) = α_0 + α_m + γℓ_m + δc_i + Σ_j β_j(v_{imj} - ½),

with ``α_m ~ N(0, s_α)``, ``β_j ~ N(b_0, s_β)``, ``b_0 ~ N(1, 1)``, ``α_0 ~ N(0, 1.5)``, ``γ, δ ~ N(0, 1)``;
ℓ_m is the centred logit of the model's mean vote, c_i the item's centred mean vote, and a missing vote
contributes 0. Coefficients are posterior modes by Newton's method, the two scales maximise Laplace's
approximation of the marginal likelihood (empirical Bayes) over a grid. Whatever the rule gets wrong the
labelled answers correct: the estimator built on it is consistent for any rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from bayesjudge.baselines.common.moments import Array
from bayesjudge.baselines.panel.proxies import Rule, mean_vote
from bayesjudge.counts.panel import PanelVotes

#: Scales of models and of judges tried, with half-normal weights of scale 0.7 and 1.
_MODEL_SCALES, _JUDGE_SCALES = (0.2, 0.5, 1.0), (0.2, 0.5, 1.0, 2.0)
#: α_0, γ, δ and b_0 come first in the design.
_FIXED_MEAN, _FIXED_SCALE = np.array([0.0, 0.0, 0.0, 1.0]), np.array([1.5, 1.0, 1.0, 1.0])
#: Newton's method has converged when the gradient is this small: the next step would square that.
_GRADIENT, _STEPS = 1e-8, 100


@dataclass(frozen=True, eq=False, kw_only=True)
class Mode:
    """Coefficients at the mode and the log of Laplace's marginal likelihood."""

    coefficients: Array
    evidence: float


def penalised_logit(design: Array, y: Array, *, mean: Array, scale: Array, start: Array | None = None) -> Mode:
    """Mode of a logistic regression with independent normal priors.

    y: Labels in [0, 1].
    start: Where to begin; the prior mean by default. The objective is concave, so it changes the time alone.
    """
    precision, beta = 1.0 / scale**2, np.array(mean if start is None else start)
    for _ in range(_STEPS):
        p = expit(design @ beta)
        gradient = design.T @ (y - p) - precision * (beta - mean)
        hessian = (design.T * (p * (1.0 - p))) @ design + np.diag(precision)
        if np.abs(gradient).max() < _GRADIENT:
            break
        beta = _damped(design, y, mean, precision, beta, step=np.linalg.solve(hessian, gradient))
    value = _objective(design, y, mean, precision, beta)
    evidence = value + 0.5 * (np.log(precision).sum() - np.linalg.slogdet(hessian)[1])
    return Mode(coefficients=beta, evidence=float(evidence))


def _damped(design: Array, y: Array, mean: Array, precision: Array, beta: Array, *, step: Array) -> Array:
    """The longest of the halved steps that goes uphill; the objective is concave, so there is one."""
    start = _objective(design, y, mean, precision, beta)
    for halvings in range(40):
        trial = beta + step / 2.0**halvings
        # At the mode a step changes nothing but rounding.
        if _objective(design, y, mean, precision, trial) >= start - 1e-12 * (1.0 + abs(start)):
            return np.asarray(trial)
    return beta


def _objective(design: Array, y: Array, mean: Array, precision: Array, beta: Array) -> float:
    eta = design @ beta
    likelihood = float((y * eta - np.logaddexp(0.0, eta)).sum())
    return likelihood - 0.5 * float((precision * (beta - mean) ** 2).sum())


def panel_logit_rule(votes: PanelVotes) -> Rule:
    """Training cells → predicted probabilities (I, M)."""
    design = panel_design(votes)
    models, judges = len(votes.models), len(votes.judges)
    mean = np.r_[_FIXED_MEAN, np.zeros(models + judges)]
    flat = design.reshape(-1, design.shape[2])

    def rule(training: NDArray[np.bool_]) -> Array:
        x, y = design[training], votes.label[training]
        modes: list[tuple[float, Array]] = []
        for a, b in product(_MODEL_SCALES, _JUDGE_SCALES):
            scale = np.r_[_FIXED_SCALE, np.full(models, a), np.full(judges, b)]
            near = modes[-1][1] if modes else None
            mode = penalised_logit(x, y, mean=mean, scale=scale, start=near)
            modes.append((mode.evidence - 0.5 * ((a / 0.7) ** 2 + b**2), mode.coefficients))
        best = max(modes, key=lambda one: one[0])[1]
        return expit(flat @ best).reshape(design.shape[:2])

    return rule


def panel_design(votes: PanelVotes) -> Array:
    """Regressors (I, M, K): intercept, ℓ_m, c_i, sum of votes, models, votes."""
    items, models, _ = votes.votes.shape
    vote = np.where(np.isfinite(votes.votes), votes.votes - 0.5, 0.0)
    mean = np.where(votes.answered, mean_vote(votes), np.nan)
    by_model = _mean_over(mean, 0)
    level = np.log(by_model + 0.01) - np.log(1.01 - by_model)
    by_item = _mean_over(mean, 1)
    level, of_item = level - level.mean(), (by_item - by_item.mean())[:, None]
    columns = [
        np.ones((items, models)),
        np.broadcast_to(level, (items, models)),
        np.broadcast_to(of_item, (items, models)),
        vote.sum(2),
    ]
    dummies = np.broadcast_to(np.eye(models), (items, models, models))
    return np.concatenate([np.stack(columns, axis=2), dummies, vote], axis=2)


def _mean_over(values: Array, axis: int) -> Array:
    """Mean of what is finite along an axis; ½ where nothing is."""
    finite = np.isfinite(values)
    count = finite.sum(axis)
    return np.where(count > 0, np.where(finite, values, 0.0).sum(axis) / np.maximum(count, 1), 0.5)
