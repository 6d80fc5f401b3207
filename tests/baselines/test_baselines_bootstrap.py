"""The vectorised bootstrap: its urns, its percentiles, and agreement with the closed forms."""

from __future__ import annotations

import error_budget
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesjudge.baselines import accuracy_baselines
from bayesjudge.baselines.common import bootstrap
from bayesjudge.baselines.common.bootstrap import half_replicates, percentile, resampled_moments
from bayesjudge.baselines.common.moments import Evidence
from bayesjudge.datasets import simulate_counts


def evidence_of(counts):
    return Evidence.from_patterns(counts.items["judge"], clustered=counts.clusters > 0)


def test_strata_keep_their_sizes():
    (counts,) = simulate_counts(datasets=1, seed=0, labelled=30, unlabelled=170)
    moments = resampled_moments(evidence_of(counts), replicates=500, rng=np.random.default_rng(0))
    assert (moments.labelled == 30).all()
    assert (moments.unlabelled == 170).all()


def test_models_stay_paired(item_counts):
    """Two models with the same answers get the same replicates, so their difference is exactly 0."""
    label = np.repeat(np.where(np.arange(60) < 20, np.arange(60) % 2, -1)[:, None], 2, axis=1)
    v = np.repeat((np.arange(60) % 3 > 0)[:, None], 2, axis=1).astype(int)
    found = accuracy_baselines(item_counts(label, v), "judge", bootstrap=200, methods=["ppi++[bootstrap]"])
    difference = found.where(estimand="difference").frame.iloc[0]
    assert difference["lower"] == difference["upper"] == 0.0
    assert "without width" in difference["note"]


@pytest.mark.parametrize("per_kind", [1, 400])
def test_draws_are_multinomial(per_kind):
    """Both ways of drawing: totals exact, means and variances those of the multinomial."""
    count = np.array([1, 2, 5]) * per_kind
    draws = bootstrap.draw_counts(count, 20_000, np.random.default_rng(1))
    total, share = count.sum(), count / count.sum()
    assert (draws.sum(axis=1) == total).all()
    # Means of 20,000 draws; a variance's own relative error is about 1 %.
    most = error_budget.standard_errors(len(count))
    assert np.allclose(draws.mean(0), count, atol=most * np.sqrt(total * 0.25 / 20_000))
    assert np.allclose(draws.var(0), total * share * (1 - share), rtol=0.06)


def test_whole_clusters_are_drawn():
    (counts,) = simulate_counts(datasets=1, seed=2, labelled=40, unlabelled=120, cluster_size=4)
    moments = resampled_moments(evidence_of(counts), replicates=300, rng=np.random.default_rng(0))
    assert (moments.labelled % 4 == 0).all()
    assert (moments.labelled == 40).all()


