"""The Gaussian algebra of labels to come: what each would tell, alone and after others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesjudge.errors import UsageError, require_choice
from bayesjudge.estimates import POPULATIONS

type Array = NDArray[np.float64]
type Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem:
    """What an answer's label would tell: N cells (I × M, flat), T targets.

    draws: Centred draws over √(D − 1), 0 for cells that cannot be asked.
    noise: ``E p(1 − p)``.
    target: Covariances of the labels with the targets.
    variance: Summed variance of the targets now.
    models: Cells an item.
    askable: Which items have an answer to ask for.
    """

    draws: Array
    noise: Array
    target: Array
    variance: float
    models: int
    askable: Flags

    def cells(self, items: NDArray[np.int64]) -> NDArray[np.int64]:
        """Positions of the items' cells."""
        return (items[:, None] * self.models + np.arange(self.models)).ravel()


def checked_draws(probabilities: ArrayLike, labelled: ArrayLike | None) -> tuple[Array, Flags]:
    """Draws (D, I, M) and which answers are labelled (I, M), or a `UsageError`."""
    draws = np.asarray(probabilities, dtype=float)
    if draws.ndim != 3 or len(draws) < 2 or (draws < 0).any() or (draws > 1).any():
        raise UsageError(
            f"probabilities must be draws in [0, 1] of shape (draws, items, models), two draws "
            f"or more; got {draws.shape}"
        )
    done = np.zeros(draws.shape[1:], dtype=bool) if labelled is None else np.asarray(labelled)
    if done.shape != draws.shape[1:] or done.dtype != bool:
        raise UsageError(f"labelled must be True or False for each of {draws.shape[1:]} (items, models)")
    return draws, done


def checked_contrast(contrast: ArrayLike | None, models: int) -> Array:
    """Contrasts (T, M), every accuracy by default, or a `UsageError`."""
    weights = np.eye(models) if contrast is None else np.atleast_2d(np.asarray(contrast, dtype=float))
    if weights.ndim != 2 or weights.shape[1] != models:
        raise UsageError(f"contrast must have one weight for each of the {models} models in every row")
    return weights


def make_problem(draws: Array, done: Flags, contrast: Array, population: str) -> Problem:
    """Covariances of what can be asked, from draws (D, I, M), labels there are, and contrasts (T, M)."""
    require_choice("population", population, POPULATIONS)
    exists = ~np.isnan(draws).any(0)
    p = np.where(exists, draws, 0.0)
    ask, size = exists & ~done, np.maximum(exists.sum(0), 1)
    centred = (p - p.mean(0)) / np.sqrt(len(p) - 1.0)
    noise = np.where(exists, (p * (1.0 - p)).mean(0), 0.0)
    on_items = population == "items"
    # Labels that are known leave these items' accuracy nothing to vary by.
    counted = np.where(ask, centred, 0.0) if on_items else centred
    aim = (counted.sum(1) / size) @ contrast.T
    own = np.where(ask, noise / size, 0.0) if on_items else np.zeros_like(noise)
    asked = np.where(ask, centred, 0.0).reshape(len(p), -1)
    target = asked.T @ aim + (own[:, :, None] * contrast.T).reshape(-1, len(contrast))
    left = float((aim * aim).sum() + ((own / size).sum(0) * (contrast**2).sum(0)).sum())
    # A cell that cannot be asked gets noise and nothing to tell.
    quiet = np.where(ask, np.maximum(noise, 1e-12), 1.0).ravel()
    target = np.where(ask.reshape(-1, 1), target, 0.0)
    return Problem(draws=asked, noise=quiet, target=target, variance=left, models=draws.shape[2], askable=ask.any(1))


def factor_of(problem: Problem, factors: Array, spread: Array, item: int) -> Array:
    """Covariances (N, M) of all cells with the item's answers given all before, over their Cholesky root."""
    mine = problem.cells(np.array([item]))
    cov = problem.draws.T @ problem.draws[:, mine] - factors @ factors[mine].T
    cov[mine] += np.diag(problem.noise[mine])
    return np.asarray(np.linalg.solve(np.linalg.cholesky(spread), cov.T).T)


def path_of(problem: Problem, order: NDArray[np.int64]) -> Array:
    """Variance before and after each item of an order, from one Cholesky factor of all its answers."""
    if not len(order):
        return np.array([problem.variance])
    mine = problem.cells(order)
    spread = problem.draws[:, mine].T @ problem.draws[:, mine] + np.diag(problem.noise[mine])
    whitened = np.linalg.solve(np.linalg.cholesky(spread), problem.target[mine])
    gains = (whitened * whitened).sum(1).reshape(len(order), -1).sum(1)
    return np.asarray(np.maximum(problem.variance - np.r_[0.0, np.cumsum(gains)], 0.0))
