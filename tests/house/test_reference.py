"""Stored reference posteriors are what they claim to be, and an engine still has the same posterior."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import error_budget
import numpy as np
import pandas as pd
import pytest

from bayesjudge.datasets.small import KIND_OF_MODEL, small_table
from bayesjudge.inference import Laplace, fit_many
from bayesjudge.inference.tree import data_hash
from bayesjudge.model import find_model

ROOT = Path(__file__).resolve().parents[2]
STORED = ROOT / "benchmarks" / "results" / "reference"
NAMES = sorted(path.stem for path in STORED.glob("*.parquet"))


@pytest.fixture
def reference(benchmark_module: Callable[[str], Any]) -> Any:
    """The benchmarks' own way of storing and comparing draws."""
    return benchmark_module("harness.reference_draws")


def test_a_model_has_two_and_all_are_small(reference: Any) -> None:
    assert list(reference.names()) == NAMES
    models = {name.rsplit("-", 1)[0] for name in NAMES}
    assert set(NAMES) == {f"{model}-{which}" for model in models for which in ("small", "real")}
    assert {"judge_error", "judge_panel"} <= models <= set(KIND_OF_MODEL)
    sizes = {path.name: path.stat().st_size for path in STORED.iterdir()}
    assert max(sizes.values()) <= 250_000
    assert sum(sizes.values()) <= 4_000_000


@pytest.mark.parametrize("name", NAMES)
def test_conditions_hold_of_the_stored_draws(reference: Any, name: str) -> None:
    draws, facts = reference.load(name)
    assert reference.fulfilled(facts["conditions"])
    table = pd.DataFrame(facts["parameters"]).set_index("parameter").loc[list(draws.columns)]
    # Stored in steps of a thousandth of a standard deviation; half a step for quantiles, less for means.
    np.testing.assert_array_less(abs(draws.mean() - table["mean"]), 1e-3 * table["sd"])
    np.testing.assert_array_less(abs(draws.quantile(0.95) - table["q95"]), 1e-3 * table["sd"])
    neighbours = [np.corrcoef(column[1:], column[:-1])[0, 1] for column in draws.to_numpy().T]
    # Chains are laid end to end: 49 of 9,999 neighbours are of two chains.
    assert np.abs(neighbours).max() < 0.05


# Models of counts alone: sums of scores and curvatures differ in the last digit between processors.
@pytest.mark.parametrize("model", ["judge_error", "judge_temperature"])
def test_they_are_of_the_small_tables_of_today(reference: Any, model: str) -> None:
    data = find_model(model)().prepare(small_table(KIND_OF_MODEL[model]))
    assert reference.load(f"{model}-small")[1]["manifest"]["data"] == data_hash(data)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["judge_error", "judge_temperature"])
def test_laplace_has_the_reference_posterior(
    name: str, reference: Any, benchmark_module: Callable[[str], Any], shared_data: Path
) -> None:
    model = find_model(name)()
    data = model.prepare(benchmark_module("harness.real_slices").real_slice(name, shared_data))
    _, facts = reference.load(f"{name}-real")
    assert facts["manifest"]["data"] == data_hash(data)
    fits = fit_many(model, [data], engine=Laplace(), seed=11)
    assert fits.gate(0).passed
    share = float(fits.stats[0]["importance_ess"].min()) / 4000
    found = reference.Posterior.of(fits.posterior(0), share=share / (1 + share))
    z = reference.apart(reference.summary(found), pd.DataFrame(facts["parameters"]))
    # Standard errors that are themselves estimated are a few per cent off, as in error_budget.agrees.
    assert np.abs(z).max() < 1.05 * error_budget.standard_errors(z.size)


def test_a_posterior_that_is_off_is_far_from_its_reference(reference: Any) -> None:
    draws, facts = reference.load("judge_error-small")
    known = pd.DataFrame(facts["parameters"]).set_index("parameter").loc[list(draws.columns)].reset_index()
    halves = draws.to_numpy().T.reshape(draws.shape[1], 4, -1)
    right = reference.Posterior(names=list(draws.columns), draws=halves)
    wide = reference.Posterior(names=list(draws.columns), draws=halves + 0.2 * halves.std(axis=(1, 2), keepdims=True))
    assert np.abs(reference.apart(reference.summary(right), known)).max() < 0.1
    # A fifth of a standard deviation is fourteen standard errors of two means of 10,000 draws.
    assert np.abs(reference.apart(reference.summary(wide), known))[:, 0].min() > 10
