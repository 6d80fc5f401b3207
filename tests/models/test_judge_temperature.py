"""`judge_temperature`: its twin, what it recovers, and soft targets that cost no more for more battles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import error_budget
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.special import expit

from bayesjudge.checks import predictive_check
from bayesjudge.counts.battles.counts import BattleCounts, count_battles
from bayesjudge.datasets import BattleDesign, simulate_battles
from bayesjudge.errors import UsageError
from bayesjudge.inference import Laplace, Nuts, fit
from bayesjudge.maths.bradley_terry import solve_strengths
from bayesjudge.model import with_observations
from bayesjudge.models.judge_temperature import JudgeTemperature
from bayesjudge.models.judge_temperature.data import ADDED, SOFT_ADDED
from bayesjudge.models.judge_temperature.results import SoftTable, cut_strengths
from bayesjudge.tables import Battles

BETA = {"j0": 0.3, "j1": 1.2}


def _battles(n: int = 1200, seed: int = 1, digits: int = 1) -> Battles:
    """Gaps whose log odds of a human vote are β times the gap, as the model says; a few ties."""
    design = BattleDesign(battles=n, judges=2, graded=True)
    frame = simulate_battles(seed=seed, design=design).battles.frame.rename(columns={"gap": "score_gap"})
    rng = np.random.default_rng(seed)
    gap = (3 * frame["score_gap"]).round(digits)
    frame = frame.assign(score_gap=gap, human=np.nan, group=np.where(rng.random(len(frame)) < 0.3, "x", "y"))
    # Each judge has its own battles here, so that one vote stands next to one gap.
    frame = frame.assign(item=frame["item"] + frame["judge"])
    p = expit(frame["judge"].map(BETA) * gap)
    human = (rng.random(len(frame)) < p).astype(float)
    human[rng.random(len(frame)) < 0.1] = 0.5
    return Battles.from_frame(frame.assign(human=human).drop(columns="verdict"))


@pytest.fixture(scope="module")
def counts() -> BattleCounts:
    return count_battles(_battles(), group="group")


@pytest.mark.parametrize("by_group", [False, True])
def test_the_same_density_in_both_languages(
    by_group: bool, counts: BattleCounts, same_density: Callable[..., None]
) -> None:
    model = JudgeTemperature(by_group=by_group)
    same_density(model, model.prepare(counts), points=30, scale=1.0)


@pytest.mark.slow
def test_temperatures_are_recovered(counts: BattleCounts, agree: Callable[..., None]) -> None:
    found = fit(JudgeTemperature(), counts, engine=Laplace(draws=500))
    table = found.estimates().where(estimand="beta").frame.set_index("unit")
    for judge, truth in BETA.items():
        row = table.loc[judge]
        agree(row["point"], truth, (row["upper"] - row["lower"]) / 3.92)
    check = predictive_check(found)
    assert check.frame["flagged"].sum() == 0
    assert "j0: |gap| 0 to 0.25 sd" in set(check.frame["unit"])


@pytest.mark.slow
def test_one_judge_with_many_votes_is_no_ridge() -> None:
    frame = _battles(2000, seed=5).frame
    one = Battles.from_frame(frame[frame["judge"] == "j0"].reset_index(drop=True))
    # With 1,000 draws R-hat is at its bound, on one side or the other by the processor.
    found = fit(JudgeTemperature(), count_battles(one), engine=Nuts(draws=2000), seed=1)
    assert found.gate.passed, found.gate.reasons


def test_swapping_a_and_b_turns_the_gap(counts: BattleCounts) -> None:
    judged = counts.judged
    turned = replace(judged, gap=-judged.gap, votes=judged.votes[:, ::-1])
    one, other = (JudgeTemperature().prepare(c) for c in (counts, replace(counts, judged=turned)))
    for name in ("n", "signed_gap", "judge", "stratum"):
        np.testing.assert_array_equal(one[name], other[name])


def test_scores_in_other_units_have_betas_in_other_units(counts: BattleCounts) -> None:
    tenfold = replace(counts, judged=replace(counts.judged, gap=10 * counts.judged.gap))
    one, other = (JudgeTemperature().prepare(c) for c in (counts, tenfold))
    np.testing.assert_allclose(one["signed_gap"], other["signed_gap"])
    np.testing.assert_allclose(10 * one["scale"], other["scale"])


# Soft targets


def _table(battles: int, low: float = -2.0, high: float = 1.0) -> tuple[SoftTable, Any]:
    rng = np.random.default_rng(1)
    first, second = np.triu_indices(5, 1)
    pair = rng.integers(len(first), size=battles)
    gap = rng.normal(scale=3, size=battles).round(2)
    one = np.ones(battles, dtype=np.int64)
    return SoftTable.tabulate(first[pair], second[pair], gap, one, low=low, high=high), (pair, gap)


def test_the_polynomial_stands_for_the_battles() -> None:
    table, (pair, gap) = _table(3000)
    for beta in (np.exp(-2.0), 0.5, 1.7, np.exp(1.0)):
        exact = np.bincount(pair, weights=expit(beta * gap))
        # Gaps of up to 10 points times e are far up the sigmoid; 33 nodes leave 1e-7 of a battle there.
        np.testing.assert_allclose(table.wins(np.array([beta]))[0], exact, atol=1e-6)
        squares = np.bincount(pair, weights=expit(beta * gap) ** 2)
        np.testing.assert_allclose(table.squares(np.array([beta]))[0], squares, atol=1e-5)
    assert table.coefficients.shape == (33, 20)


def test_soft_elo_is_the_middle_of_the_cut_posterior() -> None:
    table, (pair, gap) = _table(4000)
    beta = np.full(4000, 0.4)
    draws = cut_strengths([table], [beta], 5, learning_rate=1, seed=1)
    soft = np.bincount(pair, weights=expit(0.4 * gap))
    mode = solve_strengths(table.first, table.second, table.n, soft, 5)[0]
    np.testing.assert_allclose(draws.sum(axis=1), 0, atol=1e-9)
    # Hundreds of battles a pair: mode and mean differ by far less than the Monte Carlo errors allowed.
    error = draws.std(0) / np.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(0) - mode) < error_budget.standard_errors(5) * error)
    wide = cut_strengths([table], [beta], 5, learning_rate=0.25, seed=1)
    # A quarter of the weight is twice the spread; 4,000 draws know a standard deviation to 1.1 %.
    np.testing.assert_allclose(wide.std(0) / draws.std(0), 2, rtol=0.08)


@pytest.mark.slow
@pytest.mark.parametrize(("battles", "ridge", "off"), [(3, 0.5, 0.02), (3, 0.1, 0.03), (20, 0.1, 0.02)])
def test_a_cut_draw_has_the_gibbs_density(battles: int, ridge: float, off: float) -> None:
    # Two models and few battles: one number, whose exact distribution a grid gives.
    one, zero = np.array([1]), np.array([0])
    table = SoftTable.tabulate(zero, one, np.array([2.0]), np.array([battles]), low=-1.0, high=1.0)
    draws = cut_strengths([table], [np.ones(100_000)], 2, learning_rate=1, ridge=ridge, seed=2)
    d = np.linspace(-30, 30, 200_001)
    log_p = battles * (expit(2.0) * d - np.logaddexp(0, d)) - ridge / 2 * (d**2 / 2)
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    mean, gap = p @ d, draws[:, 0] - draws[:, 1]
    spread = np.sqrt(p @ (d - mean) ** 2)
    # 32 proposals leave up to .016 standard deviations in the mean and 1 % of them (3 battles, ridge .1).
    chance = error_budget.standard_errors(3) / np.sqrt(len(gap))
    assert abs(gap.mean() - mean) < (0.016 + chance) * spread
    # Chance adds .3 to .4 %.
    assert gap.std() == pytest.approx(spread, rel=off)


def test_groups_add_up_each_at_its_own_temperature(counts: BattleCounts) -> None:
    model = JudgeTemperature(by_group=True)
    data = model.prepare(counts)
    # Effects of no spread are 0 in whatever units.
    draws = {name: (("chain", "draw"), np.full((2, 300), at)) for name, at in (("mu", 0.1), ("tau", 0.0))}
    shape = (2, 300, 2)
    posterior = xr.Dataset(
        {
            **draws,
            "z_judge": (("chain", "draw", "judge"), np.zeros(shape)),
            "omega": (("chain", "draw", "judge"), np.zeros(shape)),
            "z_group": (("chain", "draw", "judge", "group"), np.zeros((*shape, 2))),
        },
        coords={"judge": ["j0", "j1"], "group": ["x", "y"]},
    )
    # What clusters add is known at the temperatures that the votes show, which differ by group.
    apart = model.elo(posterior, model.replicated(data, {}), judge="j1")
    plain = JudgeTemperature()
    alone = plain.replicated(plain.prepare(counts), {})
    together = plain.elo(posterior.drop_vars(["z_group", "omega"]), alone, judge="j1")
    # The same sums of targets up to rounding, and the same random numbers.
    np.testing.assert_allclose(apart, together, atol=1e-3)


# Refusals


def test_what_cannot_be_asked_is_said() -> None:
    with pytest.raises(UsageError, match="no judge gave scores"):
        JudgeTemperature().prepare(count_battles(simulate_battles(seed=1).battles))
    voteless = simulate_battles(seed=1, design=BattleDesign(graded=True, voted=0)).battles
    with pytest.raises(UsageError, match="no human vote that is not a tie"):
        JudgeTemperature().prepare(count_battles(voteless))
    with pytest.raises(UsageError, match="learning_rate must be above 0"):
        JudgeTemperature(learning_rate=0)


def test_a_model_that_a_judge_did_not_grade_has_no_soft_elo() -> None:
    """Its strength could be anything, and the mean of all, from which every Elo is counted, too."""
    frame = _battles(400).frame
    without = frame[(frame["model_a"] != "m3") & (frame["model_b"] != "m3")]
    voted = frame[(frame["model_a"] == "m3") | (frame["model_b"] == "m3")].assign(judge=None, gap=np.nan)
    found = [
        fit(JudgeTemperature(), count_battles(Battles.from_frame(rows)), engine=Laplace(draws=300), seed=1)
        for rows in (without, pd.concat([without, voted]))
    ]
    one, other = (fitted.estimates().where(estimand="elo").frame for fitted in found)
    assert "m3" not in set(other["unit"])
    one, other = (table.reset_index(drop=True) for table in (one, other))
    # Of the two draws next to a median, rounding says which is further from it, and R-hat counts ranks of that: an
    # exchange of the two moved it by up to 1e-4 in 300 simulated samples of four chains of 300 draws.
    checks = ["rhat", "ess"]
    pd.testing.assert_frame_equal(one[checks], other[checks], rtol=2e-4)
    pd.testing.assert_frame_equal(one.drop(columns=checks), other.drop(columns=checks))


@pytest.mark.slow
def test_every_vote_by_two_people_who_agree_is_one_vote() -> None:
    frame = _battles(800).frame.drop(columns="judge").assign(judge="j0", voter="one")
    again = frame.assign(voter="two")
    width = {}
    for cluster in (None, "none"):
        for name, rows in (("once", frame), ("twice", pd.concat([frame, again]))):
            counts = count_battles(Battles.from_frame(rows), cluster=cluster)
            row = fit(JudgeTemperature(), counts, engine=Laplace(draws=1000), seed=1).estimates().frame.iloc[0]
            width[cluster, name] = row["upper"] - row["lower"]
    assert width[None, "twice"] == pytest.approx(width[None, "once"], rel=0.06)
    assert width["none", "twice"] == pytest.approx(width["none", "once"] / np.sqrt(2), rel=0.06)


def test_replicated_votes_share_nothing(counts: BattleCounts) -> None:
    model, data = JudgeTemperature(), JudgeTemperature().prepare(counts)
    for name in (ADDED, SOFT_ADDED):
        widened = data.with_arrays({**data.arrays, name: np.ones_like(data[name])})
        assert not with_observations(model, widened, {"n": data["n"]})[name].any()


def test_every_battle_twice_on_its_prompt_leaves_soft_elo_as_wide() -> None:
    """The same answers graded the same once more say nothing new of other prompts."""
    frame = _battles(600).frame.query("judge == 'j1'")
    frame = frame.assign(prompt=frame["item"])
    twice = pd.concat([frame, frame.assign(item=frame["item"] + "-again")])
    width = {}
    for cluster in (None, "none"):
        for name, rows in (("once", frame), ("twice", twice)):
            counts = count_battles(Battles.from_frame(rows), cluster=cluster)
            found = fit(JudgeTemperature(), counts, engine=Laplace(draws=2000), seed=1).estimates()
            elo = found.where(estimand="elo").frame
            width[cluster, name] = (elo["upper"] - elo["lower"]).mean()
    # 1,000 draws know a width to some 3 %, the mean of six models to 2 %.
    assert width[None, "twice"] == pytest.approx(width[None, "once"], rel=0.08)
    assert width["none", "twice"] == pytest.approx(width["none", "once"] / np.sqrt(2), rel=0.08)
