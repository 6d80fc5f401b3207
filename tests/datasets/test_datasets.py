"""Simulated logs obey the world they came from; transcribed figures obey their own arithmetic."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import error_budget
import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal, norm

from bayesjudge.counts import VerdictCounts, count_verdicts
from bayesjudge.datasets import (
    VerdictDesign,
    demo_verdicts,
    mmlu_pro,
    mmlu_pro_questions,
    simulate_counts,
    simulate_verdicts,
)
from bayesjudge.datasets.verdicts import draw
from bayesjudge.errors import UsageError

#: Seeded draws are compared with exact values at this many standard errors; this file makes fewer than 50
#: comparisons.
Z = error_budget.standard_errors(50)

WORLDS: dict[str, dict[str, Any]] = {
    "paper": {},
    "one model": {"models": ["solo"], "accuracy": 0.7, "youden": 0.4, "labelled": 30, "unlabelled": 50},
    "unsorted names": {"models": ["z", "b", "m"], "accuracy": [0.6, 0.7, 0.8], "youden": 0.5, "labelled": 40},
    "repeated runs": {"runs": 4, "labelled": 50, "unlabelled": 100},
    "two judges": {"judges": ["y", "x"], "youden": [[0.7, 0.6], [0.3, 0.2]], "judge_correlation": 0.4},
    "clusters": {"cluster_size": 7, "labelled": 40, "unlabelled": 60},
    "no labels": {"labelled": 0, "unlabelled": 60},
    "all labelled": {"labelled": 60, "unlabelled": 0},
}


def counted(counts: VerdictCounts) -> dict[str, Any]:
    """Everything in the counts, patterns in one order."""
    parts = {"answers": counts.answers, **counts.items}
    tables = {}
    for name, part in parts.items():
        columns = [
            np.atleast_2d(getattr(part, key).T).T for key in part.__dataclass_fields__ if getattr(part, key) is not None
        ]
        columns = [column.reshape(len(part.n), -1) for column in columns]
        tables[name] = sorted(map(tuple, np.hstack(columns).tolist()))
    names = (counts.models, counts.judges, counts.groups, counts.clusters)
    return {"names": names, **tables}


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS.keys())
def test_counts_by_the_thousand_equal_counted_logs(world: dict[str, Any]) -> None:
    seeds = np.random.default_rng(5).spawn(2)
    logs = [simulate_verdicts(seed=seed, **world).verdicts for seed in seeds]
    cluster = "cluster" if "cluster_size" in world else None
    fast = simulate_counts(datasets=2, seed=5, **world)
    assert [counted(one) for one in fast] == [counted(count_verdicts(log, cluster=cluster)) for log in logs]


def test_equal_seeds_give_equal_logs_and_others_do_not() -> None:
    first, again, other = (simulate_verdicts(seed=seed).verdicts.frame for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(first, again)
    assert not first["verdict"].equals(other["verdict"])


def test_a_log_has_a_row_for_every_run_and_labels_on_the_labelled_items_only() -> None:
    log = simulate_verdicts(seed=0, runs=3, judges=("x", "y"), labelled=20, unlabelled=30).verdicts.frame
    assert len(log) == 50 * 2 * 2 * 3
    assert log.groupby("item")["label"].apply(lambda label: label.notna().all()).sum() == 20
    assert log["label"].notna().sum() == 20 * 2 * 2 * 3


def big(**options: Any) -> tuple[VerdictDesign, tuple[Any, Any]]:
    """A world of 200,000 items: a share there has a standard error of at most .0011."""
    design = VerdictDesign(labelled=0, unlabelled=200_000, **options)
    return design, draw(design, np.random.default_rng(11))


def assert_share(found: np.ndarray, expected: float) -> None:
    error = np.sqrt(expected * (1 - expected) / len(found))
    assert abs(found.mean() - expected) < Z * error


def test_accuracies_and_error_rates_are_those_of_the_design() -> None:
    design, (label, verdict) = big(sensitivity=(0.9, 0.7), specificity=(0.6, 0.8))
    for m in range(2):
        right, says = label[:, m], verdict[:, m, 0, 0]
        assert_share(right, design.theta[m])
        assert_share(says[right], design.q1[0, m])
        assert_share(~says[~right], design.q0[0, m])


def test_half_of_one_plus_youden_is_both_error_rates() -> None:
    design = VerdictDesign(youden=(0.6, 0.5))
    np.testing.assert_allclose(design.q1, [[0.8, 0.75]], rtol=1e-15)
    np.testing.assert_array_equal(design.q0, design.q1)


def both(theta: np.ndarray, r: float) -> float:
    """P(y_a = y_b = 1) under the probit threshold with latent correlation r."""
    return float(multivariate_normal([0, 0], [[1, r], [r, 1]]).cdf(norm.ppf(theta)))


@pytest.mark.parametrize("r", [0.0, 0.5, 0.9])
def test_labels_of_two_models_correlate_through_the_item(r: float) -> None:
    design, (label, _) = big(item_correlation=r)
    assert_share(label.all(axis=1), both(design.theta, r))


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.8, 1.0])
def test_runs_are_exchangeable_with_the_wanted_correlation_given_the_label(rho: float) -> None:
    design, (label, verdict) = big(repeatability=rho, runs=4)
    wrong = ~label[:, 0]
    says = verdict[wrong, 0, 0]
    p = 1 - design.q0[0, 0]
    for k in range(4):
        assert_share(says[:, k], p)
    for first, second in [*pairwise(range(4)), (0, 3)]:
        assert_share(says[:, first] & says[:, second], p**2 + rho * p * (1 - p))


def test_runs_given_the_label_are_beta_binomial() -> None:
    from scipy.stats import betabinom

    design, (label, verdict) = big(repeatability=0.4, runs=5)
    says = verdict[label[:, 1], 1, 0].sum(axis=1)
    q, concentration = design.q1[0, 1], (1 - 0.4) / 0.4
    for count in range(6):
        expected = betabinom(5, q * concentration, (1 - q) * concentration).pmf(count)
        assert_share(says == count, expected)


def test_judges_err_together_when_asked_and_keep_their_error_rates() -> None:
    design, (label, verdict) = big(judges=("x", "y"), youden=0.4, judge_correlation=0.6)
    right = label[:, 0]
    says = verdict[right, 0, :, 0]
    for j in range(2):
        assert_share(says[:, j], design.q1[j, 0])
    assert_share(says.all(axis=1), both(design.q1[:, 0], 0.6))


def test_items_of_a_cluster_share_their_difficulty() -> None:
    design, (label, _) = big(cluster_size=2, cluster_correlation=0.7, item_correlation=0.8)
    first, second = label[::2, 0], label[1::2, 0]
    assert_share(first & second, both(design.theta[[0, 0]], 0.7 * 0.8))


def test_clusters_are_labelled_whole() -> None:
    clusters = VerdictDesign(labelled=10, unlabelled=10, cluster_size=4).clusters
    assert not set(clusters[:10]) & set(clusters[10:])
    assert clusters.tolist()[-1] == 5


def test_enriched_labels_shift_accuracy_but_not_the_judge() -> None:
    design = VerdictDesign(labelled=100_000, unlabelled=100_000, label_shift=1.0)
    label, verdict = draw(design, np.random.default_rng(3))
    shifted, plain = label[:100_000, 0], label[100_000:, 0]
    assert_share(shifted, float(norm.cdf(norm.ppf(0.72) + 1)))
    assert_share(plain, 0.72)
    assert_share(verdict[:100_000, 0, 0, 0][shifted], design.q1[0, 0])


def test_the_truth_names_every_model_and_pair_both_ways() -> None:
    truth = VerdictDesign().truth()
    assert truth["accuracy", "a"] == 0.72
    assert truth["difference", "a − b"] == pytest.approx(0.07)
    assert truth["difference", "b − a"] == -truth["difference", "a − b"]
    assert truth["youden", "b"] == pytest.approx(0.5)
    assert truth["delta_youden", "a − b"] == pytest.approx(0.1)


def test_the_truth_of_several_judges_needs_the_judge() -> None:
    design = VerdictDesign(judges=("x", "y"), youden=[[0.6, 0.5], [0.2, 0.1]])
    assert ("youden", "a") not in design.truth()
    assert design.truth("y")["youden", "a"] == pytest.approx(0.2)
    with pytest.raises(UsageError, match="no judge 'z'"):
        design.truth("z")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"accuracy": (0.7, 1.2)}, "accuracy is .*between 0 and 1"),
        ({"accuracy": (0.7, float("nan"))}, "accuracy is"),
        ({"youden": 1.5}, "sensitivity is"),
        ({"models": ("a", "b", "c")}, r"accuracy has shape \(2,\)"),
        ({"models": ("a", "a")}, "different names"),
        ({"models": "ab"}, "different names"),
        ({"labelled": -1}, "labelled is"),
        ({"labelled": 0, "unlabelled": 0}, "items is"),
        ({"runs": 0}, "runs is"),
        ({"repeatability": -0.1}, "repeatability is"),
        ({"runs": 2, "judge_correlation": 0.5}, "needs runs=1"),
        ({"acuracy": (0.7, 0.6)}, r"unknown options \['acuracy'\].*accuracy"),
    ],
)
def test_impossible_worlds_are_refused_by_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        simulate_verdicts(seed=0, **options)


def test_perfect_and_useless_judges_can_be_simulated() -> None:
    frame = simulate_verdicts(seed=0, youden=(1.0, 0.0), labelled=400, unlabelled=0).verdicts.frame
    perfect = frame[frame["model"] == "a"]
    assert (perfect["verdict"] == perfect["label"]).all()
    useless = frame[frame["model"] == "b"]
    assert 0 < (useless["verdict"] == useless["label"]).mean() < 1


def test_raw_verdicts_put_the_wrong_model_first_in_the_demo() -> None:
    demo = demo_verdicts()
    rate = demo.verdicts.frame.groupby("model")["verdict"].mean()
    true = {model: demo.truth["accuracy", model] for model in rate.index}
    assert rate.idxmax() == "heron-mini"
    assert sorted(true, key=true.__getitem__).index("heron-mini") == 1


def test_calibrating_on_another_model_does_not_mend_the_demo() -> None:
    demo = demo_verdicts()
    rate = demo.verdicts.frame.groupby("model")["verdict"].mean()["heron-mini"]
    for other in ("heron-large", "lynx-2", "otter-8b"):
        q0, j = demo.truth["specificity", other], demo.truth["youden", other]
        assert (rate + q0 - 1) / j > demo.truth["accuracy", "heron-mini"] + 0.2


def test_mmlu_pro_is_complete_and_within_range() -> None:
    table = mmlu_pro()
    assert len(table) == 4 * 2 * 3 * 5
    accuracy = table[table["estimand"] == "accuracy"]
    assert accuracy[["point", "truth"]].apply(lambda column: column.between(0, 1).all()).all()
    assert (accuracy["point"] == accuracy["printed"]).all()


def test_mmlu_pro_calibrates_shared_rogan_gladen_on_qwen() -> None:
    table = mmlu_pro().query("estimand == 'accuracy' and unit == 'Qwen 2.5 7B'")
    wide = table.pivot_table(index=["subject", "judge"], columns="method", values="point")
    assert (wide["rogan-gladen[shared]"] == wide["rogan-gladen[specific]"]).all()


def test_mmlu_pro_differences_are_the_printed_ones_up_to_rounding_or_carry_a_note() -> None:
    rows = mmlu_pro().query("estimand == 'difference'")
    off = (rows["point"].abs() - rows["printed"]).abs() > 0.0015 + 1e-9  # three values of three decimals
    assert (off == (rows["note"] != "")).all()
    # A median of differences is not the difference of medians, and shows where 1/J makes the bootstrap skew.
    assert off.sum() == 6
    assert rows[off]["method"].str.startswith("rogan-gladen").all()


def test_mmlu_pro_shows_the_sign_reversal_of_the_paper() -> None:
    rows = mmlu_pro().query("estimand == 'difference' and subject == 'Biology'")
    wrong = rows["method"].isin(["naive", "rogan-gladen[shared]"])
    assert (rows[wrong]["point"] < 0).all()
    assert (rows["truth"] > 0).all()
    assert (rows[rows["method"].str.startswith("ppi")]["point"] > 0).all()


def test_mmlu_pro_loses_no_more_questions_than_it_had() -> None:
    questions = mmlu_pro_questions()
    assert (questions["usable"] <= questions["in_benchmark"]).all()
    assert questions["subject"].tolist() == list(mmlu_pro()["subject"].unique())


def test_mmlu_pro_is_the_paper_s_table(shared_data: Path) -> None:
    text = (shared_data.parent / "seeds" / "bias_and_uncertainty.txt").read_text()
    table = text[text.index("Table 7 gives") :].splitlines()
    last = max(n for n, line in enumerate(table) if line.startswith("| Subject | Judge | Model |"))
    numbers = [[cell for cell in line.split("|") if cell.strip()[:2] == "0."] for line in table[last + 2 :]]
    paper = np.array([[float(cell) for cell in row] for row in numbers if row])
    path = Path(__file__).parents[2] / "bayesjudge" / "datasets" / "mmlu_pro.csv"
    ours = pd.read_csv(path).drop(columns=["subject", "judge", "model"]).to_numpy()
    np.testing.assert_array_equal(ours, paper)
