"""Digits of intervals: over seeds a printed bound moves by at most one of the last digit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesjudge as bj
from bayesjudge.datasets import demo_verdicts
from bayesjudge.estimates import Estimates
from bayesjudge.report.page import Interval, Page, Section, Table
from bayesjudge.report.tables import estimates_table
from bayesjudge.report.terminal import interval_cell
from bayesjudge.report.writing import render_page
from bayesjudge.text import rounded

ROW: dict[str, Any] = {"point": 0.7864, "lower": 0.7312, "upper": 0.8379, "prob": 0.95, "ess": 2500.0}
SEEDS = range(10)


def moved(rows: Sequence[Mapping[Any, Any]]) -> int:
    """By how many of the last printed digit the bounds of one row in several runs differ."""
    shown = [rounded(row) for row in rows]
    decimals = min(int(row.spec[1:-1]) for row in shown)
    ends = np.round([[row["lower"], row["upper"]] for row in rows], decimals)
    apart = float(np.ptp(ends, axis=0).max())
    return round(apart * 10.0**decimals)


def test_bounds_from_independent_draws_keep_their_digits() -> None:
    generator, found = np.random.default_rng(1), []
    for width in np.geomspace(0.01, 0.25, 200):
        draws = generator.normal(0.5, width / 4, size=(len(SEEDS), 4000))
        ends = np.quantile(draws, [0.5, 0.025, 0.975], axis=1).T
        found.append(moved([dict(zip(ROW, (*end, 0.95, 4000.0), strict=True)) for end in ends.tolist()]))
    # Ten errors span 3.1 of their standard error on average, and a digit is worth two or more of it.
    assert np.mean(np.array(found) > 1) < 0.1
    assert max(found) == 2


@pytest.mark.parametrize("ess", [50.0, 400.0, 4e3, 4e5])
@pytest.mark.parametrize("width", [0.002, 0.1, 0.9])
def test_more_draws_never_show_fewer_digits_and_rounding_stays_small(ess: float, width: float) -> None:
    row = {"point": 0.0, "lower": -width / 3, "upper": 2 * width / 3, "prob": 0.95, "ess": ess}
    fewer, more = rounded(row), rounded({**row, "ess": 4 * ess})
    assert fewer.spec <= more.spec
    assert abs(fewer.lower - row["lower"]) <= max(width / 10, 0.0005)


def test_what_was_not_drawn_is_shown_as_before() -> None:
    for undrawn in ({"ess": math.nan}, {"prob": math.nan}, {"upper": math.inf}, {"lower": math.nan}, {"ess": 0.0}):
        assert rounded({**ROW, **undrawn}).spec == ".3f"
    assert rounded({name: ROW[name] for name in ("point", "lower", "upper")}).lower == ROW["lower"]


def test_terminal_and_page_show_the_same_digits() -> None:
    rows = [{**ROW, "estimand": "accuracy", "unit": "m", "method": "bayes:x"}]
    rows += [{**ROW, "estimand": "accuracy", "unit": "m", "method": "eif", "ess": math.nan}]
    every = estimates_table(Estimates.from_rows(rows), caption="c")
    cells = Table(caption="c", frame=pd.DataFrame({"m": [Interval(**ROW)]}))
    page = render_page(Page(title="t", question="q", sections=[Section(title="s", tables=[every, cells])]))
    assert interval_cell(ROW).replace("\\", "") == "0.79 [0.73, 0.84]"
    assert "0.79 [0.73, 0.84]" in page
    assert ">0.73<" in page
    assert ">0.731<" in page
    # Rows are sorted by all digits.
    assert 'data-value="0.7312">0.73<' in page


@pytest.mark.slow
def test_over_ten_seeds_no_printed_digit_of_an_accuracy_or_difference_moves_by_more_than_one() -> None:
    verdicts = demo_verdicts().verdicts
    runs = [bj.accuracy(verdicts, seed=seed, progress=False).estimates.frame for seed in SEEDS]
    drawn = pd.concat(run[run["method"].str.startswith("bayes:")] for run in runs)
    groups = [rows.to_dict("records") for _, rows in drawn.groupby(["estimand", "unit", "judge"])]
    assert len(groups) > 9
    assert max(map(moved, groups)) <= 1
