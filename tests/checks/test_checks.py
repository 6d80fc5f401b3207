"""Checks of one fit against exact answers, independent libraries, and data made to fail them."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import ModuleType
from typing import Any

import arviz_stats
import error_budget
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

from bayesjudge.checks import compare, convergence, loo, predictive_check, prior_sensitivity
from bayesjudge.checks.comparison import stacking_weights
from bayesjudge.checks.predictive import bootstrap_counts, why_no_bootstrap
from bayesjudge.checks.sensitivity import scaled_row
from bayesjudge.counts import count_verdicts
from bayesjudge.errors import UsageError
from bayesjudge.inference import Fit, Nuts, fit
from bayesjudge.inference.loo import by_cell
from bayesjudge.model import Data
from bayesjudge.models.judge_error import JudgeError
from bayesjudge.tables import Verdicts

TOSSES = [(7, 20), (45, 50), (0, 10)]
BALLS = [(30, 10, 2), (12, 8, 0)]


@pytest.fixture(scope="module")
def coin(third_party: ModuleType) -> Fit:
    return fit(third_party.Coin(), TOSSES, seed=1)


@pytest.fixture(scope="module")
def urn(third_party: ModuleType) -> Fit:
    return fit(third_party.Urn(concentration=2.0), BALLS, engine="laplace", seed=1)


# Convergence


def test_convergence_details_what_the_gate_saw(coin: Fit) -> None:
    found = convergence(coin)
    assert found.passed == coin.gate.passed
    assert found.frame["parameter"].tolist() == ["p[c0]", "p[c1]", "p[c2]"]
    assert found.frame["rhat"].max() == coin.gate.figures["rhat"]
    assert found.frame[["ess_bulk", "ess_tail"]].min().min() == coin.gate.figures["ess"]
    assert found.chains["divergences"].sum() == coin.gate.figures["divergences"]
    # ArviZ divides by the sample variance (ddof 1), the gate by the population's: 1,000 draws, 1e-3.
    assert found.chains["ebfmi"].min() == pytest.approx(coin.gate.figures["ebfmi"], rel=2e-3)
    assert not found.frame["flagged"].any()


def test_convergence_agrees_with_arviz(coin: Fit) -> None:
    summary = arviz_stats.summary(coin.tree, round_to="none", kind="diagnostics")
    found = convergence(coin).frame
    for theirs, ours in (("r_hat", "rhat"), ("ess_bulk", "ess_bulk"), ("mcse_mean", "mcse_mean")):
        np.testing.assert_allclose(found[ours], summary[theirs].astype(float), rtol=1e-10)


def test_convergence_flags_the_parameter_and_the_chain_at_fault(coin: Fit) -> None:
    posterior, sampler = (coin.posterior.copy(deep=True), coin.made["sample_stats"].to_dataset().copy(deep=True))
    posterior["p"][2, :, 1] += 0.2
    sampler["diverging"][3, 5] = True
    tree = xr.DataTree.from_dict({"posterior": posterior, "sample_stats": sampler})
    found = convergence(replace(coin, made=tree))
    assert found.frame.loc[found.frame["flagged"], "parameter"].tolist() == ["p[c1]"]
    assert found.chains.loc[found.chains["flagged"], "chain"].tolist() == [3]


def test_convergence_flags_what_the_gate_counts(coin: Fit, third_party: ModuleType) -> None:
    """An effect that nothing reports is held to the gate's lower standard, and flagged past it."""

    class Inner(third_party.Coin):  # type: ignore[misc, name-defined] # a module that is built for the tests
        latent = ("p",)

    # Of 1,000 draws a chain R-hat finds .3 in 43 % and .4 in 99 % (tests/inference/test_inference_gate.py).
    for shift, as_reported, as_latent in ((0.4, ["p[c1]"], []), (0.9, ["p[c1]"], ["p[c1]"])):
        posterior = coin.posterior.copy(deep=True)
        posterior["p"][2, :, 1] += shift * float(posterior["p"][:, :, 1].std())
        stats = coin.made["sample_stats"].to_dataset()
        moved = replace(coin, made=xr.DataTree.from_dict({"posterior": posterior, "sample_stats": stats}))
        for one, flagged in ((moved, as_reported), (replace(moved, model=Inner()), as_latent)):
            found = convergence(one).frame
            assert found.loc[found["flagged"], "parameter"].tolist() == flagged


