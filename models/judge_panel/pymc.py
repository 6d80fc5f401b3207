"""The density of `judge_panel` in PyTensor, judge by judge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from bayesjudge.model import Data
from bayesjudge.models.common.units import Guess
from bayesjudge.models.judge_panel.kinds import coefficients_in
from bayesjudge.models.judge_panel.likelihood import pymc_marks
from bayesjudge.models.judge_panel.priors import OWN_WEIGHT
from bayesjudge.priors import InUse

_ZERO, _ONE = np.float64(0), np.float64(1)


def build(prior: InUse, data: Data) -> Any:
    """The whole model; sites and priors as in `likelihood.sample_sites`."""
    named = coefficients_in(data)
    axes = ("system", "judge", "annotator", *named.axes())
    coords = {name: list(data.coords[name]) for name in axes}
    with pm.Model(coords=coords) as twin:
        logit = _votes_part(prior, data)
        if "kind_design" in data.arrays:
            logit = logit + named.pymc(data, prior, np.asarray(data["kind_design"]))[data["answer_kind"]]
        if data.facts["annotators"]:
            pm.Potential("mark", data["answer_n"].astype(float) * pymc_marks(prior, logit, data))
            return twin
        right, n = data["label"].astype(float), data["answer_n"].astype(float)
        pm.Potential("label", -n * (right * pt.softplus(-logit) + (_ONE - right) * pt.softplus(logit)))
    return twin


def _votes_part(prior: InUse, data: Data) -> Any:
    intercept, model_spread, weight_spread, gamma, delta = (
        prior.pymc(name, name)
        for name in ("intercept", "model_spread", "weight_spread", "model_rate_slope", "item_rate_slope")
    )
    weight_mean = prior.pymc("weight_mean", "weight")
    mean = intercept + gamma * data["model_rate"]
    own_level = Guess.kept(data.arrays, "model").around(mean).units(model_spread)
    level = mean + own_level.effect(pm.Normal("z_model", own_level.centre, own_level.width, dims="system"))
    own_weight = Guess.kept(data.arrays, "weight").around(weight_mean).units(weight_spread)
    beta = weight_mean + own_weight.effect(pm.Normal("z_weight", own_weight.centre, own_weight.width, dims="judge"))
    of, votes = data["kind_system"][data["answer_kind"]], data["answer_votes"]
    logit = level[of] + delta * data["answer_rate"]
    for j in range(data.size("judge")):
        logit = logit + beta[j] * votes[:, j]
    if OWN_WEIGHT in prior.chosen:
        own_spread = prior.pymc(OWN_WEIGHT, OWN_WEIGHT)
        own = own_spread * pm.Normal("z_own_weight", _ZERO, _ONE, dims=("judge", "system"))
        for j in range(data.size("judge")):
            logit = logit + own[j][of] * votes[:, j]
    return logit
