"""`benchmarks/elo_heldout.py`: what a panel can be expected to gain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from bayesjudge.inference.programs import accelerator


@pytest.fixture
def summed(benchmark_module: Callable[[str], Any]) -> Any:
    accelerator.prepare()
    return benchmark_module("harness.summed_battles")


@pytest.fixture
def expected(benchmark_module: Callable[[str], Any]) -> Any:
    return benchmark_module("harness.expected")


def test_conditioning_one_by_one_is_the_joint_normal(summed: Any) -> None:
    rng = np.random.default_rng(1)
    root = np.array([[0.2, 0.0], [0.1, 0.3]])
    p = summed.Parameters(np.array([0.1, -0.2]), np.array([1.2, 0.7]), root @ root.T, 0.8)
    seen = summed.Seen(rng.normal(size=5), rng.uniform(0.01, 0.1, 5), rng.normal(size=(5, 2)),
                         rng.uniform(0.01, 0.1, (5, 2)))  # fmt: skip
    minus, guess = summed.sweep(p, seen)
    at = 0.8 * np.append(p.slope, 1.0)
    total = 0.0
    for m in range(5):
        cov = np.outer(at, at) + np.diag([*seen.y_var[m], seen.h_var[m]])
        cov[:2, :2] += p.taste
        u = np.append(seen.y[m] - p.offset, seen.h[m])
        total -= stats.multivariate_normal(cov=cov).logpdf(u) + 1.5 * np.log(2 * np.pi)
        # E[h | judges]: regression of the last on the others.
        assert guess[m] == pytest.approx(cov[2, :2] @ np.linalg.solve(cov[:2, :2], u[:2]), rel=1e-10)
    assert minus == pytest.approx(total, rel=1e-10)


@pytest.mark.slow
def test_parameters_of_many_models_are_learned(summed: Any, expected: Any) -> None:
    root = np.linalg.cholesky(np.array([[0.04, 0.03], [0.03, 0.09]]))
    truth = summed.Parameters(
        np.zeros((1, 2)), np.array([[1.3, 0.6]]), (root @ root.T)[None], np.array([0.9])
    )
    rng, models = np.random.default_rng(2), 400
    noise = np.full(models, 0.002)
    like = summed.Seen(noise, noise, np.zeros((models, 2)), np.full((models, 2), 0.002))
    world = expected._worlds(truth, 0.9 * rng.normal(size=(1, models)), like, rng)
    found = summed.shaped(summed.learned(summed.Seen(*(part[0] for part in world))), 2)
    # 400 models: standard errors of .011 and .017 on the slopes, of 7 % on the covariances; four of them.
    np.testing.assert_allclose(found.slope, [1.3, 0.6], atol=0.07)
    np.testing.assert_allclose(found.taste, truth.taste[0], rtol=0.3)
