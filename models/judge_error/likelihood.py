"""The likelihood of `judge_error`: log probability of every cell in JAX; score and information in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.maths.definite import nearest_definite

type Array = NDArray[np.float64]


def log_cells(theta: Any, logit_1: Any, logit_0: Any, *, enriched: bool) -> Any:
    """Log probability of the six cells of each unit, in the order of `CELLS`, (U, 6), in JAX.

    enriched: Labels were chosen: a labelled answer counts through P(v | y) alone.
    """
    import jax.numpy as jnp

    return _log_cells(jnp.log(theta), jnp.log1p(-theta), logit_1, logit_0, enriched=enriched)


def log_cells_of_logits(logit: Any, logit_1: Any, logit_0: Any, *, enriched: bool) -> Any:
    """The same from the logits of accuracies."""
    from jax.nn import log_sigmoid

    return _log_cells(log_sigmoid(logit), log_sigmoid(-logit), logit_1, logit_0, enriched=enriched)


def _log_cells(right: Any, wrong: Any, logit_1: Any, logit_0: Any, *, enriched: bool) -> Any:
    import jax.numpy as jnp
    from jax.nn import log_sigmoid

    of_right = [log_sigmoid(-logit_1), log_sigmoid(logit_1)]
    of_wrong = [log_sigmoid(logit_0), log_sigmoid(-logit_0)]
    either = [jnp.logaddexp(right + of_right[v], wrong + of_wrong[v]) for v in (0, 1)]
    given = 0.0 if enriched else 1.0
    labelled = [given * wrong + p for p in of_wrong] + [given * right + p for p in of_right]
    return jnp.stack([*either, *labelled], axis=-1)


def scores(theta: Array, q1: Array, q0: Array, *, enriched: bool) -> Array:
    """Gradient of `log_cells` by the logits of θ, q1 and q0 of the cell's own unit, (U, 6, 3)."""
    found = np.zeros((len(theta), 6, 3))
    share = _share(theta, q1, q0)
    for v in (0, 1):
        right, wrong = _complete(theta, q1, q0, v)
        found[:, v] = share[:, v, None] * right + (1 - share[:, v, None]) * wrong
        found[:, 2 + v], found[:, 4 + v] = wrong, right
    if enriched:
        found[:, 2:, 0] = 0.0
    return found


def information(theta: Array, q1: Array, q0: Array, *, n: Array, enriched: bool) -> Array:
    """Minus the Hessian of ``Σ n log p`` by the same logits, (U, 3, 3), without negative eigenvalues.

    By Louis (1982): the information of complete data less the variance of its score given the data.
    """
    share, unlabelled = _share(theta, q1, q0), n[:, :2]
    right = n[:, 4] + n[:, 5] + (unlabelled * share).sum(axis=1)
    wrong = n[:, 2] + n[:, 3] + (unlabelled * (1 - share)).sum(axis=1)
    about_theta = unlabelled.sum(axis=1) if enriched else n.sum(axis=1)
    found = np.zeros((len(theta), 3, 3))
    found[:, 0, 0] = about_theta * theta * (1 - theta)
    found[:, 1, 1], found[:, 2, 2] = right * q1 * (1 - q1), wrong * q0 * (1 - q0)
    for v in (0, 1):
        gap = np.subtract(*_complete(theta, q1, q0, v))
        weight = unlabelled[:, v] * share[:, v] * (1 - share[:, v])
        found -= weight[:, None, None] * gap[:, :, None] * gap[:, None, :]
    return nearest_definite(found)


def _share(theta: Array, q1: Array, q0: Array) -> Array:
    """P(y = 1 | v) for v = 0 and 1, (U, 2)."""
    right = theta[:, None] * np.stack([1 - q1, q1], axis=-1)
    wrong = (1 - theta)[:, None] * np.stack([q0, 1 - q0], axis=-1)
    return np.asarray(right / (right + wrong))


def _complete(theta: Array, q1: Array, q0: Array, v: int) -> tuple[Array, Array]:
    """Scores (U, 3) of a right answer with verdict v, and of a wrong one."""
    nothing = np.zeros_like(theta)
    right = np.stack([1 - theta, v - q1, nothing], axis=-1)
    return right, np.stack([-theta, nothing, (1 - v) - q0], axis=-1)
