"""Seeds can be moved from one place, and the tests that take a bound from the budget are found."""

from __future__ import annotations

from pathlib import Path

import error_budget
import jax
import numpy as np
import pytest

from bayesjudge.datasets import simulate_verdicts

TESTS = Path(__file__).parents[1]


@pytest.fixture
def moved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other seeds until the test is over."""
    for module, name in ((np.random, "default_rng"), (jax.random, "key")):
        monkeypatch.setattr(module, name, getattr(module, name))
    error_budget.move_seeds(12)


def test_every_seed_is_another_one(request: pytest.FixtureRequest) -> None:
    def drawn() -> list[float]:
        key = jax.random.normal(jax.random.key(3))
        labels = simulate_verdicts(seed=1, labelled=20, unlabelled=0).verdicts.frame["verdict"]
        generators = (np.random.default_rng(3), np.random.default_rng([3, 4]))
        return [float(key), labels.mean(), *(one.random() for one in generators)]

    before, same = drawn(), drawn()
    request.getfixturevalue("moved")
    after, again = drawn(), drawn()
    assert before == same
    assert after == again
    assert sum(one == other for one, other in zip(before, after, strict=True)) <= 1  # the mean of 40 verdicts


def test_statistical_tests_of_this_suite_are_found() -> None:
    def found(name: str) -> list[str]:
        return error_budget.statistical_tests(next(TESTS.rglob(name)).read_text(encoding="utf-8"))

    assert "test_bootstrap_covers" in found("test_baselines_coverage.py")  # by a constant of its module
    assert "test_nuts_has_the_exact_quantiles" in found("test_inference_fit.py")  # by the fixture `agree`
    assert found("test_imports.py") == []
    every = [name for path in TESTS.rglob("test_*.py") for name in found(path.name)]
    assert len(every) <= error_budget.TESTS


def test_no_statistical_test_escapes_the_count() -> None:
    # They are found by the name of the module, which this test of it may name as well.
    named = [
        path.name
        for path in TESTS.rglob("test_*.py")
        if path.name != Path(__file__).name and "from error_budget import" in path.read_text(encoding="utf-8")
    ]
    assert not named