def test_an_engine_without_chains_has_no_figures_for_them(urn: Fit) -> None:
    assert convergence(urn).chains.columns.tolist() == ["chain", "flagged"]


# Predictive checks and the bootstrap


def test_predictive_intervals_are_those_of_the_exact_distribution(coin: Fit) -> None:
    frame = predictive_check(coin, prob=0.9).frame
    heads, tosses = np.array(TOSSES).T
    want = stats.betabinom(tosses, 1 + heads, 1 + tosses - heads)
    # 1,000 replicates of a discrete quantity: quantiles to within one head either way.
    assert np.all(np.abs(frame["lower"] * tosses - want.ppf(0.05)) <= 1.01)
    assert np.all(np.abs(frame["upper"] * tosses - want.ppf(0.95)) <= 1.01)
    tail = want.sf(heads) + want.pmf(heads) / 2
    # The error of a share of 1,000 replicates is at most 0.016; five of them on each of two sides.
    np.testing.assert_allclose(frame["p_value"], 2 * np.minimum(tail, 1 - tail), atol=0.16)
    assert not frame["flagged"].any()


def test_data_the_model_cannot_make_are_flagged(coin: Fit) -> None:
    data = coin.data.with_arrays({**coin.data.arrays, "heads": np.array([20, 45, 0])})
    check = predictive_check(replace(coin, data=data))
    assert check.frame["flagged"].tolist() == [True, False, False]
    assert not check.passed
    assert check.summary == "1 of 3 statistics have a tail probability below 0.01"


def test_observations_that_cannot_be_resampled_say_so(coin: Fit) -> None:
    frame = predictive_check(coin).frame
    assert set(frame["note"]) == {"the observations are not counts"}
    assert frame["bootstrap_lower"].isna().all()


def test_a_model_may_resample_its_own_observations(coin: Fit, monkeypatch: pytest.MonkeyPatch) -> None:
    def bootstrap(self: Any, data: Data, *, replicates: int, seed: int) -> Any:
        rng = np.random.default_rng(seed)
        return rng.binomial(data["tosses"], data["heads"] / data["tosses"], size=(replicates, 3))

    monkeypatch.setattr(type(coin.model), "bootstrap", bootstrap, raising=False)
    frame = predictive_check(coin).frame
    assert (frame["note"] == "").all()
    assert frame["bootstrap_upper"].between(frame["observed"], 1).all()


def test_the_bootstrap_stands_beside_the_prediction(urn: Fit) -> None:
    row = predictive_check(urn, replicates=4000).frame.iloc[0]
    share, n = 42 / 62, 62
    # Two multinomials of equal composition would give a binomial; with unlike urns variances add by urn.
    spread = np.sqrt(42 * (30 / 42) * (12 / 42) + 20 * (12 / 20) * (8 / 20)) / n
    assert row["observed"] == pytest.approx(share)
    # Normal limits of a sum of 62 balls, discreteness and 4,000 replicates allowed for by 0.02.
    np.testing.assert_allclose(
        [row["bootstrap_lower"], row["bootstrap_upper"]], share + np.array([-1.96, 1.96]) * spread, atol=0.02
    )
    assert row["lower"] < row["bootstrap_lower"], "a posterior predictive also has the posterior's uncertainty"


