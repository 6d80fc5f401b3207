"""The likelihood of `paired_accuracy` in PyTensor, pattern by pattern, for the PyMC twin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from bayesjudge.model import Data
from bayesjudge.models.verdict_runs import gauss_hermite, pytensor_runs_log_prob

__all__ = [
    "item_log_prob",
    "item_says_yes",
    "log_joint_cells",
    "log_verdicts",
    "pymc_item_effect",
    "two_model_log_prob",
]


def log_verdicts(says_yes: list[Any], data: Data, *, rho: Any) -> list[Any]:
    """Log P(verdicts | y) from the logits of P(v = 1 | y), y = 0 first, (patterns, M) or also by node."""
    columns = [
        data[name][data["cell"]].astype(float) for name in ("cell_runs", "cell_positives", "cell_log_ways")
    ]
    if data.facts["form"] == "items":
        columns = [column[:, :, None] for column in columns]
    runs, positives, log_ways = columns
    most = data.facts["most_runs"]
    return [pytensor_runs_log_prob(logit, rho, runs, positives, most) + log_ways for logit in says_yes]


def log_joint_cells(stick: Any) -> list[list[Any]]:
    """Log P(y_a, y_b), [y_a][y_b], from the sticks broken off for both, only the first, only the second."""
    both, first, second = (stick[k] for k in range(3))
    one = np.float64(1)
    return [[pt.log(one - both) + pt.log(one - first) + pt.log(one - second),
             pt.log(one - both) + pt.log(one - first) + pt.log(second)],
            [pt.log(one - both) + pt.log(first), pt.log(both)]]  # fmt: skip


def two_model_log_prob(log_pi: list[list[Any]], log_v: list[Any], data: Data, *, enriched: bool) -> Any:
    """Log probability of every pattern of two models."""
    label = data["cell_label"][data["cell"]]
    states = [(a, b) for a in (0, 1) for b in (0, 1)]
    allowed = np.array([np.all((label < 0) | (label == state), axis=1) for state in states])
    prior = pt.stack([log_pi[a][b] for a, b in states])[:, None] + np.where(allowed, 0.0, -np.inf)
    joint = pt.logsumexp(prior + pt.stack([log_v[a][:, 0] + log_v[b][:, 1] for a, b in states]), axis=0)
    return joint - pt.logsumexp(prior, axis=0) if enriched else joint


def pymc_item_effect(clusters: int) -> tuple[Any, Any]:
    """Nodes of the item effect u, (clusters, nodes), and their log weights."""
    nodes, log_w = gauss_hermite(21)
    if not clusters:
        return nodes[None], log_w
    share = pm.Uniform("cluster_share", np.float64(0), np.float64(1))
    part = pm.Normal("cluster_effect", np.float64(0), np.float64(1), dims="cluster")
    return pt.sqrt(share) * part[:, None] + pt.sqrt(np.float64(1) - share) * nodes, log_w


def item_says_yes(logit_1: Any, logit_0: Any, u: Any, *, leniency: Any, shift: Any) -> list[Any]:
    """Logits of P(v = 1 | y, u), (patterns, M, nodes) for y = 0 and y = 1, from u and the cluster's shift."""
    moved = [shift[:, None, None] + leniency[y] * u[:, None, :] for y in (0, 1)]
    return [moved[0] - logit_0[0][:, None], moved[1] + logit_1[0][:, None]]


def item_log_prob(logit: Any, log_w: Any, log_v: list[Any], data: Data, *, enriched: bool) -> Any:
    """Log probability of every observed pattern from the logits of P(y = 1 | u), u integrated out."""
    label = data["cell_label"][data["cell"]][:, :, None]
    wrong, right = -pt.softplus(logit), -pt.softplus(-logit)
    each = [wrong + log_v[0], right + log_v[1]]
    given_u = pt.switch(label == 1, each[1], pt.switch(label == 0, each[0], pt.logaddexp(*each))).sum(1)
    joint = pt.logsumexp(given_u + log_w, axis=1)
    if not enriched:
        return joint
    of_label = pt.switch(label == 1, right, pt.switch(label == 0, wrong, np.float64(0))).sum(1)
    return joint - pt.logsumexp(of_label + log_w, axis=1)
