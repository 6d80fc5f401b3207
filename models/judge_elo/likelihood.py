"""The likelihood of `judge_elo` in NumPyro, part by part.

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
from jax.scipy.special import gammaln, ndtri
from numpy.typing import NDArray
from numpyro import distributions as dist
from numpyro.distributions import constraints
from numpyro.util import is_prng_key

from bayesjudge.model import Data
from bayesjudge.models.common.davidson import LOG_TIE, OUTCOMES, jax_log_outcomes
from bayesjudge.models.common.outcome_counts import OutcomeCounts

__all__ = [
    "FLOOR",
    "ScoreGaps",
    "joint_outcomes",
    "nodes",
    "numpyro_effects",
    "numpyro_links",
    "numpyro_scores",
    "numpyro_taste_root",
    "numpyro_tastes",
    "numpyro_verdict_outcomes",
    "numpyro_verdicts",
    "numpyro_votes",
    "numpyro_votes_given_verdicts",
    "outcomes_at",
    "vine_shapes",
]


def vine_shapes(judges: int) -> list[tuple[int, int, float]]:
    """Row, column and Beta shape of each canonical partial correlation of an LKJ(1) matrix.

    Uniform over correlation matrices of J judges (Lewandowski, Kurowicka & Joe 2009): the partial
    correlation of rows i > k given those before k is ``2 Beta(b, b) − 1`` with ``b = (J − k)/2``, k from 0.

    Examples
    --------
    >>> vine_shapes(3)
    [(1, 0, 1.5), (2, 0, 1.5), (2, 1, 1.0)]
    """
    return [(i, k, (judges - k) / 2) for k in range(judges) for i in range(k + 1, judges)]


def numpyro_taste_root(data: Data) -> Any:
    """Cholesky factor of the correlation of the judges' tastes, (J, J)."""
    judges = data.size("judge")
    if judges == 1:
        return jnp.ones((1, 1))
    vine = vine_shapes(judges)
    shapes = jnp.array([shape for *_, shape in vine])
    with numpyro.plate("judge_pair", len(vine), dim=-1):
        partial = 2 * numpyro.sample("taste_partial", dist.Beta(shapes, shapes)) - 1
    rows, columns = (np.array([pair[axis] for pair in vine]) for axis in (0, 1))
    lower = jnp.zeros((judges, judges)).at[rows, columns].set(partial)
    left = jnp.cumprod(jnp.sqrt(1 - lower**2), axis=1)
    before = jnp.concatenate([jnp.ones((judges, 1)), left[:, :-1]], axis=1)
    return (lower + jnp.eye(judges)) * before


def numpyro_tastes(scale: Any, data: Data) -> Any:
    """Tastes δ (J, M) with spreads ``scale`` (J, 1), sampled in the units that `data.taste_powers` chose."""
    unit = scale ** data["taste_power"][:, None]
    with (
        numpyro.plate("judge", data.size("judge"), dim=-2),
        numpyro.plate("model", data.size("model"), dim=-1),
    ):
        z = numpyro.sample("z_taste", dist.Normal(0.0, unit))
    return scale * (numpyro_taste_root(data) @ (z / unit))


def numpyro_votes(theta: Any, data: Data) -> Any:
    """People's votes; gives the log probabilities of their outcomes, (V, 3)."""
    log_tie = numpyro.sample("vote_log_tie", dist.Normal(*LOG_TIE))
    log_p = jax_log_outcomes(theta[data["vote_first"]] - theta[data["vote_second"]], log_tie)
    with numpyro.plate("vote_pattern", data.size("vote_pattern"), dim=-2), _outcome():
        numpyro.sample("vote_n", OutcomeCounts(log_p, data["vote_total"]), obs=data.arrays.get("vote_n"))
    return log_p


def numpyro_effects(data: Data) -> Any:
    """Coefficients of order, length and family for each judge, (J, effects)."""
    judges, effects = data.size("judge"), len(data.coords["effect"])
    if not effects:
        return jnp.zeros((judges, 0))
    with numpyro.plate("judge", judges, dim=-2), numpyro.plate("effect", effects, dim=-1):
        return numpyro.sample("effects", dist.Normal(0.0, 1.0))


def numpyro_verdicts(eye: Any, effects: Any, data: Data) -> None:
    """Verdicts, on the scale of each judge's own eye (J, M)."""
    outcomes = OutcomeCounts(numpyro_verdict_outcomes(eye, effects, data), data["verdict_total"])
    with numpyro.plate("verdict_pattern", data.size("verdict_pattern"), dim=-2), _outcome():
        numpyro.sample("verdict_n", outcomes, obs=data.arrays.get("verdict_n"))


