"""Draws of `bradley_terry` where battles share prompts: widened by what they add, and by nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import statsmodels.api as sm
from numpy.typing import NDArray

from bayesjudge.baselines.elo import fit_human
from bayesjudge.counts.battles.counts import BattleCounts, count_battles
from bayesjudge.inference import Fit, fit
from bayesjudge.model import with_observations
from bayesjudge.models.bradley_terry import BradleyTerry
from bayesjudge.models.bradley_terry.clusters import with_errors
from bayesjudge.tables import Battles

type Array = NDArray[np.float64]


def counted(cluster: str | None = None, *, prompts: int = 30) -> BattleCounts:
    """Four models, all pairs six times on each prompt; strengths vary over prompts by .8 logits."""
    rng = np.random.default_rng(1)
    theta = np.array([0.6, 0.2, -0.2, -0.6]) + rng.normal(0, 0.8, (prompts, 4))
    prompt, a, b = (part.reshape(-1) for part in np.meshgrid(np.arange(prompts), np.arange(4), np.arange(4)))
    prompt, a, b = (np.tile(part[a != b], 3) for part in (prompt, a, b))
    human = (rng.random(len(a)) < 1 / (1 + np.exp(theta[prompt, b] - theta[prompt, a]))).astype(float)
    frame = pd.DataFrame({"model_a": a, "model_b": b, "human": human, "prompt": prompt})
    return count_battles(Battles.from_frame(frame), cluster=cluster)


def fitted(counts: BattleCounts) -> Fit:
    return fit(BradleyTerry(), counts, engine="laplace", seed=1)


@pytest.mark.slow
def test_intervals_are_widened_about_as_the_clustered_sandwich() -> None:
    """The prior takes little of 1,080 battles: widths are within a tenth of the baseline's on average."""
    widths = []
    for cluster in (None, "none"):
        counts = counted(cluster)
        rows = fitted(counts).estimates().where(estimand="elo").frame
        widths.append((rows["upper"] - rows["lower"]).to_numpy())
        assert widths[-1].mean() == pytest.approx(2 * 1.96 * fit_human(counts).error.mean(), rel=0.1)
    assert widths[0].mean() > 1.2 * widths[1].mean()


def test_what_a_fit_records_of_its_clusters() -> None:
    found = fitted(counted()).manifest["clusters"]
    assert found["clusters"] == {"prompt": 30}
    assert found["df"] == 29
    assert np.median(list(found["design_effect"].values())) > 1.5


def test_few_prompts_are_noted_in_every_row() -> None:
    rows = fitted(counted(prompts=8)).estimates()
    notes = rows.where(estimand=["elo", "difference"]).frame["note"]
    assert set(notes) == {"from 8 clusters (prompt): below 20 an interval is rough"}


def test_replicated_battles_share_nothing() -> None:
    """Simulation-based calibration draws independent battles: there is nothing to widen."""
    model, data = BradleyTerry(), BradleyTerry().prepare(counted())
    assert data["added"].any()
    assert not with_observations(model, data, {"n": data["n"]})["added"].any()


def test_more_models_than_prompts_leave_a_covariance_of_full_rank() -> None:
    rng = np.random.default_rng(2)
    a = rng.integers(20, size=4000)
    b = (a + rng.integers(1, 20, size=4000)) % 20
    frame = pd.DataFrame(
        {"model_a": a, "model_b": b, "human": rng.integers(2, size=4000), "prompt": rng.integers(8, size=4000)}
    )
    data = BradleyTerry().prepare(count_battles(Battles.from_frame(frame)))
    values = np.linalg.eigvalsh(data["alone"] + data["added"])
    assert (values[1:] > 0.2 * np.linalg.eigvalsh(data["alone"])[1:]).all()  # all but the free level


def errors(alone: Array, added: Array, *, estimate: Array | None = None) -> dict[str, Any]:
    """What data say of errors; without an estimate it is too poorly known for a normal."""
    found = {"alone": alone, "added": added, "cluster_df": np.inf, "well_known": int(estimate is not None)}
    return found | {"estimate": np.zeros(len(alone)) if estimate is None else estimate}


