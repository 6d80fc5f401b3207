"""Draws of `bradley_terry` where battles share prompts: widened by what they add, and by nothing else."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bayesjudge.baselines.elo import fit_human
from bayesjudge.counts.battles.counts import BattleCounts, count_battles
from bayesjudge.inference import Fit, fit
from bayesjudge.model import with_observations
from bayesjudge.models.bradley_terry import BradleyTerry
from bayesjudge.models.bradley_terry.clusters import with_errors
from bayesjudge.tables import Battles


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


@pytest.mark.parametrize("prior", [0.01, 1.0])
def test_larger_errors_widen_the_data_s_share(prior: float) -> None:
    """Data of variance 1, a prior of precision k: C = Σ (1 + added + k) Σ, Σ = 1/(1 + k), about the same mean."""
    draws = np.random.default_rng(3).normal(2, np.sqrt(1 / (1 + prior)), (200_000, 1))
    wide = with_errors(draws, added=np.array([[2.0]]), prior=np.full(len(draws), prior), df=np.inf)
    # The variance of 200,000 draws is known to .3 %.
    assert wide.var() == pytest.approx((1 + 2 + prior) / (1 + prior) ** 2, rel=0.02)
    assert wide.mean() == pytest.approx(2, abs=0.02)


def test_smaller_errors_give_the_posterior_that_they_would_have_had() -> None:
    """Strengths of spread 1, 2 or 3 a priori, observed with errors that independent votes make four times too large."""
    rng = np.random.default_rng(4)
    spread = rng.choice([1.0, 2.0, 3.0], 300_000)
    observed, errors = np.array([1.5, -0.5, -1.0]), np.array([[1.0, 0.3, 0.1], [0.3, 0.8, 0.2], [0.1, 0.2, 1.2]])
    found = []
    for v in (errors, errors / 4):
        normal = rng.normal(size=(len(spread), 3))
        draws = np.empty_like(normal)
        for each in np.unique(spread):
            covariance = np.linalg.inv(np.linalg.inv(v) + np.eye(3) / each**2)
            draws[spread == each] = normal[spread == each] @ np.linalg.cholesky(
                covariance
            ).T + covariance @ np.linalg.solve(v, observed)
        found.append(draws)
    moved = with_errors(found[0], added=-0.75 * errors, prior=spread**-2, df=np.inf)
    np.testing.assert_allclose(moved.mean(axis=0), found[1].mean(axis=0), atol=0.03)
    np.testing.assert_allclose(np.cov(moved.T), np.cov(found[1].T), atol=0.02)


def test_nothing_added_changes_nothing() -> None:
    rng = np.random.default_rng(6)
    draws = rng.normal(size=(500, 4)) @ rng.normal(size=(4, 4))
    same = with_errors(draws, added=np.zeros((4, 4)), prior=rng.uniform(0.1, 2, 500), df=np.inf)
    np.testing.assert_allclose(same, draws, atol=1e-3)
