"""Bounds of shares whose cases come in groups: by hand, by their properties, and in repeated samples."""

from __future__ import annotations

import error_budget
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bayesjudge.estimates import Estimates
from bayesjudge.simulation import clopper_pearson, clustered_bounds, clustered_tails, coverage_table

#: Hits of each of four data sets with four units.
HITS = (4, 4, 3, 1)


def cases(hits: tuple[int, ...], size: int) -> tuple[list[bool], list[int]]:
    found = [k < hit for hit in hits for k in range(size)]
    return found, [group for group in range(len(hits)) for _ in range(size)]


def test_one_case_a_group_is_exact() -> None:
    hits = [True] * 7 + [False] * 3
    assert clustered_bounds(hits, range(10)) == clopper_pearson(7, 10)


def test_by_hand() -> None:
    # Share 3/4, misfits 1, 1, 0, -2: variance 4/3 · 6/16², so that 16 cases are worth 6, times t²'s ratio.
    ratio = (stats.t.ppf(0.975, 15) / stats.t.ppf(0.975, 3)) ** 2
    hits, misses = (share * 0.75 * 0.25 / (4 / 3 * 6 / 256) * ratio for share in (0.75, 0.25))
    want = stats.beta.ppf(0.025, hits, misses + 1), stats.beta.ppf(0.975, hits + 1, misses)
    np.testing.assert_allclose(clustered_bounds(*cases(HITS, 4)), want, rtol=1e-10)


def test_groups_that_are_all_alike_count_once() -> None:
    assert clustered_bounds([True] * 12, [0, 1, 2] * 4) == clopper_pearson(3, 3)
    assert clustered_bounds([True, False] * 3, [0, 0, 1, 1, 2, 2]) == clopper_pearson(1.5, 3)
    assert clustered_bounds([True, False], [0, 0]) == clopper_pearson(0.5, 1)
    assert clustered_bounds([], []) == (0.0, 1.0)


def test_cases_said_many_times_say_no_more() -> None:
    found, groups = cases(HITS * 5, 4)
    # Only the degrees of freedom of the cases know: t of 79, then of 7,999, squared, is 3 % less. The bounds
    # are .31 apart, which makes 1.5 % of .31 wider.
    np.testing.assert_allclose(clustered_bounds(found * 100, groups * 100), clustered_bounds(found, groups), atol=0.005)
    low, high = clopper_pearson(sum(found) * 100, len(found) * 100)
    assert high - low < 0.03


@pytest.mark.parametrize("hits", [0, 1, 90, 95, 100])
def test_tails_of_independent_cases_are_the_binomials(hits: int) -> None:
    below, above = clustered_tails(np.arange(100) < hits, range(100), 0.95)
    assert below == pytest.approx(stats.binom.cdf(hits, 100, 0.95), rel=1e-9)
    assert above == pytest.approx(stats.binom.sf(hits - 1, 100, 0.95), rel=1e-9)


def test_tails_of_no_cases_say_nothing() -> None:
    assert clustered_tails([], [], 0.95) == (1.0, 1.0)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.floats(0.05, 0.95), st.floats(0.5, 0.999))
def test_a_share_outside_the_bounds_is_one_that_a_test_rejects(hits: list[int], share: float, prob: float) -> None:
    found, groups = cases(tuple(hits), 3)
    low, high = clustered_bounds(found, groups, prob=prob)
    below, above = clustered_tails(found, groups, share, prob=prob)
    # Clopper and Pearson's bounds are where the tails are what is left on each side.
    if abs(share - low) > 1e-9 and abs(share - high) > 1e-9:
        assert (min(below, above) < (1 - prob) / 2) == (not low <= share <= high)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.floats(0.5, 0.999))
def test_bounds_hold_the_share_and_are_no_narrower_than_exact_ones(hits: list[int], prob: float) -> None:
    found, groups = cases(tuple(hits), 3)
    low, high = clustered_bounds(found, groups, prob=prob)
    least, most = clopper_pearson(sum(found), len(found), prob=prob)
    assert 0 <= low <= least + 1e-12
    assert most - 1e-12 <= high <= 1


@given(st.permutations(range(16)))
def test_order_does_not_matter(order: list[int]) -> None:
    hits, groups = (np.array(part)[list(order)] for part in cases(HITS, 4))
    np.testing.assert_allclose(clustered_bounds(hits, groups), clustered_bounds(*cases(HITS, 4)), rtol=1e-12)


def test_bounds_hold_where_those_of_independent_cases_do_not() -> None:
    # Data sets whose fifteen units nearly hold or fail together: Beta(.9, .1) shares, so .9 altogether.
    rng = np.random.default_rng(0)
    held = {"clustered": 0, "independent": 0}
    for _ in range(400):
        hits = rng.binomial(15, rng.beta(0.9, 0.1, size=100))
        found, groups = cases(tuple(map(int, hits)), 15)
        bounds = {"clustered": clustered_bounds(found, groups), "independent": clopper_pearson(sum(found), len(found))}
        for name, (low, high) in bounds.items():
            held[name] += low <= 0.9 <= high
    # Variance is eight times that of independent cases, whose bounds hold half of the time.
    least = 400 * error_budget.binomial_bounds(400, 0.95)[0]
    assert held["independent"] < least <= held["clustered"]


@pytest.mark.parametrize("clustered", [False, True])
def test_the_table_counts_data_sets_when_asked(*, clustered: bool) -> None:
    base = {"estimand": "accuracy", "method": "x", "prob": 0.95, "point": 0.0, "lower": 0.0, "upper": 1.0}
    sets = [
        Estimates.from_rows([{**base, "unit": f"m{k}", "truth": 0.5 if k < hit else 2.0} for k in range(4)])
        for hit in HITS
    ]
    row = coverage_table(sets, clustered=clustered).iloc[0]
    want = clustered_bounds(*cases(HITS, 4)) if clustered else clopper_pearson(12, 16)
    assert (row["coverage_lower"], row["coverage_upper"]) == want
    assert row["n"] == 16