def test_the_prior_predicts_more_widely_than_the_posterior(urn: Fit) -> None:
    prior, posterior = (
        predictive_check(urn, group=f"{when}_predictive").frame.iloc[0] for when in ("prior", "posterior")
    )
    # Exactly 2.2 times as wide, and 1.95 to 2.32 with twelve seeds.
    assert prior["upper"] - prior["lower"] > 1.7 * (posterior["upper"] - posterior["lower"])


@pytest.mark.parametrize(("when", "a", "b"), [("prior", 2, 4), ("posterior", 44, 24)])
def test_predictive_intervals_are_those_of_the_beta_binomial(urn: Fit, when: str, a: int, b: int) -> None:
    # Of 62 balls those of the first colour: its share is Beta(2, 4) before 42 of them are seen.
    row = predictive_check(urn, group=f"{when}_predictive", replicates=4000).frame.iloc[0]
    exact = stats.betabinom(62, a, b)
    # Two ends of two intervals; resampled draws add as much variance as the replicates.
    chance = error_budget.standard_errors(4) * np.sqrt(2 * 0.025 * 0.975 / 4000)
    for end, tail in ((row["lower"], 0.025), (row["upper"], 0.975)):
        balls = end * 62
        assert exact.cdf(np.floor(balls) - 1) <= tail + chance
        assert exact.cdf(np.ceil(balls)) >= tail - chance


def test_an_unknown_group_is_named(coin: Fit) -> None:
    with pytest.raises(UsageError, match="'posterior' is not one of posterior_predictive"):
        predictive_check(coin, group="posterior")


