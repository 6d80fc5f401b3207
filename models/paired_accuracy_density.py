"""The likelihood of `paired_accuracy` in JAX.

One model's answer shows one of few cells (label, runs, verdicts of 1). Its probability given the true label
(two models) or given the item effect u (many) is worked out once for each cell; an item's pattern is a
sum over models of logs from that table, a matrix product for all patterns and quadrature nodes at once.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpyro
from jax.scipy.special import logsumexp
from numpyro import distributions as dist

from bayesjudge.model import Data
from bayesjudge.models.verdict_runs import gauss_hermite, jax_runs_log_prob

__all__ = [
    "item_log_prob",
    "label_table",
    "log_joint_cells",
    "log_label",
    "log_node_given_labels",
    "log_verdicts",
    "numpyro_item_effect",
    "outcome_table",
    "two_model_log_prob",
]


def log_verdicts(logit_1: Any, logit_0: Any, data: Data, *, rho: Any, shift: Any) -> Any:
    """Log P(verdicts | y) of every cell, (2, clusters, M, K), y = 0 first."""
    says_yes = jnp.stack([shift[:, None] - logit_0, shift[:, None] + logit_1])
    runs = jax_runs_log_prob(says_yes[..., None], rho, data["cell_runs"], data["cell_positives"],
                             data.facts["most_runs"])  # fmt: skip
    return runs + data["cell_log_ways"]


def _label_mask(data: Data) -> Any:
    """0 where a cell's label allows y, minus infinity where it does not, (2, K)."""
    label = data["cell_label"]
    return jnp.where(jnp.stack([label == 1, label == 0]), -jnp.inf, 0.0)


def log_joint_cells(stick: Any) -> Any:
    """Log P(y_a, y_b), [y_a, y_b], from the sticks broken off for both, only the first, only the second."""
    kept, left = jnp.log(stick), jnp.cumsum(jnp.log1p(-stick))
    return jnp.array([[left[2], left[1] + kept[2]], [left[0] + kept[1], kept[0]]])


def two_model_log_prob(log_pi: Any, log_v: Any, data: Data, *, enriched: bool) -> Any:
    """Log probability of every pattern of two models, (patterns,)."""
    mask, (first, second) = _label_mask(data), data["cell"].T
    seen = log_v[:, 0] + mask[:, None]
    joint = _over_labels(log_pi, seen[:, 0, first], seen[:, 1, second])
    return joint - _over_labels(log_pi, mask[:, first], mask[:, second]) if enriched else joint


def _over_labels(log_pi: Any, first: Any, second: Any) -> Any:
    return logsumexp(log_pi[:, :, None] + first[:, None] + second[None, :], axis=(0, 1))


def numpyro_item_effect(clusters: int) -> tuple[Any, Any]:
    """Nodes of the item effect u, (clusters, nodes), and their log weights.

    In clusters ``u = √r c + √(1−r) e``: the cluster's part c is sampled, the item's own part e integrated.
    """
    nodes, log_w = map(jnp.asarray, gauss_hermite(21))
    if not clusters:
        return nodes[None], log_w
    share = numpyro.sample("cluster_share", dist.Uniform(0.0, 1.0))
    with numpyro.plate("cluster", clusters, dim=-1):
        part = numpyro.sample("cluster_effect", dist.Normal(0.0, 1.0))
    return jnp.sqrt(share) * part[:, None] + jnp.sqrt(1 - share) * nodes, log_w


def log_label(alpha: Any, spread: Any, u: Any) -> Any:
    """Log P(y_m | u), (2, clusters, M, nodes), y = 0 first."""
    logit = alpha[:, None] + spread * u[:, None, :]
    return jax.nn.log_sigmoid(jnp.stack([-logit, logit]))


def outcome_table(log_y: Any, log_v: Any, data: Data) -> Any:
    """Log P(cell | u) of every model, (clusters, M, K, nodes)."""
    seen = log_v + _label_mask(data)[:, None, None]
    return logsumexp(log_y[:, :, :, None] + seen[..., None], axis=0)


def label_table(log_y: Any, data: Data) -> Any:
    """Log P(label of the cell | u), 0 without a label, (clusters, M, K, nodes)."""
    label = data["cell_label"][:, None]
    of_label = jnp.where(label == 1, log_y[1, :, :, None], log_y[0, :, :, None])
    return jnp.where(label < 0, 0.0, of_label)


def item_log_prob(table: Any, log_w: Any, data: Data) -> Any:
    """Log probability of every observed pattern, (item patterns,): models independent given u."""
    clusters, models, width, nodes = table.shape
    if clusters == 1:
        given_u = data["design"].reshape(-1, models * width) @ table.reshape(models * width, nodes)
    else:
        given_u = table[data["cluster_of"][:, None], jnp.arange(models), data["cell"]].sum(1)
    return logsumexp(given_u + log_w, axis=-1)


def log_node_given_labels(of_label: Any, log_w: Any, data: Data) -> Any:
    """Log weights of the nodes for each template once its chosen labels are known, (templates, nodes)."""
    first_cell = jnp.argmax(data["cell_kind"] == data["template_kind"][:, :, None], axis=-1)
    models = jnp.arange(of_label.shape[1])
    return log_w + of_label[data["template_cluster"][:, None], models, first_cell].sum(1)
