"""NumPyro and PyMC define one log density: every model, and every option of the models of verdicts.

The two are written independently (tables of outcomes and matrix products in JAX, pattern by pattern in
PyTensor), so agreement to rounding error checks both. The two densities are evaluated in twins.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
import twins

from bayesjudge.counts import VerdictCounts, count_verdicts
from bayesjudge.datasets import simulate_verdicts
from bayesjudge.datasets.small import KIND_OF_MODEL, small_table
from bayesjudge.model import Model, find_model
from bayesjudge.models.judge_error import JudgeError
from bayesjudge.models.paired_accuracy import PairedAccuracy
from bayesjudge.tables import Verdicts

POOLINGS, LABELS = ("shared", "partial", "specific"), ("random", "enriched")


@cache
def _counts(models: int, judges: int, runs: int, clustered: bool, grouped: bool) -> VerdictCounts:
    """A small log in which some answers, some verdicts and some labels are missing."""
    names, judge_names = tuple("abc"[:models]), ("j", "k")[:judges]
    log = simulate_verdicts(seed=models + 10 * runs, models=names, accuracy=(0.7, 0.6, 0.5)[:models],
                            youden=0.5, judges=judge_names, labelled=20, unlabelled=20, runs=runs,
                            cluster_size=5 if clustered else 1)  # fmt: skip
    frame = log.verdicts.frame.copy()
    rng = np.random.default_rng(1)
    frame = frame[rng.random(len(frame)) > 0.1]
    holes = frame["item"].isin(frame["item"].unique()[:3]) & (frame["model"] == "a")
    frame.loc[holes, "label"] = np.nan
    frame["subject"] = frame["item"].str[-1].isin(list("02468")).map({True: "even", False: "odd"})
    return count_verdicts(Verdicts.from_frame(frame), group="subject" if grouped else None,
                          cluster="cluster" if clustered else None)  # fmt: skip


#: Options of each model; a design is (models, judges, runs, clustered, grouped).
OPTIONS: dict[str, dict[str, tuple[Any, ...]]] = {
    "judge_error": {"pooling": POOLINGS, "labels": LABELS, "panel": ("one", "two", "two, item effect"),
                    "runs": (1, 3), "clusters": (False, True), "groups": (False, True)},
    "paired_accuracy": {"pooling": POOLINGS, "labels": LABELS, "models": (2, 3), "runs": (1, 3),
                        "clusters": (False, True)},
}  # fmt: skip


def _choices(model: str) -> list[dict[str, Any]]:
    return [
        dict(zip(OPTIONS[model], values, strict=True))
        for values in itertools.product(*OPTIONS[model].values())
    ]


def _cover(model: str, strength: int) -> list[dict[str, Any]]:
    """Greedy choice that meets every combination of so many options."""
    every = _choices(model)
    left = {part for choice in every for part in _parts(choice, strength)}
    chosen: list[dict[str, Any]] = []
    while left:
        best = max(every, key=lambda choice: len(left & set(_parts(choice, strength))))
        left -= set(_parts(best, strength))
        chosen.append(best)
    return chosen


def _parts(choice: dict[str, Any], strength: int) -> list[Any]:
    return list(itertools.combinations(choice.items(), strength))


def _build(name: str, choice: dict[str, Any]) -> tuple[Model, tuple[Any, ...]]:
    common = {"pooling": choice["pooling"], "labels": choice["labels"]}
    if name == "paired_accuracy":
        return PairedAccuracy(**common), (choice["models"], 1, choice["runs"], choice["clusters"], False)
    model = JudgeError(**common, item_effect=choice["panel"].endswith("effect"))
    return model, (
        2,
        1 if choice["panel"] == "one" else 2,
        choice["runs"],
        choice["clusters"],
        choice["groups"],
    )


def _cases() -> Iterator[Any]:
    """Every combination of two options, and as slow tests every one of three."""
    for name in OPTIONS:
        fast = _cover(name, 2)
        slow = [choice for choice in _cover(name, 3) if choice not in fast]
        for choice in [*fast, *slow]:
            marks = () if choice in fast else (pytest.mark.slow,)
            yield pytest.param(
                *_build(name, choice), id=f"{name}-{'-'.join(map(str, choice.values()))}", marks=marks
            )


@pytest.mark.parametrize(("model", "design"), list(_cases()))
def test_the_same_density_in_both_languages(
    model: Model, design: tuple[Any, ...], same_density: Callable[..., None]
) -> None:
    same_density(model, model.prepare(_counts(*design)))


#: How far out the bounded parameters go, unconstrained, where ±6 and ±12 are too far: temperatures that are
#: exponentials of a spread overflow, and covariances of spreads e^6 apart have a condition number of e^24, of
#: which a Cholesky factor leaves nine digits of sixteen.
EDGES = {"judge_temperature": (1.5, 3.0), "pointwise_scores": (1.5, 3.0)}


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