def test_the_bootstrap_is_seeded_and_keeps_the_strata(urn: Fit) -> None:
    one, again, other = (bootstrap_counts(urn.data, replicates=50, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
    assert set(one[:, :3].sum(1)) == {42}
    assert set(one[:, 3:].sum(1)) == {20}
    assert (one[:, 5] == 0).all(), "a colour never seen is never drawn"


def clustered(cluster: list[int], dims: tuple[str, ...]) -> Data:
    arrays = {
        "n": np.array([3, 1, 0, 4]),
        "stratum": np.array([0, 0, 1, 1]),
        "total": np.array([4, 4]),
        "cluster": np.array(cluster),
    }
    axes = {"n": ("cell",), "stratum": ("cell",), "total": ("strata",), "cluster": dims}
    return Data(
        arrays=arrays,
        dims=axes,
        coords={"cell": (0, 1, 2, 3), "strata": (0, 1)},
        observed="n",
        weights="n",
        facts={"clusters": 2},
    )


@pytest.mark.parametrize(("cluster", "dims"), [([0, 0, 1, 1], ("cell",)), ([0, 1], ("strata",))])
def test_clusters_are_resampled_whole(cluster: list[int], dims: tuple[str, ...]) -> None:
    counts = bootstrap_counts(clustered(cluster, dims), replicates=2000, seed=0)
    # Two clusters drawn twice: each cluster 0, 1 or 2 times, with probabilities 1/4, 1/2, 1/4.
    assert np.array_equal(counts[:, 0], 3 * counts[:, 1])
    share = [(counts[:, 1] == times).mean() for times in range(3)]
    np.testing.assert_allclose(share, [0.25, 0.5, 0.25], atol=5 * np.sqrt(0.25 / 2000))


def test_what_is_missing_for_a_bootstrap_is_named(urn: Fit) -> None:
    arrays = {name: array for name, array in urn.data.arrays.items() if name != "total"}
    assert why_no_bootstrap(urn.data) == ""
    assert "'total'" in why_no_bootstrap(urn.data.with_arrays(arrays))


# Leave-one-out


def test_leaving_one_ball_out_is_exact(urn: Fit) -> None:
    found = loo(urn)
    counts = np.array(BALLS)
    totals, n = counts.sum(0), counts.ravel()
    # One ball of colour k left out: Dirichlet-multinomial, (a + n_k − 1)/(3a + N − 1).
    want = np.log((2 + np.tile(totals, 2) - 1) / (6 + 62 - 1))
    cells = by_cell(urn)
    assert cells["n"].tolist() == [30, 10, 2, 12, 8]
    # PSIS on 1,000 draws: the log of a mean whose relative error is a few per cent for the rarest colour.
    np.testing.assert_allclose(cells["elpd"], want[n > 0], atol=0.1)
    assert found.elpd == pytest.approx(n[n > 0] @ want[n > 0], abs=0.5)
    assert (found.n_data_points, found.warning) == (62, False)
    assert found.elpd_i.size == found.pareto_k.size == 62


def test_weighted_leave_one_out_equals_arviz_on_single_observations(urn: Fit) -> None:
    found = loo(urn)
    counts = np.asarray(urn.data["n"]).ravel()
    n = counts[counts > 0]
    values = urn.made["cell_log_likelihood"]["n"].to_numpy().reshape(4, -1, len(counts))[..., counts > 0] / n
    single = xr.Dataset({"n": (("chain", "draw", "ball"), np.repeat(values, n, axis=-1))}, coords={"chain": range(4)})
    posterior = xr.Dataset({"pi": (("chain", "draw"), values[..., 0])}, coords={"chain": range(4)})
    tree = xr.DataTree.from_dict({"log_likelihood": single, "posterior": posterior})
    theirs = arviz_stats.loo(tree, pointwise=True, reff=1.0)
    # They take one relative efficiency for all observations, we one for each: it moves the tail's length.
    assert found.elpd == pytest.approx(float(theirs.elpd), abs=0.02)
    assert found.se == pytest.approx(float(theirs.se), rel=1e-3)
    assert found.n_data_points == theirs.n_data_points


def with_log_likelihood(result: Fit, values: Any) -> Fit:
    tree = result.made.copy()
    changed = tree["cell_log_likelihood"].to_dataset()
    changed["n"] = (changed["n"].dims, values)
    tree["cell_log_likelihood"] = xr.DataTree(changed)
    return replace(result, made=tree)


def test_heavy_tailed_weights_are_counted_by_observation(urn: Fit) -> None:
    values = urn.made["cell_log_likelihood"]["n"].to_numpy().copy()
    heavy = np.random.default_rng(0).pareto(0.5, size=values.shape[:2])
    values[..., 1] = -10 * np.log1p(heavy)
    found = loo(with_log_likelihood(urn, values))
    assert int((found.pareto_k > found.good_k).sum()) == 10, "all ten balls of that pattern share its k"
    assert found.warning


def test_a_pareto_k_that_is_no_number_counts_as_bad(urn: Fit, monkeypatch: pytest.MonkeyPatch) -> None:
    # By its name in the package, `loo` is the function, so the module is taken from where modules are kept.
    monkeypatch.setattr(sys.modules["bayesjudge.inference.loo"], "_leave_one_out", lambda _: (-1.0, 0.1, np.nan))
    assert int((loo(urn).pareto_k > 1).sum()) == 62


def test_an_observation_that_says_nothing_is_left_out_for_nothing(urn: Fit) -> None:
    values = urn.made["cell_log_likelihood"]["n"].to_numpy().copy()
    values[..., 0] = -30.0
    first = by_cell(with_log_likelihood(urn, values)).iloc[0]
    assert (first["elpd"], first["p"], first["pareto_k"]) == (-1.0, 0.0, 0.0)


def test_without_weights_an_entry_is_left_out(coin: Fit) -> None:
    assert loo(coin).n_data_points == 3


# Comparison of models


@pytest.fixture(scope="module")
def poor(third_party: ModuleType) -> Fit:
    """A prior that insists on even shares."""
    return fit(third_party.Urn(concentration=500.0), BALLS, engine="laplace", seed=1)


def test_the_model_that_predicts_better_comes_first(urn: Fit, poor: Fit) -> None:
    found = compare([poor, urn])
    assert found.frame["model"].tolist() == ["bayes:urn[2]", "bayes:urn[500]"]
    assert found.frame["elpd_diff"].tolist()[0] == 0
    assert found.frame["weight"].sum() == pytest.approx(1)
    assert "clearly worse: bayes:urn[500]" in found.summary
    one, two = loo(urn), loo(poor)
    single = (two.elpd_i - one.elpd_i).to_numpy()
    assert found.frame.loc[1, "elpd_diff"] == pytest.approx(two.elpd - one.elpd)
    assert found.frame.loc[1, "diff_se"] == pytest.approx(np.sqrt(len(single)) * single.std())


def test_equal_models_are_not_told_apart(urn: Fit) -> None:
    found = compare({"one": urn, "again": urn})
    assert found.frame["elpd_diff"].abs().max() == 0
    assert "no other model is clearly worse" in found.summary


def test_stacking_weights_maximise_the_score_of_the_mixture() -> None:
    rng = np.random.default_rng(0)
    elpd, n = np.log(rng.uniform(0.05, 0.9, size=(12, 2))), rng.integers(1, 30, size=12)
    grid = np.linspace(0, 1, 10_001)
    score = n @ np.log(np.exp(elpd[:, :1]) * grid + np.exp(elpd[:, 1:]) * (1 - grid))
    np.testing.assert_allclose(stacking_weights(elpd, n)[0], grid[np.argmax(score)], atol=2e-4)


def test_models_that_cannot_be_compared_are_named(coin: Fit, urn: Fit) -> None:
    with pytest.raises(UsageError, match="two fits or more, got 1"):
        compare([urn])
    with pytest.raises(UsageError, match="one name"):
        compare([urn, urn])
    with pytest.raises(UsageError, match="different data"):
        compare([urn, coin])


# Prior sensitivity


def test_sensitivity_agrees_with_arviz(urn: Fit, poor: Fit) -> None:
    for result in (urn, poor):
        kept = {"draw": result.made["log_prior"]["draw"].to_numpy()}
        groups = {
            name: result.tree[name].to_dataset().sel(kept) for name in ("posterior", "log_prior", "log_likelihood")
        }
        tree = xr.DataTree.from_dict(groups)
        found = prior_sensitivity(result).frame
        for group in ("prior", "likelihood"):
            theirs = arviz_stats.psense(tree, group=group)["pi"].to_numpy()
            np.testing.assert_allclose(found[group], theirs, rtol=1e-8)


def test_a_prior_that_decides_is_found(poor: Fit) -> None:
    found = prior_sensitivity(poor)
    assert not found.passed
    assert found.priors == ("pi",)
    assert found.frame["diagnosis"].str.contains("prior").all()


def test_a_flat_prior_moves_nothing(coin: Fit) -> None:
    frame = prior_sensitivity(coin).frame
    assert (frame["prior"] == 0).all()
    assert frame["diagnosis"].tolist() == ["rests on the data"] * 3


def test_what_has_nothing_to_do_with_the_prior_is_not_sensitive_to_it() -> None:
    """Of 400 draws with a log prior that varies by 2.6, independent quantities moved by up to .10, above the bound."""
    rng = np.random.default_rng(1)
    alone, above, found = 0, 0, 0
    for _ in range(40):
        values, prior = rng.normal(size=(4, 100)), 2.6 * rng.normal(size=(4, 100))
        row = scaled_row(values, {"prior": prior, "likelihood": -values})
        alone, above = alone + row["prior_sensitive"], above + (row["prior"] >= 0.05)
        found += scaled_row(values, {"prior": prior + 2 * values, "likelihood": -values})["prior_sensitive"]
    # One pairing of twenty is the largest by chance.
    assert alone <= 6 < above
    assert found == 40


def test_quantities_of_the_users_own(urn: Fit) -> None:
    pi = urn.posterior["pi"]
    wanted = {"odds": pi[..., 0] / (1 - pi[..., 0]), "constant": xr.zeros_like(pi[..., 0])}
    frame = prior_sensitivity(urn, quantities=wanted).frame.set_index("estimand")
    assert frame.loc["odds", "likelihood"] > 0.05
    assert frame.loc["constant", "diagnosis"] == "sensitive to neither prior nor data"


def test_a_prior_that_does_not_exist_is_named(urn: Fit) -> None:
    with pytest.raises(UsageError, match="no prior 'theta'; the model has pi"):
        prior_sensitivity(urn, priors=["theta"])


def test_a_model_that_thins_its_draws_is_asked_for_those_looked_at(coin: Fit) -> None:
    class Thinning(type(coin.model)):  # type: ignore[misc] # a class of another package
        def quantities(self, posterior: xr.Dataset, data: Data) -> dict[str, xr.DataArray]:
            assert data is coin.data
            step = max(posterior.sizes["draw"] // 250, 1)
            return {"p": posterior["p"].isel(draw=slice(None, None, step))}

    thinning = replace(coin, model=Thinning())
    found, whole = prior_sensitivity(thinning).frame, prior_sensitivity(coin).frame
    columns = ["prior", "likelihood", "diagnosis"]
    pd.testing.assert_frame_equal(found[columns], whole[whole["estimand"] == "p"][columns])


def test_a_model_that_thins_further_still_meets_its_own_densities(coin: Fit) -> None:
    def thinned(posterior: xr.Dataset, most: int) -> dict[str, xr.DataArray]:
        size = min(posterior.sizes["draw"], most)
        keep = np.linspace(0, posterior.sizes["draw"] - 1, size).astype(int)
        return {"p": posterior["p"].isel(draw=keep)}

    class Thinning(type(coin.model)):  # type: ignore[misc] # a class of another package
        def quantities(self, posterior: xr.Dataset, data: Data) -> dict[str, xr.DataArray]:
            assert data is coin.data
            return thinned(posterior, 120)

    found = prior_sensitivity(replace(coin, model=Thinning())).frame
    whole = prior_sensitivity(coin).frame
    whole = whole[whole["estimand"] == "p"]
    # Half of the draws: the same rates to within their own noise, which shuffled densities would not give.
    np.testing.assert_allclose(found[["prior", "likelihood"]], whole[["prior", "likelihood"]], atol=0.05)


# All of them on real data


@pytest.mark.slow
def test_every_check_runs_on_real_verdicts(triviaqa: pd.DataFrame) -> None:
    # Facts of these forty items and draws, not bounds that hold for any: with twenty other choices of both,
    # one transition of 4,000 diverged once, and the last line failed twice (.049 and .044). It is the noise of
    # importance weights: with seeds 1 to 4 the smallest is .0497, .071, .061 and .051, with 8,000 draws .055 and .067.
    items = np.random.default_rng(0).choice(triviaqa["item"].unique(), 40, replace=False)
    few = triviaqa.assign(label=triviaqa["label"].where(triviaqa["item"].isin(items)))
    counts = count_verdicts(Verdicts.from_frame(few)).for_judge("GPT-4")
    fits = {
        pooling: fit(JudgeError(pooling=pooling), counts, engine=Nuts(tune=500), seed=2)
        for pooling in ("partial", "shared")
    }
    assert all(one.gate.passed for one in fits.values())
    found = compare(fits)
    # A pattern that one answer of 3,600 shows may lie past the tail of the draws; then the row says so.
    assert found.frame["bad_k"].max() <= 3
    assert (found.frame["note"].str.contains("unreliable") == (found.frame["bad_k"] > 0)).all()
    assert found.loos["partial"].n_data_points == counts.answers.n.sum()
    check = predictive_check(fits["partial"])
    inside = check.frame["observed"].between(check.frame["bootstrap_lower"], check.frame["bootstrap_upper"])
    assert inside.all()
    assert check.frame["flagged"].sum() <= 1
    sensitivity = prior_sensitivity(fits["partial"], quantities={"accuracy": fits["partial"].posterior["theta"]})
    assert (sensitivity.frame["likelihood"] > 0.05).all()
