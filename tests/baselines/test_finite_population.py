"""Accuracy on exactly these items: exact identities of survey sampling, limits, coverage for both."""

from __future__ import annotations

from itertools import combinations

import error_budget
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, norm

from bayesjudge.baselines import ITEMS_METHODS, accuracy_baselines
from bayesjudge.baselines.accuracy import estimators
from bayesjudge.baselines.accuracy.estimator import labelled_share, residual_covariance
from bayesjudge.baselines.common.intervals import mean_scale
from bayesjudge.baselines.common.moments import Evidence
from bayesjudge.errors import UsageError

#: Sums of at most a thousand numbers in [0, 1] in another order.
ROUNDING = 1e-12
CALIBRATED = [name for name in ITEMS_METHODS if name != "naive"]


def simulated(rng, *, items=400, shown=100, models=2):
    """Truth (N, M) with an item effect, verdicts of a judge with J ≈ .6, labels of ``shown`` items."""
    hard = rng.normal(size=(items, 1))
    y = (rng.normal(size=(items, models)) + hard < np.linspace(0.8, 0.5, models)).astype(int)
    wrong = rng.random((items, models)) < 0.2
    picked = np.zeros(items, dtype=bool)
    picked[rng.choice(items, shown, replace=False)] = True
    return y, np.where(wrong, 1 - y, y), np.where(picked[:, None], y, -1)


def estimates(counts, population, methods=None):
    found = accuracy_baselines(counts, "judge", methods=methods, bootstrap=0, population=population).frame
    return found.assign(width=found["upper"] - found["lower"])


def test_rows_name_the_population_and_the_default_is_the_superpopulation(item_counts):
    _, verdict, label = simulated(np.random.default_rng(1))
    counts = item_counts(label, verdict)
    assert set(estimates(counts, "items")["estimand"]) == {"accuracy (these items)", "difference (these items)"}
    plain = accuracy_baselines(counts, "judge", methods=["ppi++"], bootstrap=0).frame
    pd.testing.assert_frame_equal(plain, estimates(counts, "superpopulation", ["ppi++"]).drop(columns="width"))


def test_only_rogan_gladen_and_naive_move_between_populations(item_counts):
    """λ* is (1 − f) times the slope in both, so the regression estimators differ in their intervals alone."""
    _, verdict, label = simulated(np.random.default_rng(2))
    counts = item_counts(label, verdict)
    methods = ["labelled", "ppi", "ppi++", "eif", "eif[logit]"]
    ours, theirs = (estimates(counts, which, methods) for which in ("items", "superpopulation"))
    np.testing.assert_allclose(ours["point"], theirs["point"], rtol=0, atol=ROUNDING)
    assert (ours["width"] < theirs["width"]).all()


@pytest.mark.parametrize("youden", [1, -1])
def test_with_every_item_labelled_nothing_is_left_to_estimate(item_counts, youden):
    y, verdict, _ = simulated(np.random.default_rng(3))
    frame = estimates(item_counts(y, verdict if youden > 0 else 1 - verdict), "items", CALIBRATED)
    accuracy = frame[frame["estimand"] == "accuracy (these items)"]
    assert (frame["width"] == 0).all()
    np.testing.assert_allclose(accuracy["point"], np.tile(y.mean(0), len(CALIBRATED)), rtol=0, atol=ROUNDING)
    assert set(accuracy["note"].str.replace("; calibrated on labels of all models", "")) == {
        "every item is labelled: nothing left to estimate"
    }


def test_a_judge_who_erred_on_no_label_is_not_known_to_err_nowhere(item_counts):
    """PPI++ had [.018, .018] of 60 labels with one yes: what is unknown is what Wilson's interval of n/(1 − f) says."""
    label = np.r_[1, np.zeros(59, int), np.full(240, -1)][:, None]
    verdict = np.r_[1, np.zeros(59, int), np.ones(4, int), np.zeros(236, int)][:, None]
    frame = estimates(item_counts(label, verdict), "items", ["labelled", "ppi[logit]", "ppi++[logit]", "eif[logit]"])
    low, high = frame["lower"].to_numpy(), frame["upper"].to_numpy()
    assert (low < frame["point"]).all()
    # As wide as the labels alone leave it, whose interval is Wilson's of 75, too.
    assert (high - low > 0.07).all()


