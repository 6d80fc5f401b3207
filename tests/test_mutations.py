"""Every wrong version of every model is found: against the twin, by the score, and some by calibration.

Power. Against the twin there is no chance in it: the densities differ by more than the twin test's tolerance
or they do not. The score is found wrong where a moment is further from 0 than the error budget allows; each
mutation must be `SPARE` standard errors beyond that, so that with other seeds it would be found again with
probability Φ(SPARE) = .9987.
"""

from __future__ import annotations

from typing import Any

import error_budget
import numpy as np
import pytest
from mutants import Case
from mutations import MUTATIONS

from bayesjudge.checks.replicates import Simulator
from bayesjudge.checks.score import moments_of, score_program
from bayesjudge.model import model_names

SPARE = 3.0
#: A spread that is squared or taken thrice gives scores of infinite variance: their moments may hide it.
HEAVY = {"spread as a variance", "noise as a variance", "tau times 3"}


@pytest.fixture(scope="module", params=list(MUTATIONS))
def case(request: pytest.FixtureRequest) -> Case:
    return Case.of(request.param, MUTATIONS[request.param])


def test_every_registered_model_has_four_wrong_versions_or_more() -> None:
    assert set(MUTATIONS) == set(model_names())
    assert min(len(wrong) for wrong in MUTATIONS.values()) >= 4


def _missed(case: Case, found: Any) -> set[str]:
    return {slip.name for slip, is_found in zip(case.slips, found, strict=True) if not is_found}


def test_each_has_another_density_than_the_twin(case: Case) -> None:
    points = np.random.default_rng(0).normal(size=(5, _size(case)))
    # The twin test allows 1e-10.
    assert _missed(case, case.distances(points) > 1e-6) == set()


def _size(case: Case) -> int:
    from bayesjudge.inference.density import density

    return density(case.model, case.data).size


@pytest.mark.slow
def test_the_score_of_each_has_other_moments(case: Case) -> None:
    world = Simulator(model=case.model, data=case.data).world(4000, seed=3)
    program = score_program(lambda z, given: -case.potential(z, given, given["slips"]))

    def largest(weights: Any) -> float:
        weighted = case.data.with_arrays({**case.data.arrays, "slips": weights})
        return float(moments_of(program, world, weighted, seed=4).abs().max(axis=None))

    critical = error_budget.standard_errors(3 * world.points.shape[1])
    assert largest(np.zeros(len(case.slips))) < critical, "the right model"
    found = np.array([largest(weights) for weights in np.eye(len(case.slips))])
    assert _missed(case, found > critical + SPARE) <= HEAVY
