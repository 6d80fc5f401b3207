"""The accuracy question with formulas, groups that pool, and a stated mix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesjudge as bj
from bayesjudge.datasets import simulate_verdicts
from bayesjudge.errors import UsageError

CHEAP: dict[str, Any] = {
    "engine": "hmc",
    "chains": 2,
    "draws": 200,
    "tune": 200,
    "bootstrap": 0,
    "baselines": ["naive"],
}


def log() -> pd.DataFrame:
    frame = simulate_verdicts(seed=5, labelled=60, unlabelled=60).verdicts.frame
    topics = np.random.default_rng(2).choice(["law", "art"], frame["item"].nunique())
    named = dict(zip(frame["item"].unique(), topics, strict=True))
    return frame.assign(topic=frame["item"].map(named))


def test_groups_pool_and_a_mix_can_be_stated() -> None:
    answer = bj.accuracy(log(), group="topic", shares={"topic": "law:1,art:0"}, **CHEAP)
    bayes = answer.estimates.where(estimand="accuracy").frame
    bayes = bayes[bayes["method"].str.startswith("bayes:")].set_index(["unit", "group"])
    assert "(1|topic)" in bayes["method"].iloc[0]
    assert set(bayes.loc["a"].index) == {"", "law", "art"}
    assert abs(bayes.loc[("a", ""), "point"] - bayes.loc[("a", "law"), "point"]) < 1e-9
    assert answer.settings["shares"] == {"topic": {"law": 1.0, "art": 0.0}}


def test_an_effect_of_a_covariate_is_a_row_of_the_diagnostics() -> None:
    frame = log()
    frame["length"] = np.random.default_rng(1).choice([1.0, 2.0, 3.0], len(frame))
    frame.loc[frame.index[:3], "length"] = np.nan
    answer = bj.accuracy(frame, formula="sensitivity ~ 1 + length + (1|system)", **CHEAP)
    rows = answer.diagnostics.where(estimand="effect").frame
    assert rows["unit"].tolist() == ["sensitivity, +1 sd of length"]
    assert any("length, judge judge: 3 answers have no value" in text for text in answer.warnings)
    assert "effect" in answer.to_json()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"formula": "sensitivity ~ 1 + lenght"}, "no column 'lenght'"),
        ({"formula": "sensitivity ~ 1 + open(x)"}, "not a column"),
        ({"shares": {"topic": "law:1"}}, "add group="),
        ({"shares": {"topic": "law"}, "group": "topic"}, "write levels with their shares"),
        ({"shares": {"topic": "law:.5,art:.6"}, "group": "topic"}, "sum to 1.1"),
        ({"formula": "accuracy ~ 1", "labels": "chosen-by-verdict"}, "leave one out"),
    ],
)
def test_what_cannot_be_used_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        bj.accuracy(log(), **CHEAP, **options)
