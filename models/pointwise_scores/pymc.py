"""`pointwise_scores` in PyMC, for the twin: whole covariance matrices in place of Sherman–Morrison."""

from __future__ import annotations

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from bayesjudge.effects import Formula
from bayesjudge.model import Data
from bayesjudge.models.common.added_terms import pymc_shift
from bayesjudge.models.common.units import pymc_effects
from bayesjudge.models.pointwise_scores.likelihood import pytensor_log_levels
from bayesjudge.priors import InUse

_ZERO, _ONE = np.float64(0), np.float64(1)


def gaussian(data: Data, prior: InUse, formula: Formula | None) -> None:
    """Moments of numbers."""
    per, blocks = 1 / float(data["scale"][0]), data.size("block")
    mean = prior.pymc("mean_score", "mean", per=per, zero=float(data["location"][0]))
    shared = prior.pymc("response_spread", "response_spread", per=per)
    trial = prior.pymc("trial_spread", "trial_spread", per=per, dims="block") if data.facts["trials"] else _ZERO
    noise = prior.pymc("noise", "noise", per=per, dims="block")
    own: Any = np.zeros(blocks)
    if blocks > 1:
        mean = mean + prior.pymc("leniency", "leniency", per=per, dims="block")
        log_scale = prior.pymc("log_scale", "log_scale", dims="block")
        loading = pt.exp(log_scale - pt.mean(log_scale))
        shared = shared * loading
        each: dict[str, Any] = {"dims": "block"} if blocks > 2 else {}
        own = prior.pymc("interaction_spread", "interaction_spread", per=per, **each)
        own = own if blocks > 2 else own * loading
    mean = mean * np.ones(blocks)
    if formula is not None:
        mean = mean + float(data["scale"][0]) * pymc_shift(formula, data, prior, judges=blocks).T
    pm.Potential("mean", _means(mean, shared * np.ones(blocks), own, noise, data), dims="target")
    freedom, squares = data["freedom"].astype(float), np.where(data["freedom"] > 0, data["squares"], 1.0)
    variance = pt.stack([noise**2, noise**2 + data["complete"].astype(float) * trial**2], axis=-1)
    half = np.maximum(freedom, 1) / 2
    chi = pm.logp(pm.Gamma.dist(alpha=half, beta=_ONE / (2 * variance)), squares)
    pm.Potential("squares", pt.switch(freedom > 0, chi, _ZERO))


def _means(centre: Any, shared: Any, own: Any, noise: Any, data: Data) -> Any:
    """Log density of each response's means; cells without scores get a unit variance of their own."""
    n = data["n"].astype(float)
    present = n > 0
    both = (present[:, :, None] & present[:, None, :]).astype(float)
    variance = pt.switch(present, own**2 + noise**2 / np.maximum(n, 1), _ONE)
    covariance = both * shared[:, None] * shared[None, :] + variance[:, :, None] * np.eye(n.shape[1])
    off = pt.switch(present, data["mean"] - centre, _ZERO)
    root = pt.linalg.cholesky(covariance)
    white = pt.linalg.solve_triangular(root, off[:, :, None], lower=True, b_ndim=2)[:, :, 0]
    log_det = pt.log(pt.diagonal(root, axis1=1, axis2=2)).sum(-1)
    return -(white**2).sum(-1) / 2 - log_det - present.sum(1) * np.log(2 * np.pi) / 2


def ordinal(data: Data, prior: InUse, formula: Formula | None) -> None:
    """Counts of levels."""
    blocks, block, target = data.size("block"), data["block"], data["target"]
    spread = prior.pymc("response_spread", "response_spread")
    middle, gaps = prior.pymc("middle", "middle_cut"), prior.pymc("gaps", "cut_gap", dims="gap")
    steps = pt.concatenate([np.zeros(1), pt.cumsum(gaps)])
    cuts = middle + steps - pt.mean(steps)
    leniency, own = (pt.as_tensor(np.zeros(len(block))) for _ in range(2))
    scale = pt.as_tensor(np.ones(len(block)))
    if blocks > 1:
        leniency = prior.pymc("leniency", "leniency", dims="block")[block]
        log_scale = prior.pymc("log_noise", "log_scale", dims="block")
        scale = pt.exp(log_scale - pt.mean(log_scale))[block]
        own = prior.pymc("interaction_spread", "interaction_spread", dims="block")[block]
    if formula is not None:
        leniency = leniency + pymc_shift(formula, data, prior, judges=blocks)[block, target]
    outside = pt.concatenate([cuts[:1] - 2, cuts, cuts[-1:] + 2])
    rough = data["share"] @ ((outside[1:] + outside[:-1]) / 2)
    information, pull = _scored(rough[target] + leniency, cuts, scale, data)
    grow = 1 + own**2 * information
    by_response = np.equal.outer(np.arange(data.size("response")), target).astype(float)
    information, pull = by_response @ (information / grow), by_response @ (pull / grow)
    effect = pymc_effects("response_effect", information, pull + information * rough, spread, "response")
    margin = effect[target] + leniency
    if blocks > 1:
        information, pull = _scored(margin, cuts, scale, data)
        shape = (blocks, data.size("response"))
        information, pull, own = (part.reshape(shape) for part in (information, pull, own))
        margin = margin + pymc_effects("interaction", information, pull, own, ("block", "response")).ravel()
    log_p = pytensor_log_levels(margin, cuts, scale)
    pm.Potential("levels", (data["levels"].astype(float) * log_p).sum(1), dims="cell")


def _scored(margin: Any, cuts: Any, scale: Any, data: Data) -> tuple[Any, Any]:
    """Information and pull of every cell around a margin, from the derivatives of its levels' logarithms."""
    below = pt.sigmoid((cuts - margin[:, None]) / scale[:, None])
    edges = pt.concatenate([np.zeros((len(data["total"]), 1)), below, np.ones((len(data["total"]), 1))], axis=1)
    # (f(a) − f(b))/(F(b) − F(a)) of a logistic variable, where the quotient would be 0/0 far out.
    slope = (edges[:, 1:] + edges[:, :-1] - 1) / scale[:, None]
    p = edges[:, 1:] - edges[:, :-1]
    counts = data["observed"].astype(float)
    return counts.sum(1) * (p * slope**2).sum(1), (counts * slope).sum(1)
