"""Two runs in one table: names, pairing, what is in one run alone."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from bayesjudge.datasets import BattleDesign, simulate_battles
from bayesjudge.errors import UsageError
from bayesjudge.tables import Verdicts
from bayesjudge.tables.two_runs import stack_battles, stack_verdicts

RUNS = ("before", "after")


def verdicts(items: Any = range(4), **columns: Any) -> Verdicts:
    frame = pd.DataFrame({"item": [str(item) for item in items], "model": "m", "verdict": 1})
    return Verdicts.from_frame(frame.assign(**columns))


def test_models_are_named_after_their_run_and_items_keep_their_names() -> None:
    both = stack_verdicts(verdicts(), verdicts(range(1, 6)), runs=("main", "branch"))
    assert both.units == {"m": ("m @ main", "m @ branch")}
    assert both.table.frame.groupby("model")["item"].agg("".join).to_dict() == {
        "m @ branch": "12345",
        "m @ main": "0123",
    }
    assert (
        both.paired
        == "3 items are in both runs and paired; 1 in main alone and 2 in branch alone, which count unpaired"
    )
    assert both.notes == (both.paired,)


def test_all_items_in_both_runs_are_no_warning_and_none_is_one() -> None:
    assert stack_verdicts(verdicts(), verdicts(), runs=RUNS).notes == ()
    (note,) = stack_verdicts(verdicts(), verdicts(range(4, 8)), runs=RUNS).notes
    assert note == "no item is in both runs, so nothing is paired; 4 in before alone and 4 in after alone"


def test_the_only_model_of_each_run_is_compared_whatever_it_is_called() -> None:
    both = stack_verdicts(verdicts(model="v1"), verdicts(model="v2"), runs=RUNS)
    assert both.units == {"v1, then v2": ("v1 @ before", "v2 @ after")}


def test_models_of_one_run_stay_and_are_said() -> None:
    two = Verdicts.from_frame(pd.concat([verdicts().frame, verdicts(model="new").frame]))
    both = stack_verdicts(verdicts(), two, runs=RUNS)
    assert list(both.units) == ["m"]
    assert both.notes == ("models in after alone have nothing to be compared with: 'new'",)
    assert "new @ after" in set(both.table.frame["model"])


def test_a_changed_judge_is_one_judge_in_the_table() -> None:
    both = stack_verdicts(verdicts(judge="x"), verdicts(judge="y"), runs=RUNS)
    assert both.judges == ("x", "y")
    assert set(both.table.frame["judge"]) == {"x, then y"}


def test_a_judge_may_have_changed_under_one_name() -> None:
    both = stack_verdicts(verdicts(judge="x"), verdicts(judge="x"), runs=RUNS, label_judge=True)
    assert both.judges == ("x @ before", "x @ after")
    assert set(both.table.frame["judge"]) == {"x"}


def test_judges_of_one_run_are_left_out_and_said() -> None:
    panel = Verdicts.from_frame(pd.concat([verdicts(judge=judge).frame for judge in "xyz"]))
    both = stack_verdicts(panel, verdicts(judge="y"), runs=RUNS)
    assert set(both.table.frame["judge"]) == {"y"}
    assert both.notes == ("judges in before alone are left out: 'x', 'z'",)
    assert both.judges == ()


def test_rows_that_were_dropped_keep_their_run() -> None:
    both = stack_verdicts(verdicts(verdict=[1, 0, None, 1]), verdicts(), runs=RUNS)
    assert both.table.dropped == {"before: missing verdict": 1}


@pytest.mark.parametrize(
    ("one", "two", "said"),
    [
        (
            verdicts(model=list("abab")),
            verdicts(model=list("cdcd")),
            "no model in both runs: before has 'a', 'b'; after has",
        ),
        (
            verdicts(judge=list("xyxy")),
            verdicts(judge="z"),
            "no judge in both runs: before has 'x', 'y'; after has 'z'",
        ),
        (verdicts(label=1, label_probability=0.5), verdicts(label=1), "label_probability"),
    ],
)
def test_runs_without_anything_in_common_are_refused(one: Verdicts, two: Verdicts, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        stack_verdicts(one, two, runs=RUNS)


def test_anchors_keep_their_name_and_their_own_battles_count_once() -> None:
    run = simulate_battles(seed=1, design=BattleDesign(strengths=(0.8, 0.0, -0.8), battles=90, judges=1)).battles
    both = stack_battles(run, run, runs=RUNS, anchors=["m1", "m2"])
    frame, of_anchors = both.table.frame, run.frame[["model_a", "model_b"]].isin(["m1", "m2"]).all(axis=1).sum()
    assert both.units == {"m0": ("m0 @ before", "m0 @ after")}
    assert set(frame["model_a"]) | set(frame["model_b"]) == {"m0 @ before", "m0 @ after", "m1", "m2"}
    assert len(frame) == 2 * len(run) - of_anchors
    assert both.table.dropped == {"battle of anchors, the same in both runs": of_anchors}
    with pytest.raises(UsageError, match="no model 'm9' in both runs; in both are 'm0', 'm1', 'm2'"):
        stack_battles(run, run, runs=RUNS, anchors=["m9"])
