"""Worlds drawn from the priors, and endless battles: the truths told are those of the data that are made."""

from __future__ import annotations

from typing import Any

import error_budget
import jax
import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import ks_2samp, t

from bayesjudge.baselines.elo import temperature
from bayesjudge.battle_counts import count_battles
from bayesjudge.checks.replicates import Simulator
from bayesjudge.datasets import BattleDesign, simulate_battles, soft_truth
from bayesjudge.inference.density import density
from bayesjudge.inference.tree import posterior_dataset
from bayesjudge.models.judge_panel import JudgePanel
from bayesjudge.models.judge_temperature import JudgeTemperature
from bayesjudge.strengths import solve_strengths, to_elo
from bayesjudge.studies import prior_worlds

SOFT = BattleDesign(battles=20_000, graded=True)


def test_labels_of_a_panel_are_right_as_often_as_is_told() -> None:
    found = [prior_worlds.panel(40, seed)[1] for seed in range(400)]
    for kind, unit in (("accuracy", "a"), ("accuracy", "b"), ("difference", "a − b")):
        off = np.array([truth[f"{kind} (these items)", unit] - truth[kind, unit] for truth in found])
        error_budget.agrees(off.mean(), 0.0, off.std(ddof=1) / np.sqrt(len(off)) * np.ones(3))


def test_a_panel_shows_the_labels_of_so_many_items() -> None:
    votes, truth = prior_worlds.panel(40, 5)
    assert (votes.annotations.sum(axis=1) == np.where(np.arange(300) < 40, 2, 0)).all()
    whole, same = prior_worlds.panel(300, 5)
    assert same == truth
    np.testing.assert_array_equal(whole.label[:40], votes.label[:40])
    assert whole.label.mean(axis=0) == pytest.approx([truth["accuracy (these items)", m] for m in "ab"])


def test_labels_of_a_panel_spread_as_the_model_has_them() -> None:
    # On the same votes of judges the model's own simulator draws what the world drew.
    model, made, drawn = JudgePanel(), [], []
    for seed in range(150):
        data = model.prepare(prior_worlds.panel(300, seed)[0])
        mine, again = data["answer_model"] == 0, model.simulate(jax.random.key(seed), data)["label"]
        made.append(data["label"][mine].mean())
        drawn.append(np.asarray(again)[mine].mean())
    assert ks_2samp(made, drawn).pvalue > error_budget.level()


def test_temperatures_spread_as_the_model_has_them() -> None:
    model, (table, _) = JudgeTemperature(), prior_worlds.graded(60, 0)
    data = model.prepare(table)
    drawn = Simulator(model=model, data=data).world(1000, seed=0).points
    posterior = posterior_dataset(density(model, data), data, drawn[None])
    # The prior is about gaps in units of their root mean square.
    log_beta = np.log(model.beta(posterior, data).to_numpy().ravel() * data["scale"][0])
    made = [prior_worlds._log_temperature(np.random.default_rng(seed)) for seed in range(1000)]
    assert ks_2samp(made, log_beta).pvalue > error_budget.level()


def test_a_temperature_is_told_in_points_of_the_gap() -> None:
    table, truth = prior_worlds.graded(60, 4)
    log_beta = prior_worlds._log_temperature(_after_the_strengths(4))
    assert truth["beta", "j0"] == pytest.approx(np.exp(log_beta) / np.sqrt(np.mean(table.judged.gap**2)))


def _after_the_strengths(seed: int) -> np.random.Generator:
    rng = np.random.default_rng([seed, 7])
    rng.permutation(6)
    return rng


def test_endless_votes_have_the_temperature_that_is_told() -> None:
    log = simulate_battles(seed=3, design=SOFT)
    worlds = [(count_battles(log.battles), soft_truth(log)), prior_worlds.graded(20_000, 4)]
    rows = [temperature(table, "j0", prob=0.6827, seed=0).frame.iloc[0] for table, _ in worlds]
    error_budget.agrees([row["point"] for row in rows], [truth["beta", "j0"] for _, truth in worlds],
                        [(row["upper"] - row["lower"]) / 2 for row in rows])  # fmt: skip


@pytest.mark.parametrize("beta", [None, 2.0])
def test_endless_battles_have_the_soft_elo_that_is_told(beta: float | None) -> None:
    log = simulate_battles(seed=5, design=SOFT)
    truth = soft_truth(log, beta=beta)
    frame, names = log.battles.frame, np.array(SOFT.models)
    place = [np.searchsorted(names, frame[column]) for column in ("model_a", "model_b")]
    target, part = expit(truth["beta", "j0"] * frame["gap"].to_numpy()), np.arange(len(frame)) % 20
    found = np.stack([_soft_elo(place[0][part == k], place[1][part == k], target[part == k])
                      for k in range(20)])  # fmt: skip
    error = found.std(axis=0, ddof=1) / np.sqrt(20)
    told = [truth["elo", name, "j0", ""] for name in SOFT.models]
    # Twenty parts tell their spread: standard errors off by a sixth, so Student's t instead of a normal.
    most = t.isf(error_budget.level(12) / 2, 19)
    assert (np.abs(found.mean(axis=0) - told) < most * error).all()


def _soft_elo(first: Any, second: Any, target: Any) -> Any:
    return to_elo(solve_strengths(first, second, np.ones(len(first)), target, len(SOFT.models), ridge=0)[0])
