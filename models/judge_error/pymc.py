"""The likelihood of `judge_error` in PyTensor, pattern by pattern, for the PyMC twin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from bayesjudge.model import Data
from bayesjudge.models.common.verdict_channel import gauss_hermite, pytensor_runs_log_prob

__all__ = ["log_label", "log_pattern", "log_verdicts", "pymc_accuracy_shift", "pymc_ease"]


def pymc_ease(judges: int) -> Any:
    """How strongly each judge feels how easy an answer is to judge, (judges,)."""
    return pm.HalfNormal("ease_spread", np.float64(1), shape=(judges, 1))[:, 0]


def pymc_accuracy_shift(clusters: int) -> Any:
    """How much easier each cluster's items are for every model, in logits, (clusters,)."""
    if not clusters:
        return np.zeros(1)
    spread = pm.HalfNormal("accuracy_spread", np.float64(1))
    return spread * pm.Normal("accuracy_shift", np.float64(0), np.float64(1), dims="cluster")


def log_label(theta: Any, shift: Any, data: Data) -> list[Any]:
    """Log P(y = 0) and log P(y = 1) of each pattern's unit and cluster."""
    logit = pt.log(theta / (np.float64(1) - theta))[data["unit"]] + shift[data["cluster"]]
    return [-pt.softplus(logit), -pt.softplus(-logit)]


def log_verdicts(logit_1: Any, logit_0: Any, data: Data, *, rho: Any, ease: Any, shift: Any) -> list[Any]:
    """Log P(verdicts of all judges | y) of each pattern for y = 0 and y = 1."""
    nodes, log_w = gauss_hermite(21) if ease is not None else (np.zeros(1), np.zeros(1))
    eased = np.float64(0) if ease is None else ease * nodes[:, None, None]
    lenient, runs, positives = shift[data["cluster"]][:, None], *_verdicts(data)
    says_yes = [lenient - logit_0.T[data["unit"]] - eased, lenient + logit_1.T[data["unit"]] + eased]
    every = [
        pytensor_runs_log_prob(logit, rho, runs, positives, data.facts["most_runs"]) for logit in says_yes
    ]
    return [pt.logsumexp(pt.atleast_3d(one, left=True).sum(-1) + log_w[:, None], axis=0) for one in every]


def _verdicts(data: Data) -> tuple[Any, Any]:
    return data["outcome_runs"][data["outcome"]].astype(float), data["outcome_positives"][
        data["outcome"]
    ].astype(float)


def log_pattern(log_y: list[Any], log_v: list[Any], data: Data, *, enriched: bool) -> Any:
    """Log probability of each pattern: P(y, v) if labelled, P(v | y) if the label was chosen, else P(v)."""
    wrong, right = (v if enriched else y + v for y, v in zip(log_y, log_v, strict=True))
    either = pt.logaddexp(log_y[0] + log_v[0], log_y[1] + log_v[1])
    return pt.switch(data["label"] == 1, right, pt.switch(data["label"] == 0, wrong, either))
