"""Intraclass correlations of two or three responses, whose mean squares cancel."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesjudge as bj
from bayesjudge.baselines.reliability.icc import FORMS, from_sums, icc, jackknifed
from bayesjudge.baselines.reliability.scores import score_baselines
from bayesjudge.counts.scores import count_scores


def sums_of(scores: Any) -> tuple[Any, Any, Any]:
    """Means, sums of squares within responses, and trials' means."""
    table = np.asarray(scores, dtype=float)
    mean = table.mean(axis=1)
    return mean, ((table - mean[:, None]) ** 2).sum(axis=1), table.mean(axis=0)


@pytest.mark.parametrize(("n", "k", "levels"), [(2, 2, 3), (3, 2, 2), (2, 3, 2), (4, 2, 2)])
def test_no_whole_scores_have_an_impossible_correlation(n: int, k: int, levels: int) -> None:
    """Mean squares of whole scores cancel often: a correlation is then undefined, and no error."""
    for cells in itertools.product(range(levels), repeat=n * k):
        sums = sums_of(np.reshape(cells, (n, k)))
        for form in FORMS:
            point, lower, upper = icc(from_sums(*sums), form)
            assert not point > 1, (cells, form)
            assert not max(lower - point, point - upper) > 0, (cells, form)
            assert np.isnan(lower) or lower >= -1 / (k - 1) - 1e-9 or form.endswith("k)"), (cells, form)
        jackknifed(*sums, item=range(n))


def test_responses_that_do_not_differ_have_no_correlation_of_their_means() -> None:
    crossed = from_sums(*sums_of([[4, 5], [5, 4]]))
    assert icc(crossed, "ICC(1,1)")[0] == -1
    assert np.isnan([icc(crossed, "ICC(1,k)")[0], icc(crossed)[0]]).all()
    assert np.isnan(icc(from_sums(*sums_of([[4, 5], [4, 5]])), "ICC(3,1)")[0])


def test_two_responses_whose_scores_cross_have_a_reason_and_no_interval() -> None:
    frame = pd.DataFrame({"item": [*"qqrr"], "response": "x", "judge": "j", "trial": [*"1212"], "score": [4, 5, 5, 4]})
    found = score_baselines(count_scores(bj.Scores.from_frame(frame)), bootstrap=0).estimates
    rows = found.where(method="anova").frame.set_index("estimand")
    said = "undefined: scores of one response differ more than responses do"
    assert rows.loc[["icc", "icc(1,k)"], "note"].tolist() == [said, said]
    assert rows[["lower", "upper"]].loc[["icc(1,1)", "icc(1,k)"]].to_numpy().tolist() == [[-1, 1], [-np.inf, 1]]
    assert rows["note"]["icc(1,1)"] == ""
