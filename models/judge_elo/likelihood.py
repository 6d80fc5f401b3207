"""The likelihood of `judge_elo` in NumPyro, part by part."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro
from numpyro import distributions as dist

from bayesjudge.model import Data
from bayesjudge.models.common.davidson import LOG_TIE, OutcomeCounts, jax_log_outcomes
from bayesjudge.models.judge_elo.score_gaps import ScoreGaps

__all__ = [
    "numpyro_effects",
    "numpyro_scores",
    "numpyro_taste_root",
    "numpyro_tastes",
    "numpyro_verdict_outcomes",
    "numpyro_verdicts",
    "numpyro_votes",
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
    """Tastes δ (J, M) with spreads ``scale`` (J, 1), sampled in the units that `taste_scales` chose."""
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
