"""Every wrong version of every model is found: by the twin, by the score, and some by calibration.

Power. Against the twin there is no chance in it: the densities differ by more than the twin test's tolerance
or they do not. The score is found wrong where a moment is further from 0 than the error budget allows; each
mutation must be `SPARE` standard errors beyond that, so that with other seeds it would be found again with
probability Φ(SPARE) = .9987.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import error_budget
import jax
import numpy as np
import pytest
from mutations import MUTATIONS, Mutant, Mutation
from numpyro.infer.util import potential_energy

from bayesjudge.checks.replicates import Simulator
from bayesjudge.checks.score import moments_of, score_program
from bayesjudge.datasets.small import KIND_OF_MODEL, small_table
from bayesjudge.inference import accelerator
from bayesjudge.inference.density import density
from bayesjudge.model import Data, find_model, model_names

SPARE = 3.0


@dataclass(frozen=True, kw_only=True)
class Case:
    """A model on its small table, and the potential of all its mutations as one function of their weights."""

    name: str
    model: Any
    data: Data

    @property
    def mutations(self) -> tuple[Mutation, ...]:
        return MUTATIONS[self.name]

    def potential(self, z: Any, arrays: Any, weights: Any) -> Any:
        slips, on = self.mutations, dict(zip(self.mutations, weights, strict=True))
        mutant, values = Mutant(right=self.model, slips=slips), density(self.model, self.data).unravel(z)
        for slip in slips:
            if slip.swapped_with:
                # Both sites are real and of one prior, so swapping their values swaps their roles.
                one, other, weight = values[slip.site], values[slip.swapped_with], on.pop(slip)
                values[slip.site] = one + weight * (other - one)
                values[slip.swapped_with] = other + weight * (one - other)

        def generative(given: Any) -> None:
            mutant.weighted(self.data.with_arrays(given), on)

        return potential_energy(generative, (arrays,), {}, values)


@pytest.fixture(scope="module", params=list(MUTATIONS))
def case(request: pytest.FixtureRequest) -> Case:
    accelerator.prepare()
    model = find_model(request.param)()
    data = model.prepare(small_table(KIND_OF_MODEL[request.param]))
    return Case(name=request.param, model=model, data=data)


def test_every_registered_model_has_four_wrong_versions_or_more() -> None:
    assert set(MUTATIONS) == set(model_names())
    assert min(len(wrong) for wrong in MUTATIONS.values()) >= 4


def _weights(case: Case) -> Any:
    """No mutation, then each alone, (1 + mutations, mutations)."""
    return np.concatenate([np.zeros((1, len(case.mutations))), np.eye(len(case.mutations))])


def test_each_has_another_density_than_the_twin(case: Case) -> None:
    target, arrays = density(case.model, case.data), accelerator.to_device(case.data.arrays)
    points = np.random.default_rng(0).normal(size=(5, target.size))
    of_points = jax.vmap(case.potential, in_axes=(0, None, None))
    found = np.asarray(jax.jit(jax.vmap(of_points, in_axes=(None, None, 0)))(points, arrays, _weights(case)))
    right = np.asarray(jax.jit(jax.vmap(target.potential, in_axes=(0, None)))(points, arrays))
    # Without a mutation it is the model's own density, which tests/test_twins.py holds against PyMC's.
    np.testing.assert_allclose(found[0], right, rtol=1e-12)
    apart = np.abs(found[1:] - right).max(axis=1) / np.abs(right).max()
    assert _missed(case, apart > 1e-6) == []


def _missed(case: Case, found: Any) -> list[str]:
    return [slip.name for slip, is_found in zip(case.mutations, found, strict=True) if not is_found]


@pytest.mark.slow
def test_the_score_of_each_has_other_moments(case: Case) -> None:
    world = Simulator(model=case.model, data=case.data).world(2000, seed=3)
    names = [slip.name for slip in case.mutations]
    program = score_program(lambda z, given: -case.potential(z, given, [given[name] for name in names]))

    def largest(weights: Any) -> float:
        weighted = case.data.with_arrays({**case.data.arrays, **dict(zip(names, weights, strict=True))})
        return float(moments_of(program, world, weighted, seed=4).abs().max(axis=None))

    found = [largest(weights) for weights in _weights(case)]
    critical = error_budget.standard_errors(3 * world.points.shape[1])
    assert found[0] < critical, "the right model"
    assert _missed(case, np.array(found[1:]) > critical + SPARE) == []
