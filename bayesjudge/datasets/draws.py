"""Chance in a simulated world: the labels of all answers, and the judges' verdicts given the labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from bayesjudge.datasets.design import VerdictDesign

__all__ = ["Draw", "draw"]

type Bools = NDArray[np.bool_]
type Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Draw:
    """Labels of all answers, shape (items, M), and the verdicts of each run, shape (items, M, J, runs)."""

    label: Bools
    verdict: Bools


def draw(design: VerdictDesign, rng: np.random.Generator) -> Draw:
    """Draw every label, shown or not, and every verdict.

    Examples
    --------
    >>> world = draw(VerdictDesign(runs=3), np.random.default_rng(0))
    >>> world.label.shape, world.verdict.shape
    ((1000, 2), (1000, 2, 1, 3))
    """
    label = _labels(design, rng)
    return Draw(label, _verdicts(design, label, rng))


def _labels(design: VerdictDesign, rng: np.random.Generator) -> Bools:
    clusters = design.clusters
    share = design.cluster_correlation if design.cluster_size > 1 else 0.0
    shared = rng.standard_normal(clusters[-1] + 1)[clusters]
    difficulty = np.sqrt(share) * shared + np.sqrt(1 - share) * rng.standard_normal(design.items)
    r = design.item_correlation
    own = rng.standard_normal((design.items, len(design.models)))
    latent = np.sqrt(r) * difficulty[:, None] + np.sqrt(1 - r) * own
    shift = np.where(np.arange(design.items) < design.labelled, design.label_shift, 0.0)
    right: Bools = latent < ndtri(design.theta) + shift[:, None]
    return right


def _verdicts(design: VerdictDesign, label: Bools, rng: np.random.Generator) -> Bools:
    """Draw all runs given the labels.

    Pólya's urn: run k is a fresh draw with probability ``(1−ρ)/(1−ρ+ρ(k−1))`` and else repeats one of the
    earlier runs at random. That is the beta-binomial with mean q and correlation ρ, without a Beta draw.
    """
    q = np.where(label[:, :, None], design.q1.T, 1 - design.q0.T)
    rho = design.repeatability
    runs = [_first_run(design, q, rng)]
    for k in range(1, design.runs):
        fresh = rng.random(q.shape) * (1 - rho + rho * k) < 1 - rho
        earlier = np.take_along_axis(np.stack(runs), rng.integers(k, size=q.shape)[None], axis=0)[0]
        runs.append(np.where(fresh, rng.random(q.shape) < q, earlier))
    return np.stack(runs, axis=-1)


def _first_run(design: VerdictDesign, q: Floats, rng: np.random.Generator) -> Bools:
    s = design.judge_correlation
    if s == 0:
        return rng.random(q.shape) < q
    shared = rng.standard_normal(q.shape[:2])[..., None]
    says_yes: Bools = np.sqrt(s) * shared + np.sqrt(1 - s) * rng.standard_normal(q.shape) < ndtri(q)
    return says_yes
