"""`pointwise_scores` in PyMC, for the twin: whole covariance matrices in place of Sherman–Morrison."""

from __future__ import annotations

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from bayesjudge.model import Data
from bayesjudge.models.score_levels import pytensor_log_levels

__all__ = ["gaussian", "ordinal"]

_ZERO, _ONE = np.float64(0), np.float64(1)


def gaussian(data: Data) -> None:
    """Moments of numbers."""
    unit, blocks = np.float64(data["scale"][0]), data.size("block")
    mean = pm.Normal("mean_score", np.float64(data["location"][0]), 2 * unit)
    shared = pm.HalfNormal("response_spread", unit)
    trial = pm.HalfNormal("trial_spread", unit / 4, dims="block") if data.facts["trials"] else _ZERO
    noise = pm.HalfNormal("noise", unit, dims="block")
    own: Any = np.zeros(blocks)
    if blocks > 1:
        mean = mean + pm.Normal("leniency", _ZERO, unit / 2, dims="block")
        own = pm.HalfNormal("interaction_spread", unit / 2, dims="block")
        log_scale = pm.Normal("log_scale", _ZERO, np.float64(0.5), dims="block")
        shared = shared * pt.exp(log_scale - pt.mean(log_scale))
    pm.Potential(
        "mean", _means(mean * np.ones(blocks), shared * np.ones(blocks), own, noise, data), dims="target"
    )
    freedom, squares = data["freedom"].astype(float), np.where(data["freedom"] > 0, data["squares"], 1.0)
    variance = pt.stack([noise**2, noise**2 + data["complete"].astype(float) * trial**2], axis=-1)
    half = np.maximum(freedom, 1) / 2
    chi = pm.logp(pm.Gamma.dist(alpha=half, beta=_ONE / (2 * variance)), squares)
    pm.Potential("squares", pt.switch(freedom > 0, chi, _ZERO))


def _means(centre: Any, shared: Any, own: Any, noise: Any, data: Data) -> Any:
    """Log density of each response's means; cells without scores get a unit variance of their own."""
    n = data["n"].astype(float)
    seen = n > 0
    both = (seen[:, :, None] & seen[:, None, :]).astype(float)
    variance = pt.switch(seen, own**2 + noise**2 / np.maximum(n, 1), _ONE)
    covariance = both * shared[:, None] * shared[None, :] + variance[:, :, None] * np.eye(n.shape[1])
    off = pt.switch(seen, data["mean"] - centre, _ZERO)
    root = pt.linalg.cholesky(covariance)
    white = pt.linalg.solve_triangular(root, off[:, :, None], lower=True, b_ndim=2)[:, :, 0]
    log_det = pt.log(pt.diagonal(root, axis1=1, axis2=2)).sum(-1)
    return -(white**2).sum(-1) / 2 - log_det - seen.sum(1) * np.log(2 * np.pi) / 2


def ordinal(data: Data) -> None:
    """Counts of levels."""
    blocks, block, target = data.size("block"), data["block"], data["target"]
    spread = pm.Gamma("response_spread", alpha=np.float64(2), beta=np.float64(2 / 3))
    margin = pm.Normal("response_effect", _ZERO, spread, dims="response")[target]
    scale = pt.as_tensor(np.ones(len(block)))
    if blocks > 1:
        leniency = pm.Normal("leniency", _ZERO, _ONE, dims="block")
        log_scale = pm.Normal("log_noise", _ZERO, np.float64(0.5), dims="block")
        own = pm.Gamma("interaction_spread", alpha=np.float64(2), beta=np.float64(2), dims="block")
        z = pm.Normal("interaction", _ZERO, _ONE, dims=("block", "response"))
        margin = margin + leniency[block] + own[block] * z[block, target]
        scale = pt.exp(log_scale - pt.mean(log_scale))[block]
    middle = pm.Normal("middle", _ZERO, np.float64(3))
    gaps = pm.Gamma("gaps", alpha=np.float64(2), beta=np.float64(1.5), dims="gap")
    steps = pt.concatenate([np.zeros(1), pt.cumsum(gaps)])
    log_p = pytensor_log_levels(margin, middle + steps - pt.mean(steps), scale)
    counts = data["levels"].astype(float)
    ways = pt.gammaln(counts.sum(1) + 1) - pt.gammaln(counts + 1).sum(1)
    pm.Potential("levels", ways + (counts * log_p).sum(1), dims="cell")
