"""Strengths in units that suit few battles and many: the same density, in other coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
from numpyro import distributions as dist
from numpyro.distributions import biject_to

from bayesjudge.datasets import BattleDesign, simulate_battles
from bayesjudge.inference import fit
from bayesjudge.inference.programs import accelerator
from bayesjudge.inference.programs.density import density
from bayesjudge.model import Data
from bayesjudge.models.bradley_terry import BradleyTerry
from bayesjudge.models.common.strengths import Strengths
from bayesjudge.models.common.units import information


@pytest.fixture(autouse=True)
def _float64() -> None:
    accelerator.prepare()


@pytest.mark.parametrize(("spread", "known"), [(0.01, 0.0), (0.3, 25.0), (4.0, 1e4)])
def test_the_prior_is_the_zero_sum_normal_whatever_its_units(spread: float, known: float) -> None:
    prior, plain = Strengths(spread, known, 5), dist.ZeroSumNormal(spread, event_shape=(5,))
    theta = np.random.default_rng(0).normal(size=5) * spread
    theta -= theta.mean()
    assert float(prior.log_prob(theta)) == pytest.approx(float(plain.log_prob(theta)), rel=1e-12)
    move = biject_to(prior.support)
    u = move.inv(jnp.asarray(theta))
    assert u.shape == (4,)
    np.testing.assert_allclose(move(u), theta, atol=1e-12 * spread)
    # By the change of variables u has the density of ZeroSumNormal(√(1 + τ² I)) in four free coordinates.
    there = dist.Normal(0.0, np.sqrt(1 + spread**2 * known)).log_prob(u).sum()
    jacobian = move.log_abs_det_jacobian(u, jnp.asarray(theta))
    assert float(prior.log_prob(theta) + jacobian) == pytest.approx(float(there), rel=1e-9)


def test_information_counts_battles_that_somebody_won() -> None:
    n = np.array([[30, 5, 10], [10, 100, 10]])
    assert float(information(n, 3)) == 15.0
    assert float(information(n, 1)) == 30.0


def test_unconstrained_values_are_found_again() -> None:
    model = BradleyTerry()
    data = model.prepare(simulate_battles(seed=1).battles)
    target, arrays = density(model, data), accelerator.to_device(data.arrays)
    flat = jnp.asarray(np.random.default_rng(0).normal(size=target.size))
    values = target.constrain(flat, arrays)
    assert float(values["strength"].sum()) == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(target.unconstrain(values, arrays), flat, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(("models", "battles"), [(3, 60), (10, 300)])
def test_few_battles_are_no_funnel(models: int, battles: int) -> None:
    """Sampled as they are, strengths of these two logs diverged, and one had an ESS of 120."""
    world = BattleDesign(strengths=tuple(np.linspace(-0.5, 0.5, models)), battles=battles)
    found = fit(BradleyTerry(), simulate_battles(seed=models, design=world).battles, seed=1)
    assert found.gate.passed, found.gate.reasons
    assert int(found.tree["sample_stats"]["diverging"].sum()) == 0


@dataclass(frozen=True)
class _Below:
    """Counts from a rate that lies below a cap, which is unknown too: a support that another site moves."""

    name: str = "below"
    label: str = "bayes:below"

    def prepare(self, table: Any) -> Data:
        return Data(
            arrays={"n": np.asarray(table)},
            dims={"n": ("row",)},
            coords={"row": tuple(range(len(table)))},
            observed="n",
        )

    def numpyro(self, data: Data) -> None:
        cap = numpyro.sample("cap", dist.Gamma(8.0, 1.0))
        rate = numpyro.sample("rate", dist.Uniform(0.0, cap))
        with numpyro.plate("row", data.size("row")):
            numpyro.sample("n", dist.Poisson(rate), obs=data.arrays.get("n"))


def test_a_support_that_another_site_moves() -> None:
    model: Any = _Below()
    data = model.prepare([3, 4, 2, 5])
    target, arrays = density(model, data), accelerator.to_device(data.arrays)
    flat = jnp.asarray(np.random.default_rng(1).normal(size=(50, target.size)))
    for point in flat:
        values = target.constrain(point, arrays)
        assert 0 < values["rate"] < values["cap"]
        np.testing.assert_allclose(target.unconstrain(values, arrays), point, atol=1e-9)