def flat(spread: Array) -> Array:
    return np.zeros_like(spread)


@pytest.mark.parametrize("precision", [0.01, 1.0])
def test_larger_errors_widen_the_data_s_share(precision: float) -> None:
    """Data of variance 1, a prior of precision k: C = Σ (1 + added + k) Σ, Σ = 1/(1 + k), about the same mean."""
    draws = np.random.default_rng(3).normal(2, np.sqrt(1 / (1 + precision)), (200_000, 1))
    data = errors(np.array([[1.0]]), np.array([[2.0]]), estimate=np.array([2 * (1 + precision)]))
    wide = with_errors(draws, data=data, spread=np.full(len(draws), precision**-0.5), log_prior=flat)
    # The variance of 200,000 draws is known to .3 %.
    assert wide.var() == pytest.approx((1 + 2 + precision) / (1 + precision) ** 2, rel=0.02)
    assert wide.mean() == pytest.approx(2, abs=0.02)


def posterior(estimate: Array, v: Array, *, n: int, seed: int) -> tuple[Array, Array]:
    """Draws of θ and τ for θ̂ ~ N(θ, V), θ ~ N(0, τ²), τ ~ Rayleigh(1)."""
    rng, grid = np.random.default_rng(seed), np.linspace(0.02, 8, 2000)
    every = v + grid[:, None, None] ** 2 * np.eye(len(v))
    fit = np.einsum("i,gij,j->g", estimate, np.linalg.inv(every), estimate)
    log = scipy.stats.rayleigh.logpdf(grid) - (np.linalg.slogdet(every)[1] + fit) / 2
    spread = rng.choice(grid, n, p=np.exp(log - log.max()) / np.exp(log - log.max()).sum())
    covariance = np.linalg.inv(np.linalg.inv(v) + np.eye(len(v)) / spread[:, None, None] ** 2)
    mean = covariance @ np.linalg.solve(v, estimate)
    return mean + np.einsum("nij,nj->ni", np.linalg.cholesky(covariance), rng.normal(size=(n, len(v)))), spread


def test_smaller_errors_give_the_posterior_that_they_would_have_had() -> None:
    """Strengths observed with errors that independent votes make four times too large."""
    estimate, alone = np.array([1.5, -0.5, -1.0]), np.array([[1.0, 0.3, 0.1], [0.3, 0.8, 0.2], [0.1, 0.2, 1.2]])
    draws, spread = posterior(estimate, alone, n=50_000, seed=4)
    wanted, _ = posterior(estimate, alone / 4, n=50_000, seed=5)
    data = errors(alone, -0.75 * alone, estimate=estimate)
    moved = with_errors(draws, data=data, spread=spread, log_prior=scipy.stats.rayleigh.logpdf)
    assert abs(draws.mean(axis=0) - wanted.mean(axis=0)).max() > 0.4
    np.testing.assert_allclose(moved.mean(axis=0), wanted.mean(axis=0), atol=0.02)
    np.testing.assert_allclose(np.cov(moved.T), np.cov(wanted.T), atol=0.01)


def test_of_what_is_poorly_known_nothing_is_taken_back() -> None:
    draws, spread = posterior(np.array([1.0, -1.0]), np.eye(2), n=2000, seed=7)
    same = with_errors(draws, data=errors(np.eye(2), -0.5 * np.eye(2)), spread=spread, log_prior=flat)
    np.testing.assert_allclose(same, draws, atol=1e-3)


def test_parts_that_no_battle_links_stay_as_far_apart_as_the_draws_say() -> None:
    """The penalty holds such an estimate next to exactly; that is no knowledge of it."""
    alone = np.array([[1.0, -1, 0, 0], [-1, 1, 0, 0], [0, 0, 1, -1], [0, 0, -1, 1]]) / 4
    draws, spread = posterior(np.array([1.0, -1.0, 0.5, -0.5]), alone + 4 * np.eye(4), n=5000, seed=8)
    data = errors(alone + 1e-10, -0.5 * alone, estimate=np.array([1.0, -1.0, 0.5, -0.5]))
    moved = with_errors(draws, data=data, spread=spread, log_prior=scipy.stats.rayleigh.logpdf)
    apart = np.array([1, 1, -1, -1])
    np.testing.assert_allclose(moved @ apart, draws @ apart, atol=0.01)
    assert not np.allclose(moved, draws, atol=0.1)


