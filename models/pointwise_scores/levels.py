"""Cumulative-logit levels of scores: the logarithm of each level's probability, without cancellation.

``P(level ≤ k) = σ((c_k − η)/s)``, so a level between cuts a < b has ``σ(b) − σ(a) = σ(b) σ(−a) (1 −
e^{a−b})``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["jax_lean", "jax_log_levels", "pytensor_log_levels"]


def jax_log_levels(margin: Any, cuts: Any, scale: Any) -> Any:
    """Log probability of each level, (L, ...), from margins (...), cuts (L − 1,), and scales to match."""
    import jax
    import jax.numpy as jnp

    cuts = jnp.reshape(cuts, (-1, *[1] * jnp.ndim(margin)))
    at = (cuts - margin) / scale
    # log σ(−x) = log σ(x) − x; and what lies between two cuts does not depend on the margin.
    below = jax.nn.log_sigmoid(at)
    above = below - at
    apart = jnp.log(-jnp.expm1((cuts[:-1] - cuts[1:]) / scale))
    return jnp.concatenate([below[:1], below[1:] + above[:-1] + apart, above[-1:]])


def jax_lean(margin: Any, cuts: Any, scale: Any) -> tuple[Any, Any]:
    """Probability of each level, and how fast its logarithm grows with the margin, (L, ...) each.

    ``d log p_k / dη = (σ(b) + σ(a) − 1)/s`` for a level between cuts a < b.
    """
    import jax
    import jax.numpy as jnp

    below = jax.nn.sigmoid((jnp.reshape(cuts, (-1, *[1] * jnp.ndim(margin))) - margin) / scale)
    none, every = jnp.zeros_like(below[:1]), jnp.ones_like(below[:1])
    low, high = jnp.concatenate([none, below]), jnp.concatenate([below, every])
    return high - low, (low + high - 1) / scale


def pytensor_log_levels(margin: Any, cuts: Any, scale: Any) -> Any:
    """The same in PyTensor."""
    import pytensor.tensor as pt

    at = (cuts - margin[:, None]) / scale[:, None]
    middle = -pt.softplus(-at[:, 1:]) - pt.softplus(at[:, :-1]) + pt.log1p(-pt.exp(at[:, :-1] - at[:, 1:]))
    return pt.concatenate(
        [-pt.softplus(-at[:, :1]), middle, np.float64(-1) * pt.softplus(at[:, -1:])], axis=1
    )
