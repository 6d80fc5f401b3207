"""Standard deviation of one response's scores where some items' scores are noisier than others'."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

import bayesjudge as bj
from bayesjudge.baselines.reliability.scores import score_baselines
from bayesjudge.counts.scores import count_scores


def spreads(scores: object, *, responses: int = 1) -> pd.DataFrame:
    """Rows of ``score_sd`` by method; consecutive responses share an item."""
    table = np.asarray(scores, dtype=float)
    cells = [(r // responses, r, "j", k, value) for r, row in enumerate(table) for k, value in enumerate(row)]
    frame = pd.DataFrame(cells, columns=["item", "response", "judge", "trial", "score"])
    found = score_baselines(count_scores(bj.Scores.from_frame(frame)), bootstrap=0).estimates
    return found.where(estimand="score_sd").frame.set_index("method")


def test_the_jackknife_of_the_spread_leaves_one_item_out_at_a_time() -> None:
    scores = np.random.default_rng(2).normal(size=(12, 3))
    row = spreads(scores, responses=2)[["point", "lower", "upper"]].to_numpy()[1].tolist()
    by_item = scores.reshape(6, 2, 3).var(axis=2, ddof=1).mean(axis=1)
    each = np.log([np.delete(by_item, item).mean() for item in range(6)])
    error = np.sqrt(5 / 6 * ((each - each.mean()) ** 2).sum())
    expected = np.sqrt(by_item.mean() * np.exp(np.array([0, -1, 1]) * t.ppf(0.975, 5) * error))
    assert row == pytest.approx(expected.tolist())


def test_the_jackknife_of_the_spread_knows_that_few_items_have_most_of_it() -> None:
    """χ² limits are as narrow as of equal noise; a tenth of the items is 9 times as noisy here."""
    rng = np.random.default_rng(3)
    noise = np.where(np.arange(80) % 10 == 0, 3.0, 1 / 3)[:, None] * rng.normal(size=(80, 4))
    unequal, equal = spreads(noise), spreads(rng.normal(size=(80, 4)))
    width = [np.log(rows["upper"] / rows["lower"]) for rows in (unequal, equal)]
    assert width[0]["jackknife"] > 2.5 * width[0]["anova"]
    # Variances on 3 degrees of freedom have a kurtosis of 7: the error of the error is √(6/80)/2 of it, here twice.
    assert width[1]["jackknife"] == pytest.approx(width[1]["anova"], rel=np.sqrt(6 / 80))


def test_a_spread_that_one_item_has_alone_has_no_limits_and_none_has_no_jackknife() -> None:
    one = spreads([[1, 1], [2, 2], [3, 4]]).loc["jackknife"]
    assert (one["lower"], one["upper"]) == (0, np.inf)
    assert spreads([[1, 1], [2, 2], [3, 3]]).index.tolist() == ["anova"]
