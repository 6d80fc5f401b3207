"""The likelihood of `judge_error` in JAX: log probability of every pattern of an answer.

What a judge says of an answer takes few values, while patterns (over labels, judges and clusters) can be
many. So the channel is worked out once for each outcome of one judge, and patterns look theirs up.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpyro
from jax.scipy.special import logsumexp
from numpyro import distributions as dist

from bayesjudge.model import Data
from bayesjudge.models.common.verdict_channel import gauss_hermite, jax_runs_log_prob

__all__ = ["log_label", "log_pattern", "log_verdicts", "numpyro_accuracy_shift", "numpyro_ease"]


def numpyro_ease(judges: int) -> Any:
    """How strongly each judge feels how easy an answer is to judge, (judges,)."""
    with numpyro.plate("judge", judges, dim=-2):
        return numpyro.sample("ease_spread", dist.HalfNormal(1.0))[:, 0]


def numpyro_accuracy_shift(clusters: int) -> Any:
    """How much easier each cluster's items are for every model, in logits, (clusters,)."""
    if not clusters:
        return jnp.zeros(1)
    spread = numpyro.sample("accuracy_spread", dist.HalfNormal(1.0))
    with numpyro.plate("cluster", clusters, dim=-1):
        return spread * numpyro.sample("accuracy_shift", dist.Normal(0.0, 1.0))


def log_label(theta: Any, shift: Any, data: Data) -> Any:
    """Log P(y) of each pattern's unit and cluster, (2, patterns), y = 0 first."""
    logit = jnp.log(theta) - jnp.log1p(-theta) + shift[:, None]
    both = jax.nn.log_sigmoid(jnp.stack([-logit, logit]))
    return both[:, data["cluster"], data["unit"]]


def log_verdicts(logit_1: Any, logit_0: Any, data: Data, *, rho: Any, ease: Any, shift: Any) -> Any:
    """Log P(verdicts of all judges | y) of each pattern, (2, patterns), y = 0 first.

    ``ease`` is None, or the judges' loadings on how easy the answer is to judge, which is integrated out.
    """
    leniency = jnp.stack([-shift, shift])[:, :, None, None]
    right = jnp.stack([logit_0.T, logit_1.T])[:, None] + leniency
    if ease is None:
        return _look_up(right, rho, data)
    nodes, log_w = gauss_hermite(21)
    at_node = jax.vmap(lambda u: _look_up(right + ease * u, rho, data))(jnp.asarray(nodes))
    return logsumexp(at_node + log_w[:, None, None], axis=0)


def _look_up(right: Any, rho: Any, data: Data) -> Any:
    """From logits of a right verdict (2, clusters, units, judges) to patterns (2, patterns)."""
    sign = jnp.array([-1.0, 1.0])[:, None, None, None]
    rho = rho if isinstance(rho, float) else rho[:, None]
    table = jax_runs_log_prob((sign * right)[..., None], rho, data["outcome_runs"], data["outcome_positives"],
                              data.facts["most_runs"])  # fmt: skip
    judge = jnp.arange(right.shape[-1])
    rows = table[:, data["cluster"][:, None], data["unit"][:, None], judge, data["outcome"]]
    return rows.sum(-1)


def log_pattern(log_y: Any, log_v: Any, data: Data, *, enriched: bool) -> Any:
    """Log probability of each pattern: P(y, v) if labelled, P(v | y) if the label was chosen, else P(v)."""
    joint = log_y + log_v
    wrong, right = log_v if enriched else joint
    of_label = jnp.where(data["label"] == 1, right, wrong)
    return jnp.where(data["label"] < 0, jnp.logaddexp(joint[0], joint[1]), of_label)
