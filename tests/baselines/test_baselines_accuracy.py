"""`accuracy_baselines` as users meet it: rows, symmetries, and every way the data can be degenerate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayesjudge.baselines import EVEN_METHODS, accuracy_baselines, judge_quality
from bayesjudge.baselines.accuracy.methods import ANALYTIC
from bayesjudge.baselines.common import intervals
from bayesjudge.datasets import simulate_counts
from bayesjudge.errors import UsageError

#: Sums in another order: rounding, nothing else.
ROUNDING = 1e-9


def rows_by_key(estimates):
    return {(r["estimand"], r["unit"], r["method"], r["group"]): r for r in estimates.frame.to_dict("records")}


def sampled(seed, models=3, n_labelled=30, n=120):
    rng = np.random.default_rng(seed)
    y = rng.random((n, models)) < rng.uniform(0.3, 0.8, models)
    v = np.where(rng.random((n, models)) < rng.uniform(0.6, 0.95, models), y, ~y).astype(int)
    return np.where(np.arange(n)[:, None] < n_labelled, y, -1).astype(int), v


def test_rows_are_every_accuracy_then_every_difference(item_counts):
    found = accuracy_baselines(item_counts(*sampled(0)), "judge", bootstrap=50).frame
    assert list(dict.fromkeys(found["method"])) == list(EVEN_METHODS)
    assert found["estimand"].tolist() == ["accuracy"] * 3 * len(EVEN_METHODS) + ["difference"] * 3 * len(EVEN_METHODS)
    assert found["unit"].tolist()[-3:] == ["m0 − m1", "m0 − m2", "m1 − m2"]
    assert np.isfinite(found[["lower", "upper", "n", "prob"]].to_numpy()).all()


def test_n_counts_the_items_a_method_used(item_counts):
    label, v = sampled(1)
    label[10:30, 1] = -1
    rows = rows_by_key(accuracy_baselines(item_counts(label, v), "judge", bootstrap=0))
    n = {m: rows["accuracy", "m1", m, ""]["n"] for m in ("naive", "labelled", "ppi++", "rogan-gladen[shared]")}
    # Calibration labels of m0 cover items 0–29; of those, 10–29 are test items of m1 as well.
    assert n == {"naive": 110, "labelled": 10, "ppi++": 120, "rogan-gladen[shared]": 120}
    assert rows["difference", "m0 − m1", "labelled", ""]["n"] == 30


def test_all_labels_calibrate_unless_a_reference_is_chosen(item_counts):
    label, v = sampled(2)
    label[20:30, 0] = -1
    counts = item_counts(label, v)
    method = "rogan-gladen[shared]"
    default = accuracy_baselines(counts, "judge", methods=[method], bootstrap=0)
    chosen = accuracy_baselines(counts, "judge", methods=[method], bootstrap=0, reference="m2")
    assert all("calibrated on labels of all models" in note for note in default.frame["note"])
    assert all("calibrated on labels of m2" in note for note in chosen.frame["note"])
    rows = rows_by_key(chosen)
    own = rows_by_key(accuracy_baselines(counts, "judge", methods=["rogan-gladen[specific]"], bootstrap=0))
    same = own["accuracy", "m2", "rogan-gladen[specific]", ""]["point"]
    assert rows["accuracy", "m2", method, ""]["point"] == pytest.approx(same, abs=ROUNDING)
    right, wrong = label == 1, label == 0
    q1, q0 = v[right].mean(), 1 - v[wrong].mean()
    pooled = (v[:, 0][label[:, 0] < 0].mean() + q0 - 1) / (q1 + q0 - 1)
    point = rows_by_key(default)["accuracy", "m0", method, ""]["point"]
    assert point == pytest.approx(pooled, abs=ROUNDING)


def test_options_are_checked(item_counts):
    counts = item_counts(*sampled(0))
    with pytest.raises(UsageError, match=r"no method 'pip\+\+'; did you mean 'ppi\+\+'"):
        accuracy_baselines(counts, "judge", methods=["pip++"])
    with pytest.raises(UsageError, match="no judge 'x'"):
        accuracy_baselines(counts, "x")
    with pytest.raises(UsageError, match="no model 'x'"):
        accuracy_baselines(counts, "judge", reference="x")
    with pytest.raises(UsageError, match="prob must lie"):
        accuracy_baselines(counts, "judge", prob=95)
    with pytest.raises(UsageError, match="bootstrap must be"):
        judge_quality(counts, "judge", bootstrap=-1)
    with pytest.raises(UsageError, match="needs bootstrap replicates"):
        accuracy_baselines(counts, "judge", methods=["ppi++[half]"], bootstrap=0)


@pytest.mark.slow
@settings(max_examples=20)
@given(seed=st.integers(0, 1000), order=st.permutations([0, 1, 2]))
def test_relabelling_models_permutes_and_swapping_negates(item_counts, seed, order):
    label, v = sampled(seed)
    straight = rows_by_key(accuracy_baselines(item_counts(label, v), "judge", bootstrap=0, reference="m0"))
    moved = item_counts(label[:, order], v[:, order])
    back = {f"m{new}": f"m{old}" for new, old in enumerate(order)}
    reference = f"m{order.index(0)}"
    for row in accuracy_baselines(moved, "judge", bootstrap=0, reference=reference).frame.to_dict("records"):
        ends = [back[name] for name in row["unit"].split(" − ")]
        flip = ends != sorted(ends)
        same = straight[row["estimand"], " − ".join(sorted(ends)), row["method"], ""]
        wanted = [same["point"], same["lower"], same["upper"]]
        wanted = [-wanted[0], -wanted[2], -wanted[1]] if flip else wanted
        found = [row["point"], row["lower"], row["upper"]]
        assert found == pytest.approx(wanted, abs=1e-7, nan_ok=True)  # 1e-7: roots of the profile likelihood


@settings(max_examples=20)
@given(seed=st.integers(0, 1000))
def test_the_bootstrap_negates_when_models_swap(item_counts, seed):
    """Draw for draw: the percentile interval of a − b is that of b − a mirrored, not one rank off."""
    label, v = sampled(seed, models=2)
    counts = item_counts(label, v), item_counts(label[:, ::-1], v[:, ::-1])
    # Patterns keep their order here, so equal seeds draw equal items.
    first, second = (
        rows_by_key(accuracy_baselines(c, "judge", bootstrap=100, methods=["ppi++[bootstrap]"])) for c in counts
    )
    a, b = (rows["difference", "m0 − m1", "ppi++[bootstrap]", ""] for rows in (first, second))
    assert [a["point"], a["lower"], a["upper"]] == pytest.approx([-b["point"], -b["upper"], -b["lower"]])


@pytest.mark.parametrize("method", ["naive", "labelled", "rogan-gladen[specific]", "rogan-gladen[shared]", "ppi"])
def test_data_twice_is_weight_two(item_counts, method):
    label, v = sampled(5)
    twice = item_counts(np.vstack([label, label]), np.vstack([v, v]))
    weighted = item_counts(label, v, n=2)
    rows = [
        rows_by_key(accuracy_baselines(counts, "judge", bootstrap=0))
        for counts in (item_counts(label, v), twice, weighted)
    ]
    for key in rows[0]:
        one, two, weight = (r[key] for r in rows)
        assert two["lower"] == pytest.approx(weight["lower"], abs=1e-7)
        if key[2] == method and (method not in ("naive", "labelled") or key[0] == "difference"):
            assert two["point"] == pytest.approx(one["point"], abs=ROUNDING)
        wald = method != "labelled" and not (method == "naive" and key[0] == "accuracy")
        if key[2] == method and wald and "unclipped" not in one["note"] and abs(one["upper"]) < 1 > abs(one["lower"]):
            ratio = (one["upper"] - one["lower"]) / (two["upper"] - two["lower"])
            assert ratio == pytest.approx(np.sqrt(2), rel=ROUNDING)


def test_equal_seeds_give_equal_results_and_methods_do_not_interfere(item_counts):
    counts = item_counts(*sampled(3))
    whole = rows_by_key(accuracy_baselines(counts, "judge", bootstrap=200, seed=4))
    again = rows_by_key(accuracy_baselines(counts, "judge", bootstrap=200, seed=4, methods=["ppi++[half]"]))
    other = rows_by_key(accuracy_baselines(counts, "judge", bootstrap=200, seed=5))
    key = ("accuracy", "m0", "ppi++[half]", "")
    numbers = [[rows[key][name] for name in ("point", "lower", "upper")] for rows in (whole, again, other)]
    assert numbers[0] == numbers[1]
    assert numbers[0] != numbers[2]


def test_groups_are_estimated_as_if_alone(item_counts):
    label, v = sampled(6)
    group = np.arange(120) % 2
    rows = rows_by_key(accuracy_baselines(item_counts(label, v, group=group), "judge", bootstrap=0))
    alone = rows_by_key(accuracy_baselines(item_counts(label[1::2], v[1::2]), "judge", bootstrap=0))
    for estimand, unit, method in [("accuracy", "m1", "ppi++"), ("difference", "m0 − m2", "mle")]:
        inside, lone = rows[estimand, unit, method, "g1"], alone[estimand, unit, method, ""]
        assert inside["lower"] == pytest.approx(lone["lower"], abs=ROUNDING)
        assert (estimand, unit, method, "") in rows


def test_repeated_runs_are_one_item(item_counts):
    """Two identical runs of every item say exactly what one run says."""
    label, v = sampled(7)
    once = rows_by_key(accuracy_baselines(item_counts(label, v), "judge", bootstrap=0))
    twice = rows_by_key(accuracy_baselines(item_counts(label, 2 * v, runs=2), "judge", bootstrap=0))
    for key, row in once.items():
        if key[2] == "mle":
            assert np.isnan(twice[key]["point"])
            assert "repeated runs" in twice[key]["note"]
        else:
            found = [twice[key][name] for name in ("point", "lower", "upper", "n")]
            wanted = [row[name] for name in ("point", "lower", "upper", "n")]
            assert found == pytest.approx(wanted, abs=1e-7, nan_ok=True)


def test_clusters_of_copies_count_once(item_counts, monkeypatch):
    """Every item copied three times within its cluster: G/(G − 1) in place of n − 1, G being the items."""
    monkeypatch.setattr(intervals, "t_quantile", lambda prob, _: intervals.normal_quantile(prob))
    label, v = sampled(8)
    copied = item_counts(np.repeat(label, 3, 0), np.repeat(v, 3, 0), cluster=np.repeat(np.arange(120), 3))
    one = rows_by_key(accuracy_baselines(item_counts(label, v), "judge", bootstrap=0))
    three = rows_by_key(accuracy_baselines(copied, "judge", bootstrap=0))
    for (estimand, unit, method, _), row in three.items():
        same, ends = one[estimand, unit, method, ""], [row["lower"], row["upper"]]
        assert row["n"] == 3 * same["n"]
        if method in ("ppi[logit]", "eif[logit]"):
            assert ends == pytest.approx([same["lower"], same["upper"]], abs=ROUNDING)
        elif estimand == "accuracy":
            # The closed forms with divisor n see 30/29 in the variance of the labels, and as much from n − 1
            # in λ; 1.035 leaves both and the classes' own factors (about 15/14) room.
            width = (ends[1] - ends[0]) / (same["upper"] - same["lower"])
            assert 0.999 <= width <= 1.06


def test_intervals_of_clusters_are_students(item_counts, monkeypatch):
    """With G clusters of labels t has G − 1 degrees of freedom: with six, normal intervals held .87 to .89 of 400."""
    label, v = sampled(8)  # 30 of 120 items have labels, five to a cluster
    counts = item_counts(label, v, cluster=np.arange(120) // 5)
    students = intervals.t_quantile(0.95, 5)

    def lengths():
        found = accuracy_baselines(counts, "judge", methods=["ppi++", "eif[logit]"], bootstrap=0).frame
        rates = judge_quality(counts, "judge", bootstrap=0).frame
        wald = [found[found["method"] == "ppi++"], rates[rates["method"] == "wald"]]
        eif = found[found["method"].eq("eif[logit]") & found["estimand"].eq("accuracy")]
        logits = np.log(eif["upper"] / (1 - eif["upper"])) - np.log(eif["lower"] / (1 - eif["lower"]))
        return np.concatenate([*(rows["upper"] - rows["lower"] for rows in wald), logits])

    wide = lengths()
    monkeypatch.setattr(intervals, "t_quantile", lambda prob, _: intervals.normal_quantile(prob))
    np.testing.assert_allclose(wide / lengths(), students / intervals.normal_quantile(0.95))


def test_labels_from_one_cluster_have_no_standard_error(item_counts):
    """Thirty labels from one document say nothing about how documents differ."""
    label, v = sampled(9)
    cluster = np.where(np.arange(120) < 30, 0, np.arange(120))
    counts = item_counts(label, v, cluster=np.unique(cluster, return_inverse=True)[1])
    rows = rows_by_key(accuracy_baselines(counts, "judge", methods=["ppi++", "labelled"], bootstrap=0))
    row = rows["accuracy", "m0", "ppi++", ""]
    assert (row["lower"], row["upper"]) == (0.0, 1.0)
    assert "a single cluster" in row["note"]
    # Wilson of one unit.
    assert rows["accuracy", "m0", "labelled", ""]["upper"] > 0.9


LABELLED_10 = np.arange(40)[:, None] < 10
ALTERNATE = np.tile([[1, 0], [0, 1]], (20, 1))
DEGENERATE = {
    "no labels": (np.full((40, 2), -1), ALTERNATE),
    "all labels 1": (np.where(LABELLED_10, [[1, 1]], -1), ALTERNATE),
    "all verdicts 1": (np.where(LABELLED_10, ALTERNATE, -1), np.ones((40, 2), int)),
    "one labelled": (np.where(np.arange(40)[:, None] < 1, [[1, 1]], -1), ALTERNATE),
    "all labelled": (ALTERNATE, np.tile([[1, 0], [1, 1]], (20, 1))),
    "perfect judge": (np.where(LABELLED_10, ALTERNATE, -1), ALTERNATE),
    "judge is backwards": (np.where(LABELLED_10, ALTERNATE, -1), 1 - ALTERNATE),
    "one item": (np.array([[1, 0]]), np.array([[1, 1]])),
    "one model": (np.array([[1], [0], [-1], [-1]]), np.array([[1], [0], [1], [1]])),
}


@pytest.mark.parametrize("case", DEGENERATE)
def test_degenerate_data_give_finite_intervals_and_reasons(item_counts, case):
    counts = item_counts(*DEGENERATE[case])
    found = accuracy_baselines(counts, "judge", bootstrap=60).frame
    found_quality = judge_quality(counts, "judge", bootstrap=60).frame
    for frame in (found, found_quality):
        assert np.isfinite(frame[["lower", "upper", "n"]].to_numpy()).all()
        assert (frame["lower"] <= frame["upper"]).all()
        undefined = frame["point"].isna()
        assert (frame.loc[undefined, "note"] != "").all()
        known = frame[~undefined & ~frame["note"].str.contains("no standard error")]
        assert (known["lower"] <= known["point"] + ROUNDING).all()
        assert (known["point"] <= known["upper"] + ROUNDING).all()


@pytest.mark.parametrize("case", DEGENERATE)
def test_one_cluster_claims_no_standard_error(item_counts, case):
    label, v = DEGENERATE[case]
    counts = item_counts(label, v, cluster=np.zeros(len(label), dtype=int))
    found = accuracy_baselines(counts, "judge", bootstrap=0, methods=["ppi++", "eif", "ppi"]).frame
    assert (found["upper"] - found["lower"] >= 1).all()
    assert (found["note"] != "").all()


def test_what_is_undefined_without_labels(item_counts):
    found = accuracy_baselines(item_counts(*DEGENERATE["no labels"]), "judge", bootstrap=50).frame
    defined = set(found.loc[found["point"].notna(), "method"])
    assert defined == {"naive", "naive[bootstrap]"}
    rest = found[found["point"].isna()]
    assert rest["note"].str.contains("no labelled item").all()
    low = np.where(rest["estimand"] == "accuracy", 0.0, -1.0)
    assert (rest["lower"] == low).all()
    assert (rest["upper"] == 1.0).all()


def test_a_backwards_judge_is_refused_by_rogan_gladen_only(item_counts):
    rows = rows_by_key(accuracy_baselines(item_counts(*DEGENERATE["judge is backwards"]), "judge", bootstrap=0))
    refused = rows["accuracy", "m0", "rogan-gladen[specific]", ""]
    assert np.isnan(refused["point"])
    assert "Youden's J = -1 is not positive" in refused["note"]
    # PPI++ falls back on the labels, the EIF learns that the judge is upside down.
    assert rows["accuracy", "m0", "ppi++", ""]["point"] == pytest.approx(0.5)
    assert rows["accuracy", "m0", "eif", ""]["point"] == pytest.approx(0.5)


def test_clipping_is_reported(item_counts):
    label = np.array([[1], [1], [1], [0], [0], [0], *[[-1]] * 20])
    v = np.array([[1], [1], [0], [0], [0], [1], *[[1]] * 20])
    rows = rows_by_key(accuracy_baselines(item_counts(label, v), "judge", bootstrap=0))
    clipped = rows["accuracy", "m0", "rogan-gladen[specific]", ""]
    assert clipped["point"] == 1.0
    assert "unclipped 2" in clipped["note"]


def test_an_unidentified_mle_keeps_its_profile_interval(item_counts):
    """No labelled item has verdict 0: θ may be anything its 10 unlabelled items allow, not all of [0, 1]."""
    label = np.where(np.arange(60)[:, None] < 20, 1, -1)
    v = (np.arange(60)[:, None] < 50).astype(int)
    rows = rows_by_key(accuracy_baselines(item_counts(label, v), "judge", bootstrap=0))
    row = rows["accuracy", "m0", "mle", ""]
    assert np.isnan(row["point"])
    assert "every labelled item has mean verdict 1" in row["note"]
    assert 0.5 < row["lower"] < 50 / 60
    assert row["upper"] == 1.0


def test_every_analytic_interval_widens_with_prob(item_counts):
    counts = item_counts(*sampled(9))
    narrow, wide = (rows_by_key(accuracy_baselines(counts, "judge", prob=p, bootstrap=0)) for p in (0.8, 0.99))
    assert {key[2] for key in narrow} == set(ANALYTIC) & set(EVEN_METHODS)
    for key, row in narrow.items():
        assert wide[key]["lower"] <= row["lower"]
        assert row["upper"] <= wide[key]["upper"]


def test_simulated_counts_from_another_room_work():
    (counts,) = simulate_counts(datasets=1, seed=1, runs=3, labelled=40, unlabelled=100)
    found = accuracy_baselines(counts, "judge", bootstrap=100)
    assert np.isfinite(found.frame[["lower", "upper"]].to_numpy()).all()


def test_adjusted_limits_do_not_rescue_an_undefined_estimate(item_counts):
    """J = 0 exactly, but its Lang–Reiczigel adjusted value is .245: the estimate stays undefined."""
    label = np.repeat([1, 0, -1], [2, 200, 50])[:, None]
    v = np.repeat([0, 0, 1], [2, 200, 50])[:, None]
    rows = rows_by_key(accuracy_baselines(item_counts(label, v), "judge", bootstrap=0))
    row = rows["accuracy", "m0", "rogan-gladen[specific,lang-reiczigel]", ""]
    assert np.isnan(row["point"])
    assert (row["lower"], row["upper"]) == (0.0, 1.0)


def test_logit_limits_at_the_edge_are_the_labels_wilson_interval(item_counts):
    """All 20 labels 1 and no verdict tells otherwise: the logit has no standard error there."""
    label = np.repeat([1, -1], [20, 30])[:, None]
    rows = rows_by_key(accuracy_baselines(item_counts(label, np.ones((50, 1), int)), "judge", bootstrap=0))
    wanted = rows["accuracy", "m0", "labelled", ""]
    row = rows["accuracy", "m0", "ppi++[logit]", ""]
    assert (row["lower"], row["upper"]) == pytest.approx((wanted["lower"], wanted["upper"]))
    assert 0.8 < row["lower"] < row["upper"] == 1.0


def test_one_test_item_leaves_ppi_the_labels_alone(item_counts):
    """Of one verdict no variance is known: λ = 0, and the interval is that of the labels."""
    label, v = sampled(3, n_labelled=119)
    rows = rows_by_key(accuracy_baselines(item_counts(label, v), "judge", bootstrap=0))
    for unit in ("m0", "m1", "m2"):
        found = rows["accuracy", unit, "ppi++[logit]", ""]
        alone = rows["accuracy", unit, "labelled", ""]
        assert found["point"] == pytest.approx(alone["point"], abs=ROUNDING)
        # One is on the logit scale with n - 1, the other Wilson's: of 119 labels their widths are within a few percent.
        assert found["upper"] - found["lower"] == pytest.approx(alone["upper"] - alone["lower"], rel=0.05)
        assert "the labels alone" in found["note"]
