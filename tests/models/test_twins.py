"""NumPyro and PyMC define one log density: every model, and every option of the models of verdicts.

The two are written independently (tables of outcomes and matrix products in JAX, pattern by pattern in
PyTensor), so agreement to rounding error checks both. The two densities are evaluated in twins.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import twins

from bayesjudge.counts import VerdictCounts, count_verdicts
from bayesjudge.datasets import simulate_verdicts
from bayesjudge.datasets.small import KIND_OF_MODEL, small_table
from bayesjudge.inference.programs import accelerator
from bayesjudge.inference.programs.at_points import slopes
from bayesjudge.inference.programs.density import density
from bayesjudge.model import find_model
from bayesjudge.models.judge_error import JudgeError
from bayesjudge.models.judge_panel import JudgePanel
from bayesjudge.tables import Verdicts

POOLINGS, LABELS = ("shared", "partial", "specific"), ("random", "enriched")


@cache
def _counts(runs: int, clustered: bool, grouped: bool) -> VerdictCounts:
    """A small log in which some answers, some verdicts and some labels are missing."""
    log = simulate_verdicts(
        seed=3 + 10 * runs,
        models=("a", "b", "c"),
        accuracy=(0.7, 0.6, 0.5),
        youden=0.5,
        labelled=20,
        unlabelled=20,
        runs=runs,
        cluster_size=5 if clustered else 1,
    )
    frame = log.verdicts.frame.copy()
    rng = np.random.default_rng(1)
    frame = frame[rng.random(len(frame)) > 0.1]
    holes = frame["item"].isin(frame["item"].unique()[:3]) & (frame["model"] == "a")
    frame.loc[holes, "label"] = np.nan
    frame["subject"] = frame["item"].str[-1].isin(list("02468")).map({True: "even", False: "odd"})
    return count_verdicts(
        Verdicts.from_frame(frame), group="subject" if grouped else None, cluster="cluster" if clustered else None
    )


@pytest.mark.slow
@pytest.mark.parametrize("design", list(itertools.product((1, 3), (False, True), (False, True))))
@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("pooling", POOLINGS)
def test_the_same_density_in_both_languages(
    pooling: Any, labels: Any, design: tuple[Any, ...], same_density: Callable[..., None]
) -> None:
    model = JudgeError(pooling=pooling, labels=labels)
    same_density(model, model.prepare(_counts(*design)))


@pytest.mark.parametrize("model", [JudgeError(labels="weighted"), JudgePanel()], ids=lambda model: model.name)
def test_labels_with_weights_in_both_languages(model: Any, same_density: Callable[..., None]) -> None:
    frame = simulate_verdicts(seed=4, models=("a", "b"), accuracy=(0.7, 0.6), labelled=20, unlabelled=20).verdicts.frame
    chance = 0.2 + 0.1 * (frame["item"].astype("category").cat.codes % 5)
    verdicts = Verdicts.from_frame(frame.assign(label_probability=chance))
    table = count_verdicts(verdicts) if isinstance(model, JudgeError) else verdicts
    data = model.prepare(table)
    assert np.unique(data["n"] if isinstance(model, JudgeError) else data["answer_n"]).size > 2
    same_density(model, data)


#: How far out the bounded parameters go, unconstrained, where ±6 and ±12 are too far: temperatures that are
#: exponentials of a spread overflow, and covariances of spreads e^6 apart have a condition number of e^24, of
#: which a Cholesky factor leaves nine digits of sixteen.
EDGES = {"judge_temperature": (1.5, 3.0), "pointwise_scores": (1.5, 3.0)}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(KIND_OF_MODEL))
def test_every_model_at_a_thousand_points_and_at_the_edges(name: str) -> None:
    """With and without the Jacobian, at random points and with bounded parameters near their edges.

    Near an edge 1 − p is what rounding leaves of it: p = σ(12) is known to 1e-16, 1 − p to 2e-11 of itself.
    The terms that hold it are a small part of the sum, so 1e-10 of the whole still holds.
    """
    model = find_model(name)()
    data = model.prepare(small_table(KIND_OF_MODEL[name]))
    random = twins.random_points(model, data, points=1000)
    edges = [twins.edge_points(model, data, points=100, far=far) for far in EDGES.get(name, (6.0, 12.0))]
    points = np.concatenate([random, *edges])
    with_jacobian, without = twins.numpyro_log_densities(model, data, points)
    assert np.isfinite(with_jacobian).all()
    for ours, jacobian in ((with_jacobian, True), (without, False)):
        theirs = twins.pymc_log_densities(model, data, points, jacobian=jacobian)
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)
    assert np.ptp(with_jacobian - without) > 1
    slope = slopes(density(model, data).potential, accelerator.to_device(data.arrays))
    assert np.isfinite(slope(points[None])[1]).all()  # a density without a gradient has no fit
