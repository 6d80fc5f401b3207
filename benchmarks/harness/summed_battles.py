"""`judge_elo` with its battles summed up, for as many worlds at once as one likes.

A model's human strength h and the judges' y_j are normal about θ and a_j θ + δ_j, with the sampling variances
of the battles; tastes δ are correlated between judges.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.optimize import minimize

__all__ = ["Parameters", "Seen", "learned", "left_out", "shaped", "sweep", "weights"]

#: Variance of a strength that nobody has voted on.
UNKNOWN = 1e6


class Seen(NamedTuple):
    """Strengths in logits and their sampling variances: of people (..., M), of judges (..., M, J)."""

    h: Any
    h_var: Any
    y: Any
    y_var: Any

    def of(self, judges: Sequence[int]) -> Seen:
        """As if there were no other judge."""
        columns = list(judges)
        return self._replace(y=self.y[..., columns], y_var=self.y_var[..., columns])


class Parameters(NamedTuple):
    """Offsets and slopes (J,), covariance of tastes (J, J) and spread of human strengths."""

    offset: Any
    slope: Any
    taste: Any
    spread: Any

    def of(self, judges: Sequence[int]) -> Parameters:
        """Those of some of the judges."""
        j = np.array(judges)
        return Parameters(self.offset[j], self.slope[j], self.taste[j[:, None], j], self.spread)


def sweep(p: Parameters, seen: Seen) -> tuple[Any, Any]:
    """Minus the log density of strengths (J judges, then people), and E[h | judges] (M,).

    One variable after another is conditioned on: plain arithmetic, so that many worlds go side by side.
    """
    judges = range(seen.y.shape[-1])
    at = jnp.append(p.slope, 1.0) * p.spread
    left = [seen.y[..., j] - p.offset[j] for j in judges] + [seen.h]
    noise = [seen.y_var[..., j] for j in judges] + [seen.h_var]
    size = len(left)
    taste = jnp.zeros((size, size)).at[: size - 1, : size - 1].set(p.taste)
    cov = {(k, j): at[k] * at[j] + taste[k, j] + (noise[k] if k == j else 0.0)
           for k in range(size) for j in range(k, size)}  # fmt: skip
    total, guess = 0.0, jnp.zeros_like(seen.h)
    for k in range(size):
        if k == size - 1:
            guess = seen.h - left[k]
        total += 0.5 * (jnp.log(cov[k, k]) + left[k] ** 2 / cov[k, k]).sum(-1)
        for j in range(k + 1, size):
            share = cov[k, j] / cov[k, k]
            left[j] = left[j] - share * left[k]
            for i in range(j, size):
                cov[j, i] = cov[j, i] - share * cov[k, i]
    return total, guess


def left_out(seen: Seen) -> tuple[Any, Parameters]:
    """Each model predicted by parameters that have not seen its votes: guesses (M,), parameters (M, ...)."""

    def one(m: Any) -> tuple[Any, Parameters]:
        hidden = seen._replace(h_var=seen.h_var.at[m].set(UNKNOWN), h=seen.h.at[m].set(0.0))
        found = shaped(learned(hidden), seen.y.shape[-1])
        return sweep(found, seen)[1][m], found

    seen = Seen(*(jnp.asarray(part) for part in seen))
    return jax.vmap(one)(jnp.arange(seen.h.shape[-1]))


def learned(seen: Seen) -> Any:
    """Mode of the parameters, under the priors of `judge_elo`; offsets are all but free."""
    judges = seen.y.shape[-1]
    pairs = judges * (judges - 1) // 2

    def minus(x: Any) -> Any:
        p = shaped(x, judges)
        prior = (p.slope - 1) ** 2 / 2 + p.offset**2 / 20 + jnp.diag(p.taste) / (2 * 0.5**2)
        return sweep(p, seen)[0] + prior.sum() + p.spread**2 / 2

    start = jnp.concatenate(
        [jnp.zeros(judges), jnp.ones(judges), jnp.full(judges, -1.5), jnp.zeros(pairs + 1)]
    )
    return minimize(minus, start, method="BFGS", options={"maxiter": 60}).x


def shaped(x: Any, judges: int) -> Parameters:
    """From a flat vector: offsets, slopes, log spreads of tastes, their partial correlations, log spread."""
    offset, slope, log_taste = x[:judges], x[judges : 2 * judges], x[2 * judges : 3 * judges]
    rows, columns = np.tril_indices(judges, -1)
    lower = jnp.zeros((judges, judges)).at[rows, columns].set(jnp.tanh(x[3 * judges : -1]))
    left = jnp.cumprod(jnp.sqrt(1 - lower**2), axis=1)
    root = (lower + jnp.eye(judges)) * jnp.concatenate([jnp.ones((judges, 1)), left[:, :-1]], axis=1)
    root = jnp.exp(log_taste)[:, None] * root
    return Parameters(offset, slope, root @ root.T, jnp.exp(x[-1]))


def weights(p: Parameters, seen: Seen, m: int) -> Any:
    """How far the prediction of model m moves for a logit more of each judge."""
    return jax.grad(partial(_guess, p, seen, m))(jnp.asarray(seen.y[m]))


def _guess(p: Parameters, seen: Seen, m: int, y: Any) -> Any:
    one = Seen(jnp.zeros(1), jnp.asarray(seen.h_var[m])[None], y[None], jnp.asarray(seen.y_var[m])[None])
    return sweep(p, one)[1][0]
