"""`paired_accuracy` in PyMC, its likelihood in PyTensor pattern by pattern."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from bayesjudge.model import Data
from bayesjudge.models.common.verdict_channel import (
    gauss_hermite,
    pymc_channel,
    pymc_leniency,
    pymc_run_correlation,
    pytensor_runs_log_prob,
)
from bayesjudge.models.paired_accuracy.data import STICKS

if TYPE_CHECKING:
    from bayesjudge.models.paired_accuracy import PairedAccuracy

__all__ = ["build"]


def build(model: PairedAccuracy, data: Data) -> Any:
    """The whole model; sites and priors as in `PairedAccuracy.numpyro`."""
    axes, clusters = ("judge", "model", "cluster", "step", "label"), data.facts["clusters"]
    with pm.Model(coords={name: list(data.coords[name]) for name in axes}) as twin:
        logit_1, logit_0 = pymc_channel(model.pooling, model.channel, "model")
        rho, shift = pymc_run_correlation(data.facts["most_runs"]), pymc_leniency(clusters)
        if data.facts["form"] == "two models":
            log_p = _two_models(model, data, log_verdicts([-logit_0, logit_1], data, rho=rho))
        else:
            log_p = _many_models(model, data, (logit_1, logit_0, shift), rho=rho)
        pm.Potential("n", data["n"][data.facts["margins"] :].astype(float) * log_p)
    return twin


def _two_models(model: PairedAccuracy, data: Data, log_v: list[Any]) -> Any:
    log_pi = log_joint_cells(pm.Beta("stick", *map(np.array, STICKS), dims="step"))
    return two_model_log_prob(log_pi, log_v, data, enriched=model.labels == "enriched")


def _many_models(model: PairedAccuracy, data: Data, channel: tuple[Any, Any, Any], *, rho: Any) -> Any:
    (logit_1, logit_0, shift), of = channel, data["cluster_of"]
    alpha = pm.Logistic("alpha", np.float64(0), np.float64(1), dims="model")
    spread = pm.HalfNormal("item_spread", np.float64(model.item_spread))
    leniency = pm.Normal("item_leniency", np.float64(0), np.float64(model.item_leniency), dims="label")
    u, log_w = pymc_item_effect(data.facts["clusters"])
    says_yes = item_says_yes(logit_1, logit_0, u[of], leniency=leniency, shift=shift[of])
    log_v = log_verdicts(says_yes, data, rho=rho)
    logit = alpha[:, None] + spread * u[of][:, None, :]
    return item_log_prob(logit, log_w, log_v, data, enriched=model.labels == "enriched")


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
