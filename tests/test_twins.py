"""NumPyro and PyMC define one log density: at random unconstrained points, for every option of every model.

The two are written independently (tables of outcomes and matrix products in JAX, pattern by pattern in
PyTensor), so agreement to rounding error checks both. Tolerance: sums of up to a few thousand terms in
float64 lose about 1e-13 of their size, and the densities here are of size 1e2 to 1e5; 1e-10 leaves room
for that and for nothing else.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache
from typing import Any

import jax
import numpy as np
import pytest

from bayesjudge.counts import VerdictCounts, count_verdicts
from bayesjudge.datasets import simulate_verdicts
from bayesjudge.inference import accelerator
from bayesjudge.inference.density import density
from bayesjudge.model import Data, Model
from bayesjudge.models.judge_error import JudgeError
from bayesjudge.models.paired_accuracy import PairedAccuracy
from bayesjudge.tables import Verdicts

POINTS = 100
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


def _fast(model: str) -> list[dict[str, Any]]:
    """Greedy choice that meets every combination of three options; the rest of the product is slow."""
    every = _choices(model)
    open_triples = {triple for choice in every for triple in _triples(choice)}
    chosen: list[dict[str, Any]] = []
    while open_triples:
        best = max(every, key=lambda choice: len(open_triples & set(_triples(choice))))
        open_triples -= set(_triples(best))
        chosen.append(best)
    return chosen


def _triples(choice: dict[str, Any]) -> list[Any]:
    return list(itertools.combinations(choice.items(), 3))


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
    for name in OPTIONS:
        fast = _fast(name)
        for choice in _choices(name):
            marks = () if choice in fast else (pytest.mark.slow,)
            yield pytest.param(
                *_build(name, choice), id=f"{name}-{'-'.join(map(str, choice.values()))}", marks=marks
            )


def _numpyro_log_density(model: Model, data: Data, points: Any) -> Any:
    target, arrays = density(model, data), accelerator.to_device(data.arrays)
    return -np.asarray(jax.jit(jax.vmap(target.potential, in_axes=(0, None)))(points, arrays))


def _pymc_log_density(model: Model, data: Data, points: Any) -> Any:
    """PyMC's density on the same flat vectors: sites in alphabetical order, as NumPyro's are raveled."""
    twin = model.pymc(data)
    # Plain NumPy kernels: nothing of JAX in the second opinion, and no compiler to wait for.
    log_density, start = twin.compile_logp(mode="FAST_COMPILE"), twin.initial_point()
    values = [twin.rvs_to_values[rv].name for rv in sorted(twin.free_RVs, key=lambda rv: rv.name)]
    ends = np.cumsum([np.size(start[name]) for name in values])
    assert ends[-1] == points.shape[1]

    def at(point: Any) -> float:
        parts = np.split(point, ends[:-1])
        return float(log_density({name: part.reshape(np.shape(start[name]))
                                  for name, part in zip(values, parts, strict=True)}))  # fmt: skip

    return np.array([at(point) for point in points])


@pytest.mark.parametrize(("model", "design"), list(_cases()))
def test_the_same_density_in_both_languages(model: Model, design: tuple[Any, ...]) -> None:
    accelerator.prepare()
    data = model.prepare(_counts(*design))
    size = density(model, data).size
    points = np.random.default_rng(7).normal(scale=1.5, size=(POINTS, size))
    ours, theirs = _numpyro_log_density(model, data, points), _pymc_log_density(model, data, points)
    assert np.all(np.isfinite(ours))
    np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)
    assert np.ptp(ours) > 1
