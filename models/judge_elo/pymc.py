"""`judge_elo` in PyMC, as a textbook writes it: deviations by regression, the whole design."""

from __future__ import annotations

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from bayesjudge.maths.bradley_terry import PER_LOGIT
from bayesjudge.model import Data
from bayesjudge.models.judge_elo.scales import LEAST_SHARING, vine_shapes
from bayesjudge.priors import InUse

_ONE = np.float64(1)


def pymc_model(data: Data, prior: InUse) -> Any:
    """The same joint density of hyperparameters and observation."""
    judges = data.size("judge")
    with pm.Model(coords={name: list(data.coords[name]) for name in ("judge", "judge_pair")}) as model:
        tau = prior.pymc("spread", "strength", per=PER_LOGIT)
        slope = prior.pymc("slope", "slope", dims="judge")
        deviation = prior.pymc("deviation_spread", "deviation_spread", per=PER_LOGIT, dims="judge")
        models = data.size("system")
        # Every θ_i and δ_ji as a linear form of independent standard normals, rater by rater.
        forms = [pt.concatenate([tau * pt.ones(1), pt.zeros(judges + 1)])]
        for j, own in enumerate(_deviations(judges)):
            forms.append(slope[j] * forms[0] + pt.concatenate([pt.zeros(1), deviation[j] * own]))
        mixing = pt.stack(forms)
        raters = pt.as_tensor(np.asarray(data["design"]))
        latent = pt.tensordot(raters, mixing, axes=[[1], [0]]).reshape((-1, models * (judges + 2)))
        effects = np.asarray(data["effects"]).reshape(data.size("contrast"), -1)
        design = pt.concatenate([latent, pt.as_tensor(effects)], axis=1)
        covariance = pt.dot(design, design.T) + np.eye(data.size("contrast"))
        pm.MvNormal("y", np.zeros(data.size("contrast")), cov=covariance, observed=data["y"])
    return model


def _deviations(judges: int) -> list[Any]:
    """Each judge's deviations: a part that all share, and a regression on the own parts of the judges before it."""
    if judges == 1:
        return [pt.stack([pt.zeros(()), pt.ones(())])]
    shapes = np.array([shape for *_, shape in vine_shapes(judges)])
    partial = np.float64(2) * pm.Beta("deviation_partial", shapes, shapes, dims="judge_pair") - _ONE
    shared = pm.Uniform("deviation_shared", 0, 1) if judges >= LEAST_SHARING else pt.zeros(())
    place = {(i, k): at for at, (i, k, _) in enumerate(vine_shapes(judges))}
    found = []
    for i in range(judges):
        parts, left = [], _ONE
        for k in range(i):
            parts.append(partial[place[i, k]] * pt.sqrt(left))
            left = left * (_ONE - partial[place[i, k]] ** 2)
        parts.append(pt.sqrt(left) if i else pt.ones(()))
        own = pt.stack([*parts, *[pt.zeros(())] * (judges - i - 1)])
        found.append(pt.concatenate([pt.sqrt(shared)[None], pt.sqrt(_ONE - shared) * own]))
    return found
