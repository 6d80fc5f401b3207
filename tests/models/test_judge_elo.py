"""`judge_elo`: its twin, its symmetries, what it recovers, and what it predicts of unseen models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pandas as pd
import pytest
import xarray as xr

from bayesjudge.checks import predictive_check
from bayesjudge.counts.battles.counts import BattleCounts, count_battles
from bayesjudge.datasets import BattleDesign, simulate_battles
from bayesjudge.errors import UsageError
from bayesjudge.inference import Fit, fit
from bayesjudge.inference.programs import accelerator
from bayesjudge.inference.programs.density import density
from bayesjudge.maths.bradley_terry import anchored_strengths, solve_strengths, to_elo
from bayesjudge.model import Data
from bayesjudge.models.judge_elo import JudgeElo
from bayesjudge.models.judge_elo import results as judge_elo_results
from bayesjudge.models.judge_elo.data import taste_powers
from bayesjudge.models.judge_elo.likelihood import numpyro_taste_root, numpyro_tastes, vine_shapes
from bayesjudge.simulation import sbc
from bayesjudge.tables import Battles


def _counts(seed: int = 1, **options: Any) -> BattleCounts:
    return count_battles(simulate_battles(seed=seed, design=BattleDesign(**options)).battles)


def _mixed() -> Battles:
    """One judge who states verdicts and one who scores, with lengths."""
    rng = np.random.default_rng(3)
    stated = simulate_battles(seed=1, design=BattleDesign(battles=150)).battles.frame.drop(columns="gap")
    scored = simulate_battles(seed=1, design=BattleDesign(battles=150, graded=True)).battles.frame
    scored = scored.drop(columns=["verdict"]).rename(columns={"gap": "score_gap"}).assign(judge="k")
    lengths = {f"length_{side}": rng.integers(1, 9, 150) * 100 for side in "ab"}
    human = stated["human"].to_numpy()
    both = [part.assign(human=human, **lengths) for part in (stated, scored)]
    columns = ["item", "model_a", "model_b", "judge", "order", "human", *lengths]
    turned = scored.set_index("item").reindex(stated["item"])
    for side in ("model_a", "model_b", "order"):
        both[1][side] = stated[side].to_numpy()
    flip = np.where(turned["model_a"].to_numpy() == stated["model_a"].to_numpy(), 1.0, -1.0)
    both[1]["score_gap"] = turned["score_gap"].to_numpy() * flip
    frame = [both[0][[*columns, "verdict"]], both[1][[*columns, "score_gap"]]]
    return Battles.from_frame(pd.concat(frame, ignore_index=True))


def _strong_tastes() -> BattleCounts:
    """Tastes that stand out from the noise: they are sampled half-way."""
    strengths = tuple(np.linspace(-1, 1, 9).tolist())
    return _counts(strengths=strengths, battles=3000, taste=0.6)


@pytest.fixture(scope="module")
def fitted() -> Fit:
    counts = _counts(judges=2, battles=3000).without_votes_on("m2")
    # The lock-step sampler compiles in a third of the time that NUTS takes. With five seeds R-hat was at most
    # 1.015; that of 2 chains of 300 draws was past 1.05 once in five.
    return fit(JudgeElo(), counts, engine="hmc", draws=500, tune=300, seed=3)


# Density


@pytest.mark.parametrize(
    ("model", "counts"),
    [
        (JudgeElo(), _strong_tastes),
        (JudgeElo(families=(("j0", "x"), ("m1", "x"))), lambda: _counts(battles=150, judges=4)),
        (JudgeElo(length_effect=True), lambda: count_battles(_mixed())),
        pytest.param(JudgeElo(scores="verdicts"), lambda: count_battles(_mixed()), marks=pytest.mark.slow),
    ],
    ids=[
        "one judge of strong tastes",
        "four judges, a family",
        "verdicts and scores, length",
        "scores as verdicts",
    ],
)
def test_the_same_density_in_both_languages(
    model: JudgeElo, counts: Callable[[], BattleCounts], same_density: Callable[..., None]
) -> None:
    same_density(model, model.prepare(counts()), points=20)


def test_tastes_are_sampled_half_way_only_where_they_stand_out() -> None:
    powers = [taste_powers(counts).tolist() for counts in (_strong_tastes(), _counts(taste=0.6))]
    # Six models say too little of how strong tastes are.
    assert powers == [[0.5], [0.0]]


def test_half_way_tastes_are_the_same_in_results_and_in_the_density() -> None:
    accelerator.prepare()
    data = JudgeElo().prepare(_strong_tastes())
    z, spread = np.random.default_rng(1).normal(size=(1, 9)), np.array([[0.3]])
    fixed = numpyro.handlers.substitute(numpyro_tastes, data={"z_taste": jnp.asarray(z)})
    here = numpyro.handlers.seed(fixed, jax.random.key(0))(jnp.asarray(spread), data)
    draws = {"z_taste": (("chain", "draw", "judge", "model"), z[None, None]),
             "taste_spread": (("chain", "draw", "judge"), spread[None])}  # fmt: skip
    there = judge_elo_results.tastes(xr.Dataset(draws), data)
    np.testing.assert_allclose(np.asarray(here), there.to_numpy()[0, 0], rtol=1e-12)
    # Standardised, z would be sampled with a spread of 1.
    np.testing.assert_allclose(np.asarray(here), np.sqrt(0.3) * z, rtol=1e-12)


def test_adding_to_both_scores_changes_nothing() -> None:
    frame = _mixed().frame
    frame = frame[frame["judge"] == "k"].drop(columns=["verdict"])
    scored = [
        frame.assign(score_a=frame["gap"] + shift, score_b=shift).drop(columns="gap") for shift in (0.0, 5.0)
    ]
    one, other = (JudgeElo().prepare(count_battles(Battles.from_frame(part))) for part in scored)
    np.testing.assert_allclose(one["score"], other["score"], atol=1e-9)


def test_judges_by_other_names_have_the_same_density() -> None:
    battles = simulate_battles(seed=1, design=BattleDesign(battles=150, judges=2)).battles
    other = Battles.from_frame(battles.frame.replace({"judge": {"j0": "z"}}).drop(columns="gap"))
    model, values = JudgeElo(), []
    for table, order in ((battles, [0, 1]), (other, [1, 0])):
        data = model.prepare(count_battles(table))
        site = _some_values(data)
        judged = {
            name: site[name][np.array(order)]
            for name in ("slope", "taste_spread", "effects", "verdict_log_tie")
        }
        # With two judges of one correlation, tastes regress on the first: give them their own values
        # directly.
        judged["z_taste"], site["taste_partial"] = site["z_taste"][np.array(order)], jnp.array([0.5])
        target = density(model, data)
        flat = target.unconstrain({**site, **judged}, data.arrays)
        values.append(float(jax.jit(target.potential)(flat, dict(data.arrays))))
    assert values[0] == pytest.approx(values[1], rel=1e-12)


def _some_values(data: Data) -> dict[str, Any]:
    rng = np.random.default_rng(4)
    theta = rng.normal(size=6)
    return {
        "spread": 0.8, "strength": jnp.asarray(theta - theta.mean()), "slope": jnp.array([[0.5], [1.2]]),
        "taste_spread": jnp.array([[0.2], [0.4]]), "z_taste": jnp.asarray(rng.normal(size=(2, 6))),
        "taste_partial": jnp.array([0.7]), "effects": jnp.array([[0.2], [-0.3]]), "vote_log_tie": -0.3,
        "verdict_log_tie": jnp.array([-0.5, 0.2]),
    }  # fmt: skip


@pytest.mark.parametrize("judges", [4])
def test_correlations_of_tastes_are_uniform_a_priori(judges: int, agree: Callable[..., None]) -> None:
    # LKJ(1): each correlation is 2 Beta(J/2, J/2) − 1 (Lewandowski, Kurowicka & Joe 2009), variance 1/(J +
    # 1).
    data = JudgeElo().prepare(_counts(battles=60, judges=judges))

    def root(key: Any) -> Any:
        return numpyro.handlers.seed(numpyro_taste_root, key)(data)

    roots = np.asarray(jax.vmap(root)(jax.random.split(jax.random.key(0), 4000)))
    matrix = roots @ np.swapaxes(roots, 1, 2)
    np.testing.assert_allclose(np.diagonal(matrix, axis1=1, axis2=2), 1.0, atol=1e-12)
    for i, k, _ in vine_shapes(judges):
        square = matrix[:, i, k] ** 2
        agree(square.mean(), 1 / (judges + 1), square.std() / np.sqrt(len(square)))
        agree(matrix[:, i, k].mean(), 0.0, matrix[:, i, k].std() / np.sqrt(len(matrix)))


# Recovery and prediction


@pytest.mark.slow
def test_judges_are_recovered(fitted: Fit, agree: Callable[..., None]) -> None:
    posterior, truth = fitted.posterior, BattleDesign()
    assert fitted.gate.figures["rhat"] < 1.05
    for name, value in (("slope", truth.slope), ("effects", truth.position)):
        draws = posterior[name].to_numpy().reshape(-1, 2)
        agree(draws.mean(0), value, draws.std(0))
    strength = posterior["strength"]
    agree(strength.mean(("chain", "draw")), truth.strengths, strength.std(("chain", "draw")))


@pytest.mark.slow
def test_results_and_the_density_mean_the_same_tastes(fitted: Fit) -> None:
    root = judge_elo_results._roots(fitted.posterior)
    p = 2 * fitted.posterior["taste_partial"].to_numpy()[..., 0] - 1
    np.testing.assert_allclose(root[..., 1, 0], p)
    np.testing.assert_allclose(judge_elo_results.taste_correlations(fitted.posterior).to_numpy()[..., 0], p)
    table = fitted.estimates()
    assert len(table.where(estimand="deviation")) == 12
    (note,) = table.where(estimand="elo", unit="m2").frame["note"]
    assert note.startswith("predicted: no human vote")


@pytest.fixture(scope="module")
def known() -> tuple[Data, xr.Dataset]:
    """Data without votes on m2, and a posterior that knows the truth."""
    data, truth = JudgeElo().prepare(_counts(battles=3000).without_votes_on("m2")), BattleDesign()
    strength = np.broadcast_to(truth.strengths, (4, 500, 6))
    draws = {"strength": (("chain", "draw", "model"), strength),
             "vote_log_tie": (("chain", "draw"), np.full((4, 500), truth.log_tie))}  # fmt: skip
    return data, xr.Dataset(draws, coords={"model": list(data.coords["model"])})


def test_an_unseen_model_has_the_elo_that_votes_would_show(
    known: tuple[Data, xr.Dataset], agree: Callable[..., None]
) -> None:
    data, posterior = known
    every, model = _counts(battles=3000), JudgeElo()
    draws = model.held_out(posterior, data, ["m2"], votes=every.human_pairs(), seed=1)
    assert draws.dims == ("chain", "draw", "model")
    np.testing.assert_array_equal(
        draws, model.held_out(posterior, data, ["m2"], votes=every.human_pairs(), seed=1)
    )
    # What the votes that were hidden do show is one more draw of the same; its anchors are the same too.
    votes = every.human_pairs()
    mine = (votes.first == 2) | (votes.second == 2)
    rest = solve_strengths(votes.first[~mine], votes.second[~mine], votes.n[~mine].sum(axis=1),
                           votes.n[~mine] @ [1, 0.5, 0], 6)[0]  # fmt: skip
    anchors = np.array([0, 1, 3, 4, 5])
    rest = rest - rest[anchors].mean()
    won = np.array([votes.n[k] @ ([1, 0.5, 0] if votes.first[k] == 2 else [0, 0.5, 1])
                    for k in np.flatnonzero(mine)])  # fmt: skip
    seen = to_elo(anchored_strengths(votes.n[mine].sum(axis=1), won, rest[anchors]))[0]
    agree(seen, draws.mean(), draws.std())
    thin = replace(votes, n=votes.n // 16)
    spread = float(model.held_out(posterior, data, ["m2"], votes=thin).std() / draws.std())
    # A sixteenth of the votes (a little less, by rounding down) is four times the error.
    assert 3.8 < spread < 4.6


@pytest.mark.slow
def test_predictive_checks_look_at_votes_and_verdicts(fitted: Fit) -> None:
    frame = predictive_check(fitted, replicates=200).frame
    assert {"votes: win matrix", "verdicts: cycles", "verdicts: shown first"} <= set(frame["statistic"])
    assert frame["flagged"].mean() < 0.05
    assert np.isfinite(frame["bootstrap_lower"]).all()


def test_statistics_of_gaps_keep_the_leading_shape() -> None:
    model = JudgeElo()
    data = model.prepare(count_battles(_mixed()))
    seen = {name: np.asarray(data[name])[None] for name in data.observations}
    found = model.statistics["scores: distribution of gaps"](seen, data)
    assert found["k: 50% quantile"].shape == (1,)
    resampled = model.bootstrap(data, replicates=3, seed=1)
    assert {name: len(values) for name, values in resampled.items()} == dict.fromkeys(data.observations, 3)
    assert np.isin(resampled["score"], np.asarray(data["score"])).all()


# Refusals


def test_what_cannot_be_asked_is_said(known: tuple[Data, xr.Dataset]) -> None:
    with pytest.raises(UsageError, match="no people's votes"):
        JudgeElo().prepare(_counts(battles=50, voted=0))
    with pytest.raises(UsageError, match="no judges' verdicts or scores"):
        JudgeElo().prepare(_counts(battles=50, judges=0))
    with pytest.raises(UsageError, match="no lengths for judged battles"):
        JudgeElo(length_effect=True).prepare(_counts(battles=50))
    with pytest.raises(UsageError, match="put none of the judges"):
        JudgeElo(families=(("m0", "x"),)).prepare(_counts(battles=50))
    with pytest.raises(UsageError, match="'half' is not one of graded, verdicts"):
        JudgeElo(scores="half")  # type: ignore[arg-type] # what the test is about
    data, posterior = known
    with pytest.raises(UsageError, match=r"people have voted on 'm1'"):
        JudgeElo().held_out(posterior, data, ["m1"])
    with pytest.raises(UsageError, match=r"no model 'm9'"):
        JudgeElo().held_out(posterior, data, ["m9"])


# Calibration


@pytest.fixture(scope="module")
def design() -> Data:
    return JudgeElo().prepare(_counts(seed=5, strengths=(0.5, 0.0, -0.5), battles=80))


#: Both calibrations share one compiled program.
CALIBRATION: dict[str, Any] = {"replicates": 120, "draws": 64, "tune": 150, "seed": 11}


@pytest.mark.slow
def test_it_is_calibrated(design: Data) -> None:
    found = sbc(JudgeElo(), design, **CALIBRATION)
    assert found.passed, found.summary


@pytest.mark.slow
def test_a_flipped_slope_is_found(design: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    truthful = JudgeElo.simulate

    def simulate(self: JudgeElo, key: Any, data: Data) -> Any:
        sites = dict(truthful(self, key, data))
        return {**sites, "slope": -sites["slope"]}

    monkeypatch.setattr(JudgeElo, "simulate", simulate)
    assert not sbc(JudgeElo(), design, **CALIBRATION).passed
