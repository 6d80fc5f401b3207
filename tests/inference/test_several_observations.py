"""A model of two kinds of observation goes through every engine, check and file that one of one kind does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy import stats

from bayesjudge.checks import loo, predictive_check, prior_sensitivity
from bayesjudge.inference import Fit, fit, load_fit
from bayesjudge.inference.programs.density import density
from bayesjudge.simulation import sbc

TABLE = [(20, 40, 0.55), (3, 10, 0.2), (7, 7, 0.9)]


@pytest.fixture(scope="module")
def scales(third_party: ModuleType) -> Fit:
    return fit(third_party.Scales(), TABLE, seed=1)


def _exact_means() -> Any:
    """Posterior means by summing over a grid of p."""
    p = (np.arange(20_000) + 0.5) / 20_000
    means = []
    for heads, tosses, weight in TABLE:
        density = stats.beta(1 + heads, 1 + tosses - heads).pdf(p) * stats.norm(p, 0.05).pdf(weight)
        means.append((p * density).sum() / density.sum())
    return np.array(means)


def test_both_kinds_inform_the_posterior(scales: Fit, agree: Callable[..., None]) -> None:
    p = scales.posterior["p"]
    draws = p.to_numpy().reshape(-1, len(TABLE))
    # HMC draws of three nearly independent unknowns: an ESS of a third of the draws is a cautious guess.
    agree(draws.mean(0), _exact_means(), draws.std(0) / np.sqrt(len(draws) / 3))


def test_every_group_of_the_tree_holds_both(scales: Fit) -> None:
    tree = scales.with_prior().tree
    for group in ("cell_log_likelihood", "posterior_predictive", "prior_predictive", "observed_data"):
        assert set(tree[group].data_vars) == {"heads", "weight"}, group
    assert set(tree["prior"].data_vars) == {"p"}
    replicated = scales.tree["posterior_predictive"]["weight"]
    spread = float((replicated - scales.tree["posterior_predictive"]["heads"] / [40, 10, 7]).std())
    assert spread > 0.05, "replicated from one stream of random numbers"


def test_statistics_see_both_by_name(scales: Fit) -> None:
    check = predictive_check(scales)
    row = check.frame.iloc[0]
    assert row["observed"] == pytest.approx(0.1)
    assert row["note"] == "the observations are not counts"
    assert not row["flagged"]


def test_prior_sensitivity_and_leave_one_out_run(scales: Fit) -> None:
    assert (prior_sensitivity(scales).frame["likelihood"] > 0.05).all()
    assert loo(scales).n_data_points == len(TABLE)


def test_a_saved_fit_comes_back(
    scales: Fit, tmp_path: Path, third_party: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bayesjudge.inference.loading.find_model", lambda _: third_party.Scales)
    again = load_fit(scales.save(tmp_path / "scales.nc"))
    assert again.data.observations == ("heads", "weight")
    np.testing.assert_array_equal(again.data["weight"], scales.data["weight"])


def _calibrated(model: Any) -> Any:
    return sbc(model, model.prepare(TABLE), replicates=200, engine="laplace", seed=4)


@pytest.mark.slow
def test_ranks_are_calibrated_on_data_of_both_kinds(third_party: ModuleType) -> None:
    found = _calibrated(third_party.Scales())
    assert found.passed, found.summary


@pytest.mark.slow
def test_a_wrong_error_of_the_second_kind_is_found(third_party: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def simulate(self: Any, key: Any, data: Any) -> Any:
        wrong = third_party.Scales(error=0.2)
        return third_party.prior_draw(wrong, key, data)

    monkeypatch.setattr(third_party.Scales, "simulate", simulate)
    assert not _calibrated(third_party.Scales()).passed


def test_the_data_know_their_observations(scales: Fit) -> None:
    assert scales.data.observations == ("heads", "weight")
    assert density(scales.model, scales.data).size == len(TABLE)