def test_labels_alone_have_cochrans_variance(item_counts):
    """Cochran 1977, eq. 2.14: (1 − f)s²/n; the Wilson interval rests on n/(1 − f) items."""
    y, verdict, label = simulated(np.random.default_rng(4))
    evidence = Evidence.from_patterns(item_counts(label, verdict).items["judge"])
    found = estimators.LABELLED.finite.covariance(evidence, 1)
    shown = y[label[:, 0] >= 0]
    np.testing.assert_allclose(found, 0.75 * np.cov(shown.T) / 100, rtol=1e-10)


@pytest.mark.parametrize("b", [0.0, 0.7])
def test_design_variance_is_exact_over_all_samples(item_counts, b):
    """All 210 ways to label 4 of 10 items: mean error 0, the formula's variance, its estimate unbiased."""
    rng = np.random.default_rng(5)
    y, v = rng.integers(0, 2, (10, 1)), rng.integers(0, 2, (10, 1))
    errors, estimated = [], []
    for chosen in combinations(range(10), 4):
        label = np.full((10, 1), -1)
        label[list(chosen)] = y[list(chosen)]
        evidence = Evidence.from_patterns(item_counts(label, v).items["judge"])
        errors.append(y[list(chosen)].mean() + b * (v.mean() - v[list(chosen)].mean()) - y.mean())
        residual = estimators.residual_influence(evidence, 1, np.array([[b]]))
        estimated.append(residual_covariance(residual, evidence)[0, 0])
    r = (y - b * v).astype(float)
    assert np.mean(errors) == pytest.approx(0, abs=ROUNDING)
    assert np.var(errors) == pytest.approx(0.6 * r.var(ddof=1) / 4, rel=1e-10)
    assert np.mean(estimated) == pytest.approx(np.var(errors), rel=1e-10)


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000))
def test_correction_between_models_is_the_product_of_their_weights(item_counts, seed):
    """S_ab (w_a · w_b) with w = 1_L/n − 1_A/N, whatever the two models' items and labels."""
    rng = np.random.default_rng(seed)
    label = np.where(rng.random((40, 2)) < 0.5, rng.integers(0, 2, (40, 2)), -1)
    label[:4] = [[0, 1], [1, 0], [1, 1], [0, 0]]
    runs = (rng.random((40, 2)) < 0.8).astype(int)
    runs[:4] = 1
    counts = item_counts(label, rng.integers(0, 2, (40, 2)) * runs, runs=runs)
    evidence = Evidence.from_patterns(counts.items["judge"])
    influence = estimators.LABELLED.influence(evidence, 0)
    n, size = evidence.plain.labelled[0], evidence.plain.total[0]
    weights = evidence.labelled / n - (evidence.labelled + evidence.unlabelled) / size
    both = evidence.labelled.prod(axis=1)
    spread = (both * influence.prod(axis=1)).sum() / both.sum() * n.prod()
    found = residual_covariance(influence, evidence)[0, 1]
    assert found == pytest.approx(spread * weights.prod(axis=1).sum(), rel=1e-9, abs=1e-15)


def test_models_without_a_common_labelled_item_get_the_widest_difference(item_counts):
    """S_ab is unknown there; the bound √(S_aa S_bb) can only widen the difference."""
    rng = np.random.default_rng(6)
    y = rng.integers(0, 2, (60, 2))
    label = np.full((60, 2), -1)
    label[:20, 0], label[20:40, 1] = y[:20, 0], y[20:40, 1]
    evidence = Evidence.from_patterns(item_counts(label, y).items["judge"])
    cov = estimators.LABELLED.finite.covariance(evidence, 0)
    spread = np.sqrt([y[:20, 0].var(), y[20:40, 1].var()])
    assert cov[0, 1] == pytest.approx(-spread.prod() / 60, rel=1e-10)


def test_a_weak_judge_leaves_the_labels_alone_and_a_small_share_the_superpopulation(item_counts):
    rng = np.random.default_rng(7)
    y, _, label = simulated(rng, items=4000, shown=40)
    counts = item_counts(label, np.ones_like(y))
    widths = {
        which: estimates(counts, which, ["labelled", "ppi++"])["width"].to_numpy()
        for which in ("items", "superpopulation")
    }
    # f = .01 takes half a per cent off the width of an uncorrected estimate.
    np.testing.assert_allclose(widths["items"], widths["superpopulation"], rtol=0.006)
    frame = estimates(counts, "items", ["labelled", "ppi++"])
    point = frame.pivot_table(index="unit", columns="method", values="point")
    np.testing.assert_allclose(point["ppi++"], point["labelled"], atol=ROUNDING)


