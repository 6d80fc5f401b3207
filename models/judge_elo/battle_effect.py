"""What several raters' verdicts on one battle share beyond the models' strengths: one factor, in JAX.

Two answers to one prompt differ by more than their models do, and everyone who reads them sees the same two.
For a battle with effect e ~ N(0, 1), rater r's outcome is where a latent normal with correlation ρ_r to e
falls between two thresholds (METHODS 4.8; Nikoloulopoulos & Joe 2015, "Factor copula models for item response
data", Psychometrika 80)::

    P(first wins | e)  = Φ((Φ⁻¹(p_first) + ρ e) / √(1 − ρ²))
    P(second wins | e) = Φ((Φ⁻¹(p_second) − ρ e) / √(1 − ρ²))

p are Davidson's probabilities. Averaged over e they come back exactly: strengths, Elo and ties keep their
meaning whatever ρ is, and a battle that one rater saw tells what it told before. An effect added to the
difference of strengths instead would make strengths larger the more raters agree.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from jax.scipy.special import ndtri
from numpy.typing import NDArray
from numpyro import distributions as dist

from bayesjudge.model import Data
from bayesjudge.models.common.davidson import LOG_TIE, OUTCOMES, OutcomeCounts, jax_log_outcomes

#: Keeps a result as it is: the compiler would else work quantiles out again for every node and outcomes for
#: every joint one, in six times the time.
_once: Any = jax.lax.optimization_barrier

__all__ = ["FLOOR", "joint_outcomes", "nodes", "numpyro_links", "numpyro_votes_given_verdicts", "outcomes_at"]

#: Nodes of Gauss–Hermite quadrature over e.
NODES = 9
#: Smallest probability of a joint outcome: what nobody saw may have none, and its logarithm must be a number.
#: So must its square's reciprocal, the logarithm's second derivative: the search for a mode needs it.
FLOOR = 1e-140


def nodes() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Values of e and their weights, which add up to 1."""
    at, weight = np.polynomial.hermite_e.hermegauss(NODES)
    return at, weight / weight.sum()


def outcomes_at(log_p: Any, loading: Any) -> Any:
    """Probabilities (Q, 3, ..., D) of outcomes at each node, from their logarithms (..., D, 3) and ρ (...).

    Strata come last: the same arithmetic for each of them then runs through the memory in one go. Raters
    together compile once, in a third of the time that they take one by one.

    Examples
    --------
    >>> there = outcomes_at(jnp.log(jnp.array([[0.5, 0.2, 0.3]])), 0.6)
    >>> np.asarray(nodes()[1] @ there[..., 0], dtype=float).round(4).tolist()
    [0.5, 0.2, 0.3]
    """
    first, tie, second = jnp.moveaxis(jnp.exp(log_p), -1, 0)
    along = (1,) * first.ndim
    e, side = nodes()[0].reshape(-1, 1, *along), np.array([1.0, -1.0]).reshape(2, *along)
    rho = jnp.asarray(loading)[..., None]
    ends = _quantile(jnp.stack([first, second]), jnp.stack([tie + second, first + tie]))
    p = _normal((ends + rho * e * side) / jnp.sqrt(1 - rho**2))
    return _once(jnp.stack([p[:, 0], jnp.maximum(1 - p[:, 0] - p[:, 1], 0.0), p[:, 1]], axis=1))


def _normal(x: Any) -> Any:
    """Φ: JAX's own works out both of its branches everywhere."""
    return _once(0.5 * jax.lax.erfc(_once(-x / math.sqrt(2))))


def _quantile(p: Any, rest: Any) -> Any:
    """Φ⁻¹(p), from the nearer tail; p and ``rest`` add up to 1."""
    small = _once(jnp.minimum(p, rest))
    return _once(jnp.where(p < rest, 1.0, -1.0) * ndtri(small))


def joint_outcomes(each: list[Any]) -> Any:
    """Probabilities (D, 3^raters) of joint outcomes from each rater's at the nodes, (Q, 3, D).

    Raters are multiplied out in two halves, which one matrix product over the nodes brings together.
    """
    half = (len(each) + 1) // 2
    one, other = _outer(each[:half]), _outer(each[half:])
    found = jnp.einsum("qad,qbd->dab", one * nodes()[1][:, None, None], other)
    return found.reshape(found.shape[0], -1)


def _outer(each: list[Any]) -> Any:
    found = each[0]
    for other in each[1:]:
        found = (found[:, :, None] * other[:, None]).reshape(len(found), -1, found.shape[-1])
    return found


def numpyro_loadings(data: Data) -> Any:
    """ρ of people and of each judge, (J + 1,)."""
    with numpyro.plate("rater", data.size("rater"), dim=-1):
        return numpyro.sample("loading", dist.Uniform(0.0, 1.0))


def numpyro_links(vote_log_p: Any, verdict_log_p: Any, data: Data) -> None:
    """Joint outcomes of the battles of each stratum."""
    people = vote_log_p[data["linked_place"][:, 0]]
    joint = _joint(people, verdict_log_p, numpyro_loadings(data), data, seen=data["linked_seen"][:, 0])
    with (
        numpyro.plate("linked_battle", data.size("linked_battle"), dim=-2),
        numpyro.plate("joint_outcome", data.size("joint_outcome"), dim=-1),
    ):
        outcomes = OutcomeCounts(jnp.log(joint), data["linked_total"])
        numpyro.sample("linked_n", outcomes, obs=data.arrays.get("linked_n"))


def numpyro_votes_given_verdicts(theta: Any, verdict_log_p: Any, data: Data) -> Any:
    """Probabilities (D, 3^J, 3) of a vote on a battle, given what each of its judges said of it."""
    log_tie = numpyro.sample("vote_log_tie", dist.Normal(*LOG_TIE))
    people = jax_log_outcomes(theta[data["linked_first"]] - theta[data["linked_second"]], log_tie)
    every = jnp.ones(len(people))
    joint = _joint(people, verdict_log_p, numpyro_loadings(data), data, seen=every)
    joint = joint.reshape(len(people), len(OUTCOMES), -1)
    return jnp.moveaxis(joint / joint.sum(axis=1, keepdims=True), 1, -1)


def _joint(people: Any, verdict_log_p: Any, loading: Any, data: Data, *, seen: Any) -> Any:
    """Joint outcomes in the strata, (D, 3^(J + 1)); a rater who saw nothing says 0 for certain."""
    saw = jnp.vstack([seen, data["linked_seen"].T[1:]]) > 0
    judged = [verdict_log_p[data["linked_place"][:, rater]] for rater in range(1, data.size("rater"))]
    nothing = jnp.array([1.0, 0.0, 0.0])[:, None, None]
    each = jnp.where(saw, outcomes_at(jnp.stack([people, *judged]), loading), nothing)
    return jnp.maximum(joint_outcomes(list(jnp.moveaxis(each, 2, 0))), FLOOR)
