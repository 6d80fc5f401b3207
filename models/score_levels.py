"""Cumulative-logit levels of scores: the logarithm of each level's probability, without cancellation.

``P(level ≤ k) = σ((c_k − η)/s)``, so a level between cuts a < b has ``σ(b) − σ(a) = σ(b) σ(−a) (1 −
e^{a−b})``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["jax_log_levels", "pytensor_log_levels"]


def jax_log_levels(margin: Any, cuts: Any, scale: Any) -> Any:
    """Log probability of each level, (C, L), from margins (C,), cuts (L − 1,) and scales (C,)."""
    import jax
    import jax.numpy as jnp

    at = (cuts - margin[:, None]) / scale[:, None]
    lowest, highest = jax.nn.log_sigmoid(at[:, :1]), jax.nn.log_sigmoid(-at[:, -1:])
    gap = at[:, :-1] - at[:, 1:]
    middle = jax.nn.log_sigmoid(at[:, 1:]) + jax.nn.log_sigmoid(-at[:, :-1]) + jnp.log(-jnp.expm1(gap))
    return jnp.concatenate([lowest, middle, highest], axis=1)


def pytensor_log_levels(margin: Any, cuts: Any, scale: Any) -> Any:
    """The same in PyTensor."""
    import pytensor.tensor as pt

    at = (cuts - margin[:, None]) / scale[:, None]
    middle = -pt.softplus(-at[:, 1:]) - pt.softplus(at[:, :-1]) + pt.log1p(-pt.exp(at[:, :-1] - at[:, 1:]))
    return pt.concatenate(
        [-pt.softplus(-at[:, :1]), middle, np.float64(-1) * pt.softplus(at[:, -1:])], axis=1
    )