def test_naive_says_that_it_takes_the_judge_for_the_truth(item_counts):
    _, verdict, label = simulated(np.random.default_rng(8))
    frame = estimates(item_counts(label, verdict), "items", ["naive"])
    assert (frame["width"] == 0).all()
    assert frame["point"].iloc[0] == pytest.approx(verdict[:, 0].mean(), abs=ROUNDING)
    assert frame["note"].iloc[0].startswith("the judge taken for the truth")


@pytest.mark.parametrize(
    ("label", "noted"),
    [
        (np.full((30, 1), -1), "no labelled item"),
        (np.r_[[[1]], np.full((29, 1), -1)], "no standard error"),
        (np.r_[np.ones((10, 1), int), np.full((20, 1), -1)], ""),
    ],
)
def test_degenerate_labels_are_noted(item_counts, label, noted):
    """No label or one: the whole range and why. Labels all equal: Wilson and logit intervals keep a width."""
    verdict = np.random.default_rng(9).integers(0, 2, label.shape)
    frame = estimates(item_counts(label, verdict), "items", ["labelled", "ppi++", "ppi++[logit]"])
    # One label alone still has a Wilson interval.
    uncertain = frame[frame["method"] != "labelled"] if noted == "no standard error" else frame
    assert uncertain["note"].str.contains(noted).all()
    assert np.isfinite(frame[["lower", "upper"]]).all(axis=None)
    kept = frame[frame["method"] != "ppi++"] if not noted else frame
    assert (kept["width"] > 0).all()


def test_clusters_are_respected(item_counts):
    """Whole clusters labelled: the cluster-robust variance, times 1 − f, as if clusters were items."""
    rng = np.random.default_rng(10)
    effect = np.repeat(rng.random((40, 1)) < 0.6, 5, axis=0).astype(int)
    label = np.where(np.arange(200)[:, None] < 100, effect, -1)
    counts = item_counts(label, effect, cluster=np.repeat(np.arange(40), 5))
    evidence = Evidence.from_patterns(counts.items["judge"], clustered=True)
    per_cluster = effect[:100:5, 0]
    found = estimators.LABELLED.finite.covariance(evidence, 0)[0, 0]
    assert found == pytest.approx(0.5 * per_cluster.var(ddof=1) / 20, rel=1e-9)
    assert labelled_share(evidence).tolist() == [0.5]
    assert np.isnan(
        mean_scale(
            Evidence.from_patterns(
                item_counts(label[:5], effect[:5], cluster=np.zeros(5, int)).items["judge"], clustered=True
            ),
            np.ones((5, 1)),
            0,
        )
    ).all()


def test_methods_of_the_superpopulation_alone_are_refused(item_counts):
    _, verdict, label = simulated(np.random.default_rng(11))
    counts = item_counts(label, verdict)
    with pytest.raises(UsageError, match=r"'mle' answers for the superpopulation alone.*ppi\+\+"):
        estimates(counts, "items", ["mle"])
    with pytest.raises(UsageError, match="not one of superpopulation, items"):
        estimates(counts, "item")


#: Tail on either side of the binomial bounds of each check.
TAIL = error_budget.level() / 2
SETS = 400


@pytest.mark.slow
def test_both_populations_are_covered(item_counts):
    """100 of 400 items labelled: each interval is nominal for its own population."""
    methods = ["labelled", "rogan-gladen[specific]", "rogan-gladen[shared]", "ppi++", "ppi++[logit]", "eif"]
    rng = np.random.default_rng(12)
    # P(N(0, 2) < t) for the thresholds of `simulated`.
    theta = norm.cdf(np.array([0.8, 0.5]) / np.sqrt(2))
    hits = []
    for _ in range(SETS):
        y, verdict, label = simulated(rng)
        counts = item_counts(label, verdict)
        for which, truth in (("items", y.mean(0)), ("superpopulation", theta)):
            found = estimates(counts, which, methods)
            wanted = found["unit"].map({"m0": truth[0], "m1": truth[1], "m0 − m1": truth[0] - truth[1]})
            kind = found["estimand"].str.split(" ").str[0]
            inside = (found["lower"] <= wanted) & (found["upper"] >= wanted)
            hits.append(found[["method", "unit"]].assign(which=which, kind=kind, inside=inside))
    covered = pd.concat(hits).query("unit != 'm1'").groupby(["which", "kind", "method"])["inside"].sum()
    # Wald intervals with divisor n lose about half a per cent at 100 labels, Wilson gains as much.
    low, high = binom.ppf(TAIL, SETS, 0.94), binom.ppf(1 - TAIL, SETS, 0.96)
    assert covered.between(low, high).all(), covered[~covered.between(low, high)]