def numpyro_verdict_outcomes(eye: Any, effects: Any, data: Data) -> Any:
    """Log probabilities of the outcomes of verdicts, (W, 3)."""
    judges = data.facts["verdicts"]
    d = _differences("verdict", eye, effects, judges, data)
    with numpyro.plate("verdict_judge", len(judges), dim=-1):
        log_tie = numpyro.sample("verdict_log_tie", dist.Normal(*LOG_TIE))
    return jax_log_outcomes(d, _own("verdict", judges, data) @ log_tie)


def numpyro_scores(eye: Any, effects: Any, data: Data) -> None:
    """Score gaps; padding (``score_seen`` 0) adds nothing."""
    judges = data.facts["graded"]
    own = _own("score", judges, data)
    d = _differences("score", eye, effects, judges, data)
    with numpyro.plate("score_judge", len(judges), dim=-1):
        noise = numpyro.sample("noise", dist.HalfNormal(1.0))
        freedom = numpyro.sample("freedom", dist.Gamma(2.0, 0.1))
    gaps = ScoreGaps(d, noise, freedom, own).mask(data["score_seen"] > 0)
    with numpyro.plate("score_battle", data.size("score_battle"), dim=-1):
        numpyro.sample("score", gaps, obs=data.arrays.get("score"))


def _own(kind: str, judges: tuple[int, ...], data: Data) -> Any:
    """Which of these judges a row is of, (R, judges) of 0 and 1: a product with it needs no scatter."""
    return jnp.asarray(data[f"{kind}_judge"][:, None] == jnp.arange(len(judges)), dtype=float)


def _differences(kind: str, eye: Any, effects: Any, judges: tuple[int, ...], data: Data) -> Any:
    """What separates the two models of each row in its judge's eye."""
    judge = jnp.array(judges)[data[f"{kind}_judge"]]
    apart = eye[judge, data[f"{kind}_first"]] - eye[judge, data[f"{kind}_second"]]
    shown = data[f"{kind}_x"] @ effects[np.array(judges)].T
    return apart + (shown * _own(kind, judges, data)).sum(-1)


def _outcome() -> Any:
    return numpyro.plate("outcome", 3, dim=-1)


#: Keeps a result as it is: the compiler would else work quantiles out again for every node and outcomes for
#: every joint one, in six times the time.
_once: Any = jax.lax.optimization_barrier
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


class ScoreGaps(dist.Distribution):  # type: ignore[misc] # NumPyro has no types
    """Student-t gaps whose constants are worked out once for each judge.

    NumPyro's StudentT evaluates the gamma function, and its derivative, for every battle: most of the cost
    of a log of a thousand gaps.

    Parameters
    ----------
    centre : array (B,)
        Mean gap of each battle.
    noise, freedom : array (J,)
        Scale and degrees of freedom of each judge.
    own : array (B, J)
        1 for the judge of each battle, else 0.

    Examples
    --------
    >>> one = ScoreGaps(jnp.zeros(1), jnp.ones(1), jnp.array([3.0]), jnp.ones((1, 1)))
    >>> known = dist.StudentT(3.0).log_prob(jnp.array([0.7]))
    >>> bool(jnp.allclose(one.log_prob(jnp.array([0.7])), known, rtol=1e-12))
    True
    """

    arg_constraints: dict[str, Any] = {}  # noqa: RUF012 - the name and type NumPyro asks for
    support = constraints.real

    def __init__(self, centre: Any, noise: Any, freedom: Any, own: Any) -> None:
        self.centre, self.noise, self.freedom, self.own = centre, noise, freedom, own
        super().__init__(batch_shape=jnp.shape(centre), event_shape=())

    def log_prob(self, value: Any) -> Any:
        """Log density of each gap, (B,)."""
        half = (self.freedom + 1) / 2
        constant = gammaln(half) - gammaln(self.freedom / 2) - 0.5 * jnp.log(jnp.pi * self.freedom)
        by_judge = jnp.stack([constant - jnp.log(self.noise), half, self.freedom * self.noise**2], axis=1)
        constants, power, spread = (self.own @ by_judge).T
        return constants - power * jnp.log1p((value - self.centre) ** 2 / spread)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        """New gaps."""
        assert is_prng_key(key)  # noqa: S101 - the check every NumPyro distribution makes
        noise, freedom = self.own @ self.noise, self.own @ self.freedom
        drawn = jax.random.t(key, freedom, shape=(*sample_shape, *jnp.shape(self.centre)))
        return self.centre + noise * drawn
