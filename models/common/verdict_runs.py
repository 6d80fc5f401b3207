"""Several runs of a judge on one answer, given its label; and the quadrature over what runs share.

K runs are Beta-binomial, ``BetaBinomial(K, qφ, (1−q)φ)``, written with the correlation ``ρ = 1/(1+φ)`` of two
runs: with ``x₀ = 1`` and ``x_t = 1−ρ+tρ``, the rising factorials give

    P(k of K) = C(K, k) Π_{t<k} (q(1−ρ) + tρ) Π_{t<K−k} ((1−q)(1−ρ) + tρ) / Π_{t<K} (1−ρ+tρ).

The three factors at t = 0 hold ``1−ρ`` each and are cancelled by hand, so one run is exactly Bernoulli(q),
ρ = 0 exactly binomial, and no digits are lost as φ grows, as they would be with log-gamma functions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["gauss_hermite", "jax_runs_log_prob", "log_choose", "pytensor_runs_log_prob"]


def log_choose(runs: Any, positives: Any) -> Any:
    """Log binomial coefficient: how many orders of the runs give the same count (a constant of the data).

    Examples
    --------
    >>> round(float(np.exp(log_choose(4, 2))), 9)
    6.0
    """
    from scipy.special import gammaln

    return gammaln(runs + 1.0) - gammaln(positives + 1.0) - gammaln(runs - positives + 1.0)


def jax_runs_log_prob(logit: Any, rho: Any, runs: Any, positives: Any, most: int) -> Any:
    """Log probability of ``positives`` in ``runs`` without the binomial coefficient.

    Arguments broadcast; ``logit`` is that of one run saying 1 and ``most`` the largest number of runs.
    """
    import jax
    import jax.numpy as jnp

    negatives, yes, no = runs - positives, jax.nn.log_sigmoid(logit), jax.nn.log_sigmoid(-logit)
    if most == 1:
        return positives * yes + negatives * no
    total = jnp.where(positives > 0, yes, 0.0) + jnp.where(negatives > 0, no, 0.0)
    total += jnp.where((positives > 0) & (negatives > 0), jnp.log1p(-rho), 0.0)
    for t in range(1, most):
        total += jnp.where(t < positives, jnp.log(jnp.exp(yes) * (1 - rho) + t * rho), 0.0)
        total += jnp.where(t < negatives, jnp.log(jnp.exp(no) * (1 - rho) + t * rho), 0.0)
        total -= jnp.where(t < runs, jnp.log1p((t - 1) * rho), 0.0)
    return total


def pytensor_runs_log_prob(logit: Any, rho: Any, runs: Any, positives: Any, most: int) -> Any:
    """The same in PyTensor, for arrays of floats, with every factor of the Beta-binomial written out."""
    import pytensor.tensor as pt

    if most == 1:
        return -positives * pt.softplus(-logit) - (runs - positives) * pt.softplus(logit)
    one, zero = np.float64(1), np.float64(0)
    yes, no = pt.sigmoid(logit) * (one - rho), pt.sigmoid(-logit) * (one - rho)
    total = zero
    for t in map(np.float64, range(most)):
        total = total + pt.switch(t < positives, pt.log(yes + t * rho), zero)
        total = total + pt.switch(t < runs - positives, pt.log(no + t * rho), zero)
        total = total - pt.switch(t < runs, pt.log((one - rho) + t * rho), zero)
    return total


def gauss_hermite(nodes: int = 21) -> tuple[Any, Any]:
    """Nodes and log weights that integrate against a standard normal.

    Examples
    --------
    >>> x, log_w = gauss_hermite(21)
    >>> round(float(np.exp(log_w) @ x**4), 10)
    3.0
    """
    x, w = np.polynomial.hermite_e.hermegauss(nodes)
    return x, np.log(w) - 0.5 * math.log(2 * math.pi)
