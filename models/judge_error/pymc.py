"""`judge_error` in PyMC, cell by cell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from bayesjudge.model import Data
from bayesjudge.models.common.verdict_channel import Pooling, pymc_channel
from bayesjudge.priors import InUse


def build(data: Data, prior: InUse, *, pooling: Pooling, enriched: bool) -> pm.Model:
    """The whole model."""
    dim = data.facts["unit"]
    coords = {name: list(data.coords[name]) for name in ("judge", dim, "pattern")}
    with pm.Model(coords=coords) as model:
        theta = prior.pymc("theta", "accuracy", dims=dim)
        logit_1, logit_0 = (logit[0][data["unit"]] for logit in pymc_channel(pooling, prior, dim))
        theta = theta[data["unit"]]
        log_p = _log_p(pt.log(theta), pt.log(np.float64(1) - theta), logit_1, logit_0, data, enriched=enriched)
        pm.Potential("n", data["n"].astype(float) * log_p, dims="pattern")
    return model


def log_p_of_logits(logit: Any, logit_1: Any, logit_0: Any, data: Data, *, enriched: bool) -> Any:
    """Log probability of each cell, from logits of the accuracy of its unit, of sensitivity and of specificity."""
    return _log_p(-pt.softplus(-logit), -pt.softplus(logit), logit_1, logit_0, data, enriched=enriched)


def _log_p(log_right: Any, log_wrong: Any, logit_1: Any, logit_0: Any, data: Data, *, enriched: bool) -> Any:
    """Log probability of each cell: P(y, v) if labelled, P(v | y) if the label was chosen, else P(v)."""
    sign = np.where(data["verdict"] == 1, 1.0, -1.0)
    of_right, of_wrong = -pt.softplus(-sign * logit_1), -pt.softplus(sign * logit_0)
    right, wrong = log_right + of_right, log_wrong + of_wrong
    labelled = pt.switch(data["label"] == 1, of_right if enriched else right, of_wrong if enriched else wrong)
    return pt.switch(data["label"] < 0, pt.logaddexp(right, wrong), labelled)
