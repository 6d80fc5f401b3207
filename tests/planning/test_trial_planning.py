"""Where trials go: to what is undecided, never worse than everywhere alike, exactly as worth what is said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayesjudge.errors import UsageError
from bayesjudge.planning import trials
from bayesjudge.planning.trials import allocate, expected_errors, pilot_draws

PILOT = np.array([[3, 2, 0], [5, 0, 0], [2, 2, 1], [4, 1, 0]])


def test_errors_are_simulated_errors(agree: Any) -> None:
    rng = np.random.default_rng(1)
    p, made = np.array([0.5, 0.3, 0.2]), np.array([2, 3, 0])
    drawn = made + rng.multinomial(7, p, size=400_000)
    wrong = (drawn + 0.5 * rng.random(drawn.shape)).argmax(axis=1) != 0
    exact = expected_errors([[p]], counts=[made], steps=(0, 7))[0]
    assert exact[0] == 1.0
    agree(wrong.mean(), exact[1], np.sqrt(exact[1] * (1 - exact[1]) / 400_000))


def test_one_trial_errs_as_often_as_the_best_outcome_loses() -> None:
    errors = expected_errors([[[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]]], steps=(0, 1))
    np.testing.assert_allclose(errors, [[2 / 3, 0.3], [2 / 3, 0.2]])


@settings(max_examples=25)
@given(seed=st.integers(0, 1000), budget=st.integers(0, 60))
def test_a_plan_keeps_the_budget_and_never_hurts(seed: int, budget: int) -> None:
    made = np.random.default_rng(seed).multinomial(4, [0.5, 0.4, 0.1], size=5)
    plan = allocate(pilot_draws(made, draws=20, seed=seed), budget=budget, counts=made)
    assert plan.spent == plan.extra.sum() <= budget
    assert (plan.after <= plan.before + 1e-9).all()


def test_a_plan_beats_asking_everyone() -> None:
    plan = allocate(pilot_draws(PILOT, draws=400), budget=20, counts=PILOT)
    assert plan.after.sum() < plan.uniform
    assert plan.extra[2] > plan.extra[1]
    # A step at most is left over: the longest between two numbers of trials is ten.
    assert 20 - plan.spent <= 10


def test_the_plan_is_the_best_of_all_plans() -> None:
    draws = pilot_draws(PILOT[:3], draws=100)
    steps = (0, 1, 3, 5)
    errors = expected_errors(draws, counts=PILOT[:3], steps=steps)
    plans = [(i, j, k) for i in range(4) for j in range(4) for k in range(4) if steps[i] + steps[j] + steps[k] <= 8]
    best = min(errors[0, i] + errors[1, j] + errors[2, k] for i, j, k in plans)
    found = allocate(draws, budget=8, counts=PILOT[:3], steps=steps).after.sum()
    # Optimal up to the last step, which is worth less than the best step an item can take.
    assert best - 1e-12 <= found <= best + (errors[:, 0] - errors[:, -1]).max() / 2


def test_items_in_another_order_get_the_same() -> None:
    turn = [2, 0, 3, 1]
    draws = pilot_draws(PILOT, draws=50)
    straight = allocate(draws, budget=30, counts=PILOT)
    turned = allocate(draws[:, turn], budget=30, counts=PILOT[turn])
    assert turned.extra.tolist() == straight.extra[turn].tolist()


# Four items of 51 further trials each are 204: a budget of 400 pays for every step.
@pytest.mark.parametrize("budget", [0, 8, 40, 400])
def test_steps_that_no_budget_pays_for_are_not_worked_out(budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draws, asked = pilot_draws(PILOT, draws=50), []
    plan = allocate(draws, budget=budget, counts=PILOT)
    work = trials._errors

    def counted(part: Any, counts: Any, extra: int) -> Any:
        asked.append(len(counts))
        return work(part, counts, extra)

    monkeypatch.setattr(trials, "_errors", counted)
    allocate(draws, budget=budget, counts=PILOT)
    some = sum(asked)
    monkeypatch.setattr(trials, "_worth", lambda errors, *_: np.ones(len(errors), dtype=bool))
    asked.clear()
    whole = allocate(draws, budget=budget, counts=PILOT)
    assert plan.extra.tolist() == whole.extra.tolist()
    assert (some < sum(asked)) == (budget < 400)


def test_pilot_draws_follow_the_counts() -> None:
    draws = pilot_draws([[9, 1, 0], [0, 0, 50]], draws=4000, seed=2)
    np.testing.assert_allclose(draws.sum(axis=2), 1.0)
    # Mean of Dirichlet(9.5, 1.5, .5) and its standard error with 4,000 draws, five times.
    assert draws[:, 0, 0].mean() == pytest.approx(9.5 / 11.5, abs=5 * 0.11 / np.sqrt(4000))
    assert (draws == pilot_draws([[9, 1, 0], [0, 0, 50]], draws=4000, seed=2)).all()


@pytest.mark.parametrize(
    ("probabilities", "options", "said"),
    [
        ([[0.5, 0.5, 0.0]], {"budget": 1}, "shape"),
        ([[[0.5, 0.6, 0.0]]], {"budget": 1}, "add up to 1"),
        ([[[0.5, 0.5, 0.0]]], {"budget": -1}, "budget"),
        ([[[0.5, 0.5, 0.0]]], {"budget": 1, "counts": [[1, 2]]}, "counts"),
        ([[[0.5, 0.5, 0.0]]], {"budget": 1, "steps": (1, 2)}, "ascend from 0"),
    ],
)
def test_what_does_not_fit_is_refused(probabilities: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        allocate(probabilities, **options)
    with pytest.raises(UsageError, match="shape"):
        pilot_draws([[1, 2]])