@pytest.mark.slow
def test_what_is_well_known() -> None:
    """A normal about Hard-Elo's estimate, which has no covariates."""
    assert BradleyTerry().prepare(counted())["well_known"]
    assert not BradleyTerry().prepare(counted("none"))["well_known"]
    frame = pd.DataFrame({"model_a": ["a"] * 40, "model_b": ["b"] * 40, "human": [1.0] * 36 + [0.0] * 4})
    few = frame.assign(prompt=np.arange(40) // 2, length_a=np.arange(40), length_b=20)
    for lost, known in ((0, False), (2, True)):
        counts = count_battles(Battles.from_frame(few.assign(human=few["human"].mask(few.index < lost, 0.0))))
        assert BradleyTerry().prepare(counts)["well_known"] == known
        assert not BradleyTerry(length_effect=True).prepare(counts)["well_known"]


def moody(*, prompts: int = 60, seed: int = 4) -> Battles:
    """Three models; on some prompts people tie more, and like length more, than on others."""
    rng = np.random.default_rng(seed)
    prompt = np.repeat(np.arange(prompts), 30)
    a = rng.integers(3, size=len(prompt))
    b = (a + rng.integers(1, 3, size=len(prompt))) % 3
    length = rng.normal(size=(len(prompt), 2)).round(1)
    worth = rng.normal(0.3, 1.0, prompts)[prompt]
    won = rng.random(len(prompt)) < 1 / (1 + np.exp(-worth * (length[:, 0] - length[:, 1])))
    tied = rng.random(len(prompt)) < rng.beta(1, 2, prompts)[prompt]
    frame = pd.DataFrame({"model_a": a, "model_b": b, "human": np.where(tied, 0.5, won), "prompt": prompt})
    return Battles.from_frame(frame.assign(item=np.arange(len(prompt)), style_a=length[:, 0], style_b=length[:, 1]))


@pytest.mark.slow
def test_ties_and_effects_are_widened_by_what_prompts_share() -> None:
    """Next to a peer's clustered errors: of the share of ties, and of a logistic regression's coefficient."""
    battles = moody()
    width = {}
    for cluster in (None, "none"):
        counts = count_battles(battles, cluster=cluster, covariates=["style"])
        made = fit(BradleyTerry(covariates=("style",)), counts, engine="laplace", seed=1).estimates().frame
        rows = made.set_index("estimand").loc[["tie_rate", "effect"]]
        width[cluster] = (rows["upper"] - rows["lower"]).to_dict()
    frame = battles.frame
    own = [frame[f"model_{side}"].to_numpy()[:, None] == np.array(["1", "2"]) for side in "ab"]
    x = np.column_stack([own[0].astype(float) - own[1], frame["style_a"] - frame["style_b"]])
    clusters = {"cov_type": "cluster", "cov_kwds": {"groups": frame["prompt"]}}
    tied, won = (frame["human"] == 0.5).to_numpy(float), frame["human"].to_numpy()
    ties = [sm.OLS(tied, np.ones(len(tied))).fit(**how).bse[0] for how in (clusters, {"cov_type": "HC0"})]
    effect = [
        sm.GLM(won, x, family=sm.families.Binomial()).fit(**how).bse[-1] for how in (clusters, {"cov_type": "HC0"})
    ]
    for name, error in (("tie_rate", ties), ("effect", effect)):
        found = width[None][name] / width["none"][name]
        # Two widths, each known to 1.5 % (4,000 draws), and G/(G − 1): 2 % for ties, whose peer has no strengths.
        assert found == pytest.approx(error[0] / error[1], rel=0.06), name
        assert found > 1.5
