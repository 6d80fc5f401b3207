"""Choices among several options in PyMC, with every item's values sampled: the twin of `choices`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from bayesjudge.models.repeated_trials.choices import Choices, contrasts


def choices_pymc(data: Choices) -> pm.Model:
    """The joint density of what items share and of their own values (I, K − 1), (I,)."""
    prior, size = data.prior, data.size
    with pm.Model() as model:
        spread = pm.Gamma("option_spread", alpha=2.0, beta=2 * np.sqrt(2) / prior.option_spread)
        mean: Any = np.zeros(data.right.shape)
        if (data.truth >= 0).any():
            mean = pm.Normal("advantage", 0.0, prior.advantage) * data.right
        own = pm.Normal("preference", mean, spread, shape=data.right.shape)
        v = (data.basis * own[:, None]).sum(axis=2)
        # By slot code: a slot that is not known adds nothing, and an option that is not there is never chosen.
        gamma: Any = np.zeros(size)
        if data.recorded:
            gamma = contrasts(size) @ pm.Normal("slot", 0.0, prior.slot / np.sqrt(2), shape=size - 1)
        weight = pt.concatenate([pt.exp(gamma), np.array([1.0, 0.0])])[data.slots] * pt.exp(v)[:, None]
        even: Any = pt.zeros((*data.slots.shape[:2], 1))
        if data.ties:
            tie_spread = pm.Gamma("tie_spread", alpha=2.0, beta=2 / prior.tie_spread)
            tied = pm.Normal("tie_effect", 0.0, tie_spread, shape=len(data.n))
            even += pt.exp(pm.Normal("tie", *prior.tie) + tied)[:, None, None]
        weight = pt.concatenate([weight, even], axis=2)
        p = weight / weight.sum(axis=2, keepdims=True)
        item, cell, outcome, number = data.trials
        rho = pm.Uniform("repeat_correlation", 0.0, 1.0) if data.repeats else 0.0
        before = np.concatenate([np.arange(total) for total in data.n.sum(2).ravel()])
        pm.Potential(
            "n", pt.log(p[item, cell, outcome] * (1 - rho) + number * rho).sum() - pt.log1p((before - 1) * rho).sum()
        )
    return model
