"""Judge quality: sensitivity, specificity, J and ΔJ."""

from __future__ import annotations

import numpy as np
import pytest

from bayesjudge.baselines import judge_quality
from bayesjudge.baselines.common.intervals import normal_quantile, wilson
from bayesjudge.datasets import simulate_counts


def rows_by_key(estimates):
    return {(r["estimand"], r["unit"], r["method"], r["group"]): r for r in estimates.frame.to_dict("records")}


def table(item_counts, cells):
    """One model per dict of cells (y, v): count; every item labelled for every model."""
    columns = [np.repeat(np.array(list(one)), list(one.values()), axis=0) for one in cells]
    label, v = (np.column_stack([column[:, part] for column in columns]) for part in (0, 1))
    return item_counts(label, v)


CELLS = {(1, 1): 45, (1, 0): 5, (0, 0): 30, (0, 1): 20}


def test_rates_are_the_cells_with_wilson_limits(item_counts):
    rows = rows_by_key(judge_quality(table(item_counts, [CELLS]), "judge", bootstrap=0))
    low, high = wilson(np.array(0.9), np.array(50.0), normal_quantile(0.95))
    found = rows["sensitivity", "m0", "wilson", ""]
    assert (found["point"], found["lower"], found["upper"], found["n"]) == pytest.approx(
        (0.9, float(low), float(high), 50)
    )
    assert rows["specificity", "m0", "wilson", ""]["point"] == pytest.approx(0.6)
    assert rows["youden", "m0", "wilson", ""]["point"] == pytest.approx(0.5)


def test_youden_interval_is_newcombes(item_counts):
    """J = 45/50 − 20/50 is a difference of independent proportions; statsmodels has the same interval."""
    from statsmodels.stats.proportion import confint_proportions_2indep

    wanted = confint_proportions_2indep(45, 50, 20, 50, compare="diff", method="newcomb", alpha=0.05)
    rows = rows_by_key(judge_quality(table(item_counts, [CELLS]), "judge", bootstrap=0))
    found = rows["youden", "m0", "wilson", ""]
    assert (found["lower"], found["upper"]) == pytest.approx(wanted, abs=1e-10)


def test_delta_youden_wald_is_the_paired_delta_method(item_counts):
    rng = np.random.default_rng(0)
    label = (rng.random((80, 2)) < 0.6).astype(int)
    v = np.where(rng.random((80, 1)) < 0.8, label, 1 - label)
    row = rows_by_key(judge_quality(item_counts(label, v), "judge", bootstrap=0))["delta_youden", "m0 − m1", "wald", ""]
    pieces = np.zeros((80, 2))
    for y in (0, 1):
        agree = np.where(y, v, 1 - v)
        here = label == y
        pieces += here * (agree - (here * agree).sum(0) / here.sum(0)) / here.sum(0)
    variance = ((pieces[:, 0] - pieces[:, 1]) ** 2).sum()
    assert row["upper"] - row["lower"] == pytest.approx(2 * normal_quantile(0.95) * np.sqrt(variance))
    assert row["n"] == 80


def test_swapping_models_negates_delta_youden(item_counts):
    other = {(1, 1): 35, (1, 0): 15, (0, 0): 40, (0, 1): 10}
    one, two = (
        rows_by_key(judge_quality(table(item_counts, cells), "judge", bootstrap=300))
        for cells in ([CELLS, other], [other, CELLS])
    )
    for method in ("wald", "wilson", "bootstrap"):
        a, b = (rows["delta_youden", "m0 − m1", method, ""] for rows in (one, two))
        assert [a["point"], a["lower"], a["upper"]] == pytest.approx([-b["point"], -b["upper"], -b["lower"]])


def test_a_missing_class_is_named(item_counts):
    rows = rows_by_key(judge_quality(table(item_counts, [{(1, 1): 9, (1, 0): 1}]), "judge", bootstrap=100))
    for method in ("wilson", "bootstrap"):
        assert rows["sensitivity", "m0", method, ""]["point"] == pytest.approx(0.9, abs=0.11)
        for estimand in ("specificity", "youden"):
            row = rows[estimand, "m0", method, ""]
            assert np.isnan(row["point"])
            assert row["note"] == "no labelled item with label 0"
            assert (row["lower"], row["upper"]) == ((0, 1) if estimand == "specificity" else (-1, 1))


def test_repeated_runs_use_the_run_mean(item_counts):
    label = np.array([[1], [1], [0], [0]])
    rows = rows_by_key(judge_quality(item_counts(label, [[3], [1], [0], [1]], runs=4), "judge", bootstrap=0))
    assert rows["sensitivity", "m0", "wilson", ""]["point"] == pytest.approx(0.5)
    assert rows["specificity", "m0", "wilson", ""]["point"] == pytest.approx(0.875)
    assert rows["sensitivity", "m0", "wilson", ""]["n"] == 2


@pytest.mark.slow
@pytest.mark.parametrize("method", ["wilson", "bootstrap", "wald"])
def test_delta_youden_covers(method):
    """400 data sets; .93 to .98 is nominal ± 2 % (Wald and percentile run low at 60 labels, MOVER high)."""
    sets = simulate_counts(datasets=400, seed=7, labelled=120, unlabelled=10, youden=[0.6, 0.4])
    inside = 0
    for counts in sets:
        rows = rows_by_key(judge_quality(counts, "judge", bootstrap=400 if method == "bootstrap" else 0))
        row = rows["delta_youden", "a − b", method, ""]
        inside += row["lower"] <= 0.2 <= row["upper"]
    assert 0.92 <= inside / 400 <= 0.985