def test_mixed_clusters_are_drawn_from_one_urn(item_counts):
    """Every cluster holds labelled and unlabelled items: both numbers vary, their sum does not."""
    label = np.where(np.arange(40)[:, None] % 4 < 1 + (np.arange(40)[:, None] > 20), 1, -1)
    v = np.ones((40, 1), int)
    counts = item_counts(label, v, cluster=np.arange(40) // 4)
    moments = resampled_moments(evidence_of(counts), replicates=300, rng=np.random.default_rng(0))
    assert moments.labelled.std() > 0
    assert (moments.total == 40).all()


def test_halves_hold_half_the_labels_and_all_test_items():
    (counts,) = simulate_counts(datasets=1, seed=0, labelled=31, unlabelled=60)
    moments = half_replicates(evidence_of(counts), replicates=205, rng=np.random.default_rng(0))
    assert moments.labelled.shape == (205, 2)
    assert (moments.labelled == 15).all()
    assert (moments.unlabelled == 60).all()


def test_a_single_labelled_item_is_its_own_half(item_counts):
    label = np.where(np.arange(10)[:, None] < 1, 1, -1)
    evidence = evidence_of(item_counts(label, np.ones((10, 1), int)))
    moments = half_replicates(evidence, replicates=40, rng=np.random.default_rng(0))
    assert (moments.labelled == 1).all()


@pytest.mark.parametrize("method", ["naive", "labelled", "ppi", "ppi++", "eif", "rogan-gladen[specific]"])
def test_bootstrap_agrees_with_the_delta_method(method):
    """With 300 labels and J = .7 first order suffices; 8 % covers second order and Monte Carlo (1 %)."""
    (counts,) = simulate_counts(datasets=1, seed=3, labelled=300, unlabelled=1200, youden=0.7)
    name = method.replace("]", ",bootstrap]") if "[" in method else f"{method}[bootstrap]"
    found = accuracy_baselines(counts, "judge", methods=[method, name], bootstrap=20_000, seed=1).frame
    width = (found["upper"] - found["lower"]).groupby([found["estimand"], found["unit"], found["method"]]).first()
    for estimand, unit in {(e, u) for e, u, _ in width.index}:
        ratio = width[estimand, unit, name] / width[estimand, unit, method]
        assert ratio == pytest.approx(1.0, abs=0.08)


def test_small_chunks_change_nothing_but_the_draws(monkeypatch):
    (counts,) = simulate_counts(datasets=1, seed=0, labelled=30, unlabelled=70)
    monkeypatch.setattr(bootstrap, "_LARGEST", 1_000)
    moments = resampled_moments(evidence_of(counts), replicates=123, rng=np.random.default_rng(0))
    assert moments.labelled.shape == (123, 2)
    assert (moments.labelled == 30).all()


def test_percentiles_are_order_statistics():
    values = np.random.default_rng(0).permutation(10_000).astype(float)[None, :]
    median, lower, upper, undefined = percentile(values, prob=0.95)
    # The 250th smallest and the 250th largest.
    assert (median[0], lower[0], upper[0], undefined[0]) == (4999.5, 249.0, 9750.0, 0)


@given(lost=st.integers(0, 100))
def test_undefined_replicates_widen_both_ends(lost):
    """Half count as −∞, half as +∞: past the share the interval leaves out, the limits are infinite."""
    values = np.arange(100.0)
    values[:lost] = np.nan
    rng = np.random.default_rng(lost)
    _, lower, upper, undefined = percentile(rng.permutation(values)[None, :], prob=0.8)
    assert undefined[0] == lost
    outside = (lost + 1) // 2
    if outside < 10:
        assert (lower[0], upper[0]) == (lost + 9 - outside, 90 + outside)
    else:
        assert (lower[0], upper[0]) == (-np.inf, np.inf)


def test_undefined_replicates_are_counted_and_bounds_given():
    """A judge near J = 0: Rogan–Gladen is undefined in many replicates and its interval is everything."""
    (counts,) = simulate_counts(datasets=1, seed=5, labelled=40, unlabelled=100, youden=0.08)
    method = "rogan-gladen[specific,bootstrap]"
    found = accuracy_baselines(counts, "judge", methods=[method], bootstrap=400).where(estimand="accuracy").frame
    weak = found[found["point"].notna()]
    assert len(weak)
    assert weak["note"].str.contains("of 400 replicates undefined").all()
    assert (weak["lower"] == 0).all()
    assert (weak["upper"] == 1).all()


def test_a_single_labelled_item_does_not_pass_for_certainty(item_counts):
    """Every replicate draws the same label; the percentile interval would have no width."""
    label = np.where(np.arange(30)[:, None] < 1, 1, -1)
    v = (np.arange(30)[:, None] % 2).astype(int)
    found = accuracy_baselines(item_counts(label, v), "judge", methods=["labelled[bootstrap]"], bootstrap=50)
    row = found.frame.iloc[0]
    assert (row["lower"], row["upper"]) == (0.0, 1.0)
    assert "no standard error" in row["note"]
