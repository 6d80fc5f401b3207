"""Densities of `judge_elo` at draws of its hyperparameters, in NumPy, and observations replicated there.

A program takes a second to compile, a thousand draws some hundredths of one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from bayesjudge.maths.bradley_terry import PER_LOGIT
from bayesjudge.model import Data, Evaluated
from bayesjudge.models.judge_elo.marginal import Marginal, Priors
from bayesjudge.models.judge_elo.scales import joint_scale, vine_shapes
from bayesjudge.models.judge_elo.strengths import simulated

type Floats = NDArray[np.float64]
#: Numbers in the largest array of covariances: 32 MB.
_LARGEST = 4_000_000


def evaluated(sites: Mapping[str, Floats], data: Data, priors: Priors, *, rng: np.random.Generator) -> Evaluated:
    """At sites' values (S, ...)."""
    marginal = Marginal.of_data(data)
    draws = len(sites["spread"])
    partial = sites.get("deviation_partial", np.zeros((draws, 0)))
    shared = sites.get("deviation_shared", np.zeros(draws))
    scales = joint_scale(np, sites["spread"], sites["slope"], sites["deviation_spread"], partial, shared)
    step = max(1, _LARGEST // len(marginal.y) ** 2)
    found = [_part(marginal, scales[k : k + step], rng) for k in range(0, len(scales), step)]
    replicated, log_likelihood = (np.concatenate(part) for part in zip(*found, strict=True))
    return Evaluated({"y": replicated}, {"y": log_likelihood}, _log_prior(sites, priors, marginal.judges))


def _part(marginal: Marginal, scales: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Replicated observations (S, N) and the log density of the present one (S,)."""
    strengths, effects, noise = simulated(marginal, scales, rng)
    root = np.linalg.cholesky(marginal.covariance(scales))
    white = np.linalg.solve(root, np.broadcast_to(marginal.y[:, None], (len(scales), len(marginal.y), 1)))[..., 0]
    log_root = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
    density = -log_root - ((white**2).sum(axis=1) + len(marginal.y) * np.log(2 * np.pi)) / 2
    return marginal.expected(strengths, effects) + noise, density


def _log_prior(sites: Mapping[str, Floats], priors: Priors, judges: int) -> dict[str, Any]:
    """By site; in Elo where the prior is."""
    slots = {"spread": ("strength", PER_LOGIT), "slope": ("slope", 1.0)}
    slots["deviation_spread"] = ("deviation_spread", PER_LOGIT)
    found = {name: priors[slot].log_density(per * sites[name]) + np.log(per) for name, (slot, per) in slots.items()}
    if "deviation_partial" in sites:
        shapes = np.array([shape for *_, shape in vine_shapes(judges)])
        found["deviation_partial"] = beta.logpdf(sites["deviation_partial"], shapes, shapes)
    if "deviation_shared" in sites:
        found["deviation_shared"] = np.zeros(len(sites["deviation_shared"]))
    return found
