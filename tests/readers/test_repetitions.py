"""Rows that look like repetitions by one judge and are not: several criteria, models that answered."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from commands import run

from bayesjudge.errors import UsageError
from bayesjudge.readers import read_battles, read_repeats, read_verdicts
from bayesjudge.readers.asking import refusal
from bayesjudge.readers.inspection import inspect_source

#: One judge's scores of three documents by two criteria, each twice.
CRITERIA = pd.DataFrame(
    {
        "document": [*"qrs"] * 4,
        "criterion": [*["clarity"] * 3, *["informing"] * 3] * 2,
        "trial": [*[0] * 6, *[1] * 6],
        "score": [3, 5, 7, 9, 11, 13, 4, 5, 8, 9, 12, 13],
    }
)
NAMED = {"item": "document"}
OWN = "--set 'document={criterion} {document}'"


@pytest.mark.parametrize("rows", [CRITERIA, CRITERIA.drop(columns="trial"), CRITERIA.iloc[:-1]])
def test_criteria_are_no_repetitions_however_their_rows_are_numbered(rows: pd.DataFrame) -> None:
    with pytest.raises(UsageError, match="'criterion' has 2 criteria, which are no repetitions by one judge") as raised:
        read_repeats(rows, columns=NAMED)
    ways = ["--where criterion=clarity", "--where criterion=informing", OWN]
    assert list(raised.value.options) == ways
    _, scores = read_repeats(rows, columns=NAMED, where="criterion=clarity")
    assert scores is not None
    assert scores.frame.groupby("item").size().eq(2).all()
    _, scores = read_repeats(rows, columns=NAMED, put={"document": "{criterion} {document}"})
    assert scores is not None
    assert scores.frame["item"].nunique() == 6


def test_criteria_of_verdicts_and_of_comparisons_are_a_choice_too() -> None:
    rows = CRITERIA.drop(columns="score").rename(columns={"document": "item", "trial": "run"})
    with pytest.raises(UsageError, match=r"Choose one: --where criterion=clarity;.*\{criterion\} \{item\}"):
        read_verdicts(rows.assign(model="m", verdict=[0, 1] * 6))
    with pytest.raises(UsageError, match="Choose one: --where criterion=clarity"):
        read_battles(rows.assign(model_a="x", model_b="y", verdict=["a", "b"] * 6))
    # Criteria of items of their own, and what was chosen by one, stand as they are.
    assert len(read_verdicts(rows[:6].assign(model="m", verdict=1, item=range(6)))) == 6
    assert len(read_battles(rows.assign(model_a="x", model_b="y", verdict="a"), where="criterion=informing")) == 6


def test_criteria_that_judge_nothing_twice_have_no_reliability(tmp_path: Path) -> None:
    path = tmp_path / "once.csv"
    CRITERIA[:6].drop(columns="trial").to_csv(path, index=False)
    found = inspect_source(str(path), columns=NAMED).questions["reliability"]
    assert found.commands == []
    assert found.lacks == ["a second judgement of any item by one judge and criterion"]
    said = run("reliability", path, "--column", "item=document").stderr
    # It is a log, of which the command said that it was a table of results.
    assert said.endswith("by each alone (--where criterion=clarity) nothing is judged twice\n")


def test_a_choice_of_several_steps_is_offered_although_its_options_stand_among_what_was_typed(tmp_path: Path) -> None:
    path = tmp_path / "methods.csv"
    rows = CRITERIA.drop(columns="trial").assign(method=[*["short"] * 6, *["long"] * 6], model="m")
    rows.to_csv(path, index=False)
    with pytest.raises(UsageError) as raised:
        read_verdicts(path, columns=NAMED, threshold="6")
    said = refusal(raised.value, "accuracy", str(path), columns=NAMED, gold=(), choices={"threshold": "6"})
    command = f"bayesjudge accuracy {path} --column item=document --where criterion=clarity --threshold 6"
    assert said.instead[:2] == (f"{command} --where method=long", f"{command} --where method=short")
