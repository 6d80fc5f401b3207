"""Runs of a judge on one answer against SciPy's binomial and Beta-binomial."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import expit

from bayesjudge.inference.programs import accelerator
from bayesjudge.models.common.verdict_channel import (
    jax_runs_log_prob,
    log_choose,
    logistic_normal_mean,
    pytensor_runs_log_prob,
)

RUNS = range(1, 9)
LOGITS = (-6.0, -1.0, 0.0, 0.4, 3.0)


def _ours(logit: float, rho: float, runs: int) -> np.ndarray:
    accelerator.prepare()
    k = np.arange(runs + 1)
    return np.asarray(jax_runs_log_prob(logit, rho, np.full(runs + 1, runs), k, 8)) + log_choose(runs, k)


# Both sides are sums of at most 25 logs in float64.
@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("logit", LOGITS)
def test_independent_runs_are_binomial(logit: float, runs: int) -> None:
    exact = stats.binom.logpmf(np.arange(runs + 1), runs, expit(logit))
    np.testing.assert_allclose(_ours(logit, 0.0, runs), exact, rtol=1e-12, atol=1e-12)


# SciPy's reference works with log-gamma functions of φ, which cost it digits as φ grows: 1e-9 at φ = 1e3.
@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("rho", [0.001, 0.2, 0.5, 0.9])
@pytest.mark.parametrize("logit", LOGITS)
def test_correlated_runs_are_beta_binomial(logit: float, rho: float, runs: int) -> None:
    phi, q = (1 - rho) / rho, expit(logit)
    exact = stats.betabinom.logpmf(np.arange(runs + 1), runs, q * phi, (1 - q) * phi)
    np.testing.assert_allclose(_ours(logit, rho, runs), exact, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rho", [1e-12, 0.3, 1 - 1e-12])
def test_the_gradient_is_finite_from_coin_flips_to_fixed_verdicts(rho: float) -> None:
    accelerator.prepare()
    gradient = jax.grad(lambda logit, r: jax_runs_log_prob(logit, r, 5, 2, 8), argnums=(0, 1))(30.0, rho)
    assert np.all(np.isfinite(gradient))


def test_the_twin_says_the_same() -> None:
    runs = np.repeat(np.arange(9.0), 9)
    positives = np.minimum(np.tile(np.arange(9.0), 9), runs)
    ours = jax_runs_log_prob(0.7, 0.35, runs, positives, 8)
    theirs = pytensor_runs_log_prob(np.float64(0.7), np.float64(0.35), runs, positives, 8).eval()
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


# 21 Gauss–Hermite nodes: the logistic function steepens with the spread. 2e-4 is small beside any interval.
@pytest.mark.parametrize("spread", [0.5, 1.5, 3.0])
@pytest.mark.parametrize("logit", LOGITS)
def test_the_logistic_normal_mean_is_the_integral(logit: float, spread: float) -> None:
    exact, _ = quad(
        lambda u: expit(logit + spread * u) * stats.norm.pdf(u), -9, 9, points=[-logit / spread], limit=200
    )
    assert logistic_normal_mean(logit, spread) == pytest.approx(exact, abs=2e-4)
