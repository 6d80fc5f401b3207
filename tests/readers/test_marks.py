"""Several people's labels in columns, grades of a second file by its own column, and tables of scores side by side."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bayesjudge.counts.battles.counts import count_battles
from bayesjudge.errors import InputError, UsageError
from bayesjudge.readers import read_battles, read_pairs, read_repeats, read_verdicts
from bayesjudge.readers.inspection import inspect_source

#: Two models' answers to two stories, scored by two judges and graded by three people, one cell empty.
SCORED = pd.DataFrame(
    {
        "story": [1, 2, 1, 2],
        "model": ["x", "x", "y", "y"],
        "gpt-4": [4.5, 2, 3, 1],
        "claude": [5, 2.5, 1, 2],
        "Human 1": [5, 1, 4, 2],
        "Human 2": [4, 4, 1, 2],
        "Human 3": [3, 2, 4, None],
    }
)
NAMED = SCORED.rename(columns={"story": "item", "gpt-4": "score"}).drop(columns="claude")
SAID = {"threshold": "3", "label": "Human *=3,4,5"}


def _labels(frame: pd.DataFrame) -> list[int | None]:
    return [None if pd.isna(label) else int(label) for label in frame["label"]]


@pytest.mark.parametrize("label", ["Human *=3,4,5", "Human 1, Human 2,Human 3=3,4,5", "Human *"])
def test_a_column_a_person_is_a_table_of_marks(label: str) -> None:
    table = read_verdicts(NAMED, threshold="3", label=label)
    assert table.frame["verdict"].tolist() == [1, 0, 1, 0]
    # Majorities by hand: 111, 010, 101 and 00 with an empty cell.
    assert _labels(table.frame) == [1, 0, 1, 0]
    assert table.annotations is not None
    assert len(table.annotations) == 11
    assert set(table.annotations["annotator"]) == {"Human 1", "Human 2", "Human 3"}
    assert not {"Human 1", "Human 2", "Human 3"} & set(table.frame.columns)
    assert any("labels of 3 people, who differ on 50% of the answers" in text for text in table.warnings)


def test_ties_leave_no_label_and_many_are_a_warning() -> None:
    table = read_verdicts(NAMED, threshold="3", label="Human 1,Human 2=3,4,5")
    assert _labels(table.frame) == [1, None, None, 0]
    assert any(
        "2 answers with a tie unlabelled: these are the answers that people find hard" in w for w in table.warnings
    )


def test_marks_come_once_where_judges_are_unfolded() -> None:
    table = read_verdicts(
        SCORED.rename(columns={"story": "item"}), threshold="3", label="Human *", wide="verdict:judge=gpt-4,claude"
    )
    assert len(table) == 8
    assert set(table.frame["judge"]) == {"gpt-4", "claude"}
    assert table.annotations is not None
    assert len(table.annotations) == 11


def test_a_second_files_columns_are_people_too(tmp_path: Path) -> None:
    people = [name for name in NAMED if name.startswith("Human")]
    NAMED[["item", "model", *people]].rename(columns={"item": "qid"}).to_csv(tmp_path / "marks.csv", index=False)
    table = read_verdicts(NAMED.drop(columns=people), labels=tmp_path / "marks.csv", **SAID)
    assert _labels(table.frame) == [1, 0, 1, 0]
    one = read_verdicts(NAMED.drop(columns=people), labels=tmp_path / "marks.csv", threshold="3", label="Human 2=4")
    assert _labels(one.frame) == [1, 1, 0, 0]
    assert one.annotations is None


@pytest.mark.parametrize(("name", "columns"), [("annotator_id", {}), ("reviewer", {"annotator": "reviewer"})])
def test_people_of_a_second_file_are_known_by_any_name_of_theirs(name: str, columns: dict[str, str]) -> None:
    log = pd.DataFrame({"item": [1, 2], "model": "m", "verdict": [1, 0]})
    marks = pd.DataFrame({"item": [1, 1, 1, 2], name: [*"abca"], "label": [1, 1, 0, 0]})
    table = read_verdicts(log, labels=marks, columns=columns)
    assert table.annotations is not None
    assert table.annotations["annotator"].tolist() == [*"abca"]
    assert _labels(table.frame) == [1, 0]
    with pytest.raises(InputError, match="name an annotator column: --column annotator=REVIEWER"):
        read_verdicts(log, labels=marks.rename(columns={name: "reader"}))


def test_labels_of_a_second_file_are_not_lost_beside_others() -> None:
    gold = NAMED[["item", "model"]].assign(label=[1, 1, 0, 0])
    table = read_verdicts(NAMED, labels=gold, threshold="3", label="Human *")
    # Those of the file are one person's more: 1111, two ties, and 000.
    assert _labels(table.frame) == [1, None, None, 0]
    assert table.annotations is not None
    assert table.annotations.groupby("annotator").size().to_dict() == {
        "Human 1": 4,
        "Human 2": 4,
        "Human 3": 3,
        "a person": 4,
    }
    log = NAMED[["item", "model"]].assign(judge="g", verdict=1)
    both = pd.concat([log, log.assign(judge="human", verdict=0)])
    found = read_verdicts(both, labels=gold)
    # With a second file, a judge of that name stays a judge, and labels are the file's.
    assert set(found.frame["judge"]) == {"g", "human"}
    assert _labels(found.frame[found.frame["judge"] == "g"]) == [1, 1, 0, 0]


def test_judges_that_are_numbered_persons_vote() -> None:
    """Arena votes that have lost their question_id: an Elo for each of 55 judges was the answer."""
    votes = pd.DataFrame({"model_a": [*"xyxy"], "model_b": [*"yxyx"], "winner": [*"abba"], "turn": 1})
    people = [f"arena_user_{k}" for k in (1, 2, 3, 1)]
    found = read_battles(votes.assign(judge=people))
    assert found.frame["human"].tolist() == [1, 0, 0, 1]
    assert (found.frame["voter"].tolist(), found.frame["verdict"].notna().any()) == (people, False)
    said = (
        "4 rows of 3 numbered persons such as 'arena_user_1' were read as people's votes; if these are judges: --column"
    )
    assert f"{said} judge=judge" in found.warnings
    # Who says that they are judges has judges; so has who names models, or one person alone.
    for columns, judges in (({"judge": "judge"}, people), ({}, ["expert_1"] * 4), ({}, ["gpt-4", "gpt-3", "o1", "o3"])):
        table = read_battles(votes.assign(judge=judges), columns=columns)
        assert (table.frame["judge"].tolist(), table.frame["human"].notna().any()) == (judges, False)
    # Next to a judge's verdicts, people's are votes on the same battles.
    both = pd.concat([votes.assign(rater=people), votes.assign(rater="gpt-4")]).assign(pair_id=[*range(4)] * 2)
    table = read_battles(both.rename(columns={"pair_id": "item"}))
    assert any("4 rows of 3 numbered persons" in text and text.endswith("judge=rater") for text in table.warnings)
    assert table.frame.groupby("item")[["human", "verdict"]].count().to_numpy().tolist() == [[1, 1]] * 4


def test_a_column_of_the_second_file_alone_is_its_label() -> None:
    """The log has no such column: it was asked for one."""
    log, grades = NAMED[["item", "model", "score"]], NAMED[["item", "model"]].assign(grade=[3, 1, 2, 1])
    table = read_verdicts(log, labels=grades, threshold="3", label="grade=2,3")
    assert _labels(table.frame) == [1, 0, 1, 0]


@pytest.mark.parametrize(
    ("label", "error", "said"),
    [
        ("Human 1,Human 4", UsageError, "--label: no column 'Human 4' in the table; it has"),
        ("Humna *", UsageError, r"no column 'Humna \*' to use as 'label'"),
        ("Human *=", InputError, r"grades 1, 2, 3, 4, 5 in the table.*--label 'Human 1,Human 2,Human 3=2,3,4,5'"),
    ],
)
def test_what_cannot_be_meant_is_refused(label: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        read_verdicts(NAMED.assign(score=[1, 0, 1, 0]), label=label)


GRADED = pd.DataFrame(
    {"item": range(12), "model": "m", "score": [1, 2, 3, 4] * 3, "human": [10 * k for k in range(12)]}
)


def test_a_judges_threshold_cuts_no_grades_on_another_scale() -> None:
    with pytest.raises(UsageError, match=r"scores, from 1 to 4; people's grades in 'human' go from 0 to 110") as caught:
        read_verdicts(GRADED, threshold=">=3")
    assert caught.value.options == ("--label 'human>=30'", "--label 'human>=60'", "--label 'human>=80'")
    # A reply that is no score hides the scale of the others from no one.
    with pytest.raises(UsageError, match="scores, from 1 to 4"):
        read_verdicts(GRADED.assign(score=[1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, "N/A"]), threshold=">=3")
    own = read_verdicts(GRADED, threshold=">=3", label="human>=50").frame
    assert own["verdict"].tolist() == [0, 0, 1, 1] * 3
    assert _labels(own) == [int(10 * k >= 50) for k in range(12)]
    # The same in a second file, whatever its column is called.
    gold = GRADED[["item", "model", "human"]].rename(columns={"human": "points"})
    second = read_verdicts(GRADED.drop(columns="human"), labels=gold, threshold=">=3", label="points < 50").frame
    assert _labels(second) == [int(10 * k < 50) for k in range(12)]
    with pytest.raises(UsageError, match="people's grades in 'human' go from 0 to 110"):
        read_verdicts(GRADED.drop(columns="human"), labels=GRADED[["item", "model", "human"]], threshold=">=3")


@pytest.mark.parametrize("second", [False, True])
def test_a_threshold_that_is_offered_for_several_people_is_one_for_all(second: bool) -> None:
    people = NAMED[["item", "model", "Human 1", "Human 2", "Human 3"]]
    log = NAMED.assign(score=NAMED["score"] / 10)
    given: dict[str, Any] = {"threshold": ">=0.3", "labels": people if second else None}
    frame = log[["item", "model", "score"]] if second else log
    with pytest.raises(UsageError, match="people's grades in 'Human 1,Human 2,Human 3' go from 1 to 5") as caught:
        read_verdicts(frame, label="Human *", **given)
    assert caught.value.options[0] == "--label 'Human 1,Human 2,Human 3>=2'"
    found = read_verdicts(frame, label=shlex.split(caught.value.options[0])[1], **given).annotations
    assert found is not None
    assert found["label"].sum() == (people.iloc[:, 2:] >= 2).sum().sum()


@pytest.mark.parametrize("grades", [[k // 3 + k % 3 / 3 for k in range(5, 17)], [0] * 9 + [5 / 3, 8 / 3, 3]])
def test_thresholds_offered_for_grades_reach_them_and_leave_some_out(grades: list[float]) -> None:
    frame = GRADED.assign(score=[0.2, 0.4, 0.6] * 4, human=grades)
    with pytest.raises(UsageError, match="people's grades in 'human'") as caught:
        read_verdicts(frame, threshold=">=0.6")
    found = [read_verdicts(frame, threshold=">=0.6", label=shlex.split(one)[1]) for one in caught.value.options]
    # The first leaves out the lowest grades, or a quarter.
    assert _labels(found[0].frame) == [int(one >= sorted(grades)[3] and one > min(grades)) for one in grades]
    assert len(found) == len({sum(_labels(table.frame)) for table in found})


def test_a_threshold_by_which_all_grades_mean_one_thing_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    frame = GRADED.assign(score=[0.5, 2, 3, 3.9] * 3, human=[1, 5 / 3, 7 / 3, 3] * 3)
    frame.to_csv(path, index=False)
    for bound, kind in (("1", "yes"), (">=3.5", "no")):
        with pytest.raises(UsageError, match=f"go from 1 to 3, and by it all mean {kind}") as caught:
            read_verdicts(frame, threshold=bound)
        assert caught.value.options[0] == "--label 'human>=1.66666'"
        # On one scale all may be good, which is to be stated.
        same = f"human>={bound.removeprefix('>=')}"
        assert f"if so, --label '{same}'" in str(caught.value)
        assert len(set(_labels(read_verdicts(frame, threshold=bound, label=same).frame))) == 1
    # What can be typed leaves both kinds, and of several files one may have grades of one kind.
    commands = inspect_source(path).questions["accuracy"].commands
    assert [shlex.split(one)[3:] for one in commands] == [["--threshold", f">={bound}"] for bound in ("2", "3")]
    low = frame.assign(score=frame["score"] / 2)
    low.to_csv(path, index=False)
    commands = inspect_source(path).questions["accuracy"].commands
    assert {shlex.split(one)[-1] for one in commands} == {"human>=1.66666", "human>=2.33333", "human>=3"}
    frame.assign(human=[1, 2] * 6, model="n").to_csv(tmp_path / "b.csv", index=False)
    frame.to_csv(path, index=False)
    assert read_verdicts(tmp_path, threshold="3").frame["label"].mean() == 1 / 8


def test_replies_that_are_no_scores_count_as_missing_and_are_said() -> None:
    scores = pd.Series([4, 2, "N/A (no code)", *range(9)], dtype=object)
    table = read_verdicts(GRADED.drop(columns="human").assign(score=scores), threshold=">=3")
    assert len(table) == 11
    assert table.dropped == {"missing verdict": 1}
    said = "1 of 12 values of 'score' are no numbers and count as missing: 'N/A (no code)'"
    assert said in table.warnings
    # Where they are many, the column is no scores.
    with pytest.raises(InputError):
        read_verdicts(GRADED.assign(score=["good", "bad", *range(10)]).drop(columns="human")[:6], threshold=">=3")


def test_replies_are_read_by_the_yes_or_no_that_they_begin_with() -> None:
    replies = [
        "Yes, the candidate is correct.",
        "No.\nThe years differ.",
        "**Yes**: same entity",
        "NO",
        "No errors found",
    ]
    frame = pd.DataFrame({"item": range(10), "model": "x", "verdict": replies * 2}).astype(object)
    table = read_verdicts(frame)
    assert table.frame["verdict"].tolist() == [1, 0, 1, 0] * 2
    assert table.dropped == {"missing verdict": 2}
    assert "by their first word: 4 yes, 2 no; 2 count as missing: 'No errors found'" in " ".join(table.warnings)
    # Too many of another kind are no replies of yes and no.
    with pytest.raises(InputError, match="'No errors found'"):
        read_verdicts(frame.assign(verdict=["Yes.", "No errors found"] * 5))


def test_words_of_a_verdict_are_offered_with_what_they_may_mean() -> None:
    log = GRADED.drop(columns=["human", "score"]).assign(coverage=["FULL", "PARTIAL", "NONE"] * 4)
    with pytest.raises(InputError, match="others then mean no") as caught:
        read_verdicts(log, columns={"verdict": "coverage"})
    assert caught.value.options == tuple(f"--verdict coverage={word}" for word in ("FULL", "NONE", "PARTIAL"))
    assert read_verdicts(log, verdict="coverage=FULL,PARTIAL").frame["verdict"].tolist() == [1, 1, 0] * 4
    # One word among yes and no is a mistake.
    with pytest.raises(InputError, match="row 2: found 'maybe'"):
        read_verdicts(log.assign(coverage=["yes", "maybe", "no"] * 4)[:3], columns={"verdict": "coverage"})


@pytest.mark.parametrize(
    ("values", "option", "coded"),
    [
        (["1", "0", "-1", "-1"], None, [1, 0, None, None]),
        ([1, 0, 99, -1], "label=1", [1, 0, None, None]),
        ([1, 0, -1, -1], "label=-1", [0, 0, 1, 1]),
        (["yes", "no", "tie", "?"], None, [1, 0, None, None]),
        (["PASS", "FAIL", "Error", "not_sure"], "label=PASS", [1, 0, None, None]),
        (["good", "bad", "can't tell", "-1"], "label=good", [1, 0, None, None]),
        # What is the only other value, denies another or is part of one decides.
        ([1, -1, 1, -1], "label=1", [1, 0, 1, 0]),
        (["correct", "error", "error", "correct"], "label=correct", [1, 0, 0, 1]),
        (["valid", "invalid", "partly", "valid"], "label=valid", [1, 0, 0, 1]),
        (["no error", "error", "minor error", "unsure"], "label=no error", [1, 0, 0, None]),
    ],
)
def test_values_that_decide_nothing_are_missing(values: list[Any], option: str | None, coded: list[int | None]) -> None:
    """As labels, as a person's of several, as those of a second file and as verdicts, and it is stated."""
    log = pd.DataFrame({"item": [*"abcdefgh"], "model": "m", "verdict": [1, 0] * 4})
    labelled = log.assign(label=values * 2)
    table = read_verdicts(labelled, label=option)
    assert [None if pd.isna(one) else one for one in table.frame["label"]] == coded * 2
    lost = coded.count(None) * 2
    said = f"{lost} of 8 values of 'label' are no decision, count as missing: "
    assert sum(text.startswith(said) for text in table.warnings) == (lost > 0)
    second = read_verdicts(log, labels=labelled[["item", "label"]], label=option)
    assert second.frame["label"].equals(table.frame["label"])
    judged = read_verdicts(
        labelled[["item", "model", "label"]].rename(columns={"label": "verdict"}),
        verdict=option and option.replace("label", "verdict", 1),
    )
    assert judged.frame["verdict"].tolist() == [one for one in coded * 2 if one is not None]
    assert judged.dropped == ({"missing verdict": lost} if lost else {})
    several = labelled.assign(label2=labelled["label"])
    people = read_verdicts(several, label=f"label,label2{'' if option is None else option.removeprefix('label')}")
    assert people.annotations is not None
    assert len(people.annotations) == 2 * (8 - lost)


def test_values_that_decide_nothing_are_those_of_all_files(tmp_path: Path) -> None:
    log = pd.DataFrame({"item": [1, 2, 3], "model": "m", "verdict": 1})
    for name, labels in (("a", [1, 0, -1]), ("b", [1, -1, -1])):
        log.assign(label=labels, model=name).to_csv(tmp_path / f"{name}.csv", index=False)
    for option in (None, "label=1"):
        table = read_verdicts(tmp_path, label=option)
        assert _labels(table.frame) == [1, 0, None, 1, None, None]


def test_words_that_deny_others_are_offered_last() -> None:
    log = pd.DataFrame({"item": range(6), "model": "m", "verdict": 1})
    for words in (["not satisfied", "satisfied"], ["incomplete", "whole"], ["yes", "partly"]):
        frame = log.assign(label=[*words, "unsure"] * 2)
        with pytest.raises(InputError) as caught:
            read_verdicts(frame)
        assert caught.value.options[0].endswith(("label=satisfied", "label=incomplete", "label=yes"))
        assert "threshold first" not in str(caught.value)
        assert "(2 rows)" in str(caught.value)
        _, option = shlex.split(caught.value.options[0])
        assert _labels(read_verdicts(frame, label=option).frame).count(1) == 2


def test_values_that_mean_yes_are_said_with_the_others_and_must_be_there(tmp_path: Path) -> None:
    words = ["Correct"] * 4 + ["- correct.", "[Correct]", "Incorrect", "Wrong", "wrong", "", "I see", "A+", "A-", "-"]
    log = pd.DataFrame({"item": range(14), "model": "m", "says": words, "human": [3.0, 1.0] * 7})
    table = read_verdicts(log, verdict="says=Correct", label="human=3")
    assert table.frame["verdict"].tolist() == [1] * 6 + [0] * 8
    assert "values of 'human' read as yes: '3' 7; read as no: '1' 7" in table.warnings
    # Of a wide table a person's word counts once, however many judges stand next to it.
    wide = read_verdicts(
        log.assign(other="Wrong"), verdict="verdict=Correct", label="human=3", wide="verdict:judge=says,other"
    )
    assert "values of 'human' read as yes: '3' 7; read as no: '1' 7" in wide.warnings
    no = "'Incorrect' 1, 'Wrong' 1, 'wrong' 1, '' 1, 'I see' 1 and 3 others"
    yes = "'Correct' 4, '- correct.' 1, '[Correct]' 1"
    assert f"values of 'says' read as yes: {yes}; read as no: {no}" in table.warnings
    with pytest.raises(UsageError, match=r"'says' has no such value; it has 'I see' 1.* --verdict 'says=I see'"):
        read_verdicts(log, verdict="says=I saw")
    log.to_csv(tmp_path / "gold.csv", index=False)
    with pytest.raises(UsageError, match=r"--label says=Rihgt: .* it has .*'Wrong' 1"):
        read_verdicts(log.assign(verdict=1).drop(columns="says"), labels=tmp_path / "gold.csv", label="says=Rihgt")


def test_grades_that_the_judges_threshold_cuts_are_said() -> None:
    table = read_verdicts(GRADED.assign(human=[1, 2, 3, 4, 5, 5] * 2), threshold=">=3")
    assert _labels(table.frame) == [0, 0, 1, 1, 1, 1] * 2
    (note,) = [text for text in table.warnings if text.startswith("people's grades")]
    assert note == (
        "people's grades in 'human' are cut by the judge's threshold >=3: 67% mean yes (other: --label 'human>=...')"
    )


def test_many_grades_of_people_alone_are_asked_for_by_label() -> None:
    with pytest.raises(InputError) as caught:
        read_verdicts(GRADED.assign(score=[0, 1] * 6))
    assert caught.value.options[0] == "--label 'human>=30'"
    table = read_verdicts(GRADED.assign(score=[0, 1] * 6), label="human>=30")
    assert _labels(table.frame).count(1) == 9


@pytest.mark.parametrize("grades", [["0", "0.3333333333", "0.6666666666666666"], ["0.50", "1.0", "2."], [1, 4 / 3, 2]])
def test_grades_that_a_message_offers_are_read_as_it_says(grades: list[Any]) -> None:
    frame = GRADED.assign(score=[0, 1] * 6, human=grades * 4)
    with pytest.raises(InputError, match=r"shares of yes: .* 67%, .* 33%;") as caught:
        read_verdicts(frame)
    offered = [shlex.split(option)[1] for option in caught.value.options]
    assert [_labels(read_verdicts(frame, label=one).frame) for one in offered] == [[0, 1, 1] * 4, [0, 0, 1] * 4]
    with pytest.raises(InputError) as caught:
        # The same third, computed in two ways.
        read_verdicts(GRADED.assign(score=[0, 1] * 6, human=[0, 1 / 3, 5 / 3, 0, 1 - 2 / 3, 5 / 3] * 2))
    assert caught.value.options == ("--label human=0.333333,1.66667", "--label human=1.66667")


def test_a_mark_that_is_none_is_named_with_its_row() -> None:
    frame = NAMED.assign(score=[1, 0, 1, 0]).astype(object)
    for name in ("Human 1", "Human 2", "Human 3"):
        frame[name] = ["yes", "no", "maybe" if name == "Human 2" else "no", "yes"]
    with pytest.raises(InputError, match=r"column 'Human 2', row 3: found 'maybe'"):
        read_verdicts(frame, label="Human *")


def test_one_command_is_offered_for_scores_and_people_side_by_side(tmp_path: Path) -> None:
    """Nothing has a known name but the models: every step is asked for, and what is offered works as typed."""
    path = tmp_path / "wide.csv"
    pd.concat([SCORED, SCORED.assign(story=SCORED["story"] + 2)]).to_csv(path, index=False)
    found = inspect_source(path).questions["accuracy"].commands
    first = "--column item=story --label 'Human 1,Human 2,Human 3=2,3,4,5' --wide score:judge=gpt-4,claude"
    assert [one.startswith(f"bayesjudge accuracy {path} {first} --threshold ") for one in found] == [True] * len(found)
    # What the first command says is read.
    bound = found[0].rpartition(" ")[2].strip("'")
    table = read_verdicts(
        path,
        columns={"item": "story"},
        label="Human 1,Human 2,Human 3=2,3,4,5",
        wide="score:judge=gpt-4,claude",
        threshold=bound,
    )
    assert len(table) == 16


def test_the_items_are_the_column_that_each_model_has_once() -> None:
    frame = SCORED[["story", "model"]].assign(verdict=[1, 0, 1, 1], topic=["p", "p", "q", "q"])
    with pytest.raises(InputError, match="Each model has every value of 'story' once: --column item=story") as caught:
        read_verdicts(frame)
    assert caught.value.options == ("--column item=story",)
    # A value that a model has twice is no item, and neither is one that only one model has.
    for other in (frame.assign(story=1), frame.assign(story=[1, 2, 3, 4])):
        with pytest.raises(InputError) as none:
            read_verdicts(other)
        assert not none.value.options


#: Three people's votes on four comparisons that one judge made once; the last is a tie.
VOTES = pd.DataFrame(
    {
        "pair_id": [1, 2, 3, 4],
        "model_a": "x",
        "model_b": "y",
        "judge_prefers": ["a", "b", "a", "a"],
        "human_1": ["a", "a", "b", "a"],
        "human_2": ["a", "b", "b", "b"],
        "human_3": ["b", "b", "b", None],
    }
)
LONG = VOTES.melt(
    id_vars=["pair_id", "model_a", "model_b", "judge_prefers"], var_name="voter", value_name="human_prefers"
)


def test_most_people_decide_what_an_audit_compares_with() -> None:
    listed = read_pairs(VOTES, columns={"human_prefers": "human_*"})
    for pairs in (listed, read_pairs(LONG), read_pairs(LONG.iloc[::-1])):
        found = pairs.frame.set_index("item")["human_prefers"].to_dict()
        assert found == {"1": "a", "2": "b", "3": "b"}
        assert pairs.dropped == {"a verdict once more, with a further person's vote": 8, "tie by people": 1}
        assert any("several people judged 4 items" in text for text in pairs.warnings)
        assert any("(11 votes on 4 items; they differ on 3)" in text for text in pairs.warnings)
    with pytest.raises(InputError, match=r"different preferences for item '1'.*--column voter="):
        read_pairs(LONG.drop(columns="voter"))
    with pytest.raises(UsageError, match=r"--column human_prefers=\.\.\.: no column 'human_4'"):
        read_pairs(VOTES, columns={"human_prefers": "human_1,human_4"})
    with pytest.raises(InputError, match=r"column 'human_prefers'.*found 'neither'"):
        read_pairs(LONG.assign(human_prefers="neither"))


def test_a_column_a_voter_is_a_vote_each_in_battles() -> None:
    wide = read_battles(VOTES, columns={"human": "human_1,human_2,human_3"}).frame
    long = read_battles(LONG, columns={"human": "human_prefers", "item": "pair_id"}).frame
    keys = ["item", "voter"]
    pd.testing.assert_frame_equal(
        wide.sort_values(keys)[[*keys, "human"]].reset_index(drop=True),
        long.sort_values(keys)[[*keys, "human"]].reset_index(drop=True),
    )
    counts = count_battles(read_battles(VOTES, columns={"human": "human_*"}))
    # 11 votes, and each verdict of the judge once.
    assert counts.human.votes.sum() == 11
    assert counts.judged.n.sum() == 4


def test_a_row_for_each_person_is_no_repetition_of_the_judge() -> None:
    asked = inspect_source(LONG).questions
    assert not asked["reliability"].possible
    assert asked["audit"].possible
    # The judge asked twice, three people each time: two trials an item.
    twice = pd.concat([LONG.assign(run=0), LONG.assign(run=1)])
    trials, _ = read_repeats(twice)
    assert trials is not None
    assert len(trials) == 8
    assert any("16 rows differ from others in a person's vote alone" in text for text in trials.warnings)


def test_all_people_are_offered_where_a_column_of_each_could_be_meant() -> None:
    with pytest.raises(InputError) as caught:
        read_pairs(VOTES)
    assert caught.value.options[0] == "--column human_prefers=human_1,human_2,human_3"
    command = inspect_source(VOTES).questions["audit"].commands[0]
    assert command.startswith("bayesjudge audit FILE --column human_prefers=human_1,human_2,human_3")


@pytest.mark.slow
@pytest.mark.parametrize("bound", [1 / 3, 2 / 3, 8 / 3])
def test_a_threshold_that_is_offered_is_reached_by_its_score(bound: float) -> None:
    scores = pd.DataFrame({"item": [1, 2, 3], "model": "x", "score": [0.1, bound, bound]})
    with pytest.raises(InputError) as caught:
        read_verdicts(scores)
    (option,) = caught.value.options
    passed = read_verdicts(scores, threshold=option.removeprefix("--threshold ").strip("'")).frame["verdict"]
    assert passed.tolist() == [0, 1, 1]


def test_thresholds_are_whole_or_half_and_none_lets_nearly_all_pass(tmp_path: Path) -> None:
    scores = pd.DataFrame({"item": [*range(40)] * 2, "model": ["x"] * 40 + ["y"] * 40})
    thirds = scores.assign(score=[(3 + k % 10) / 3 for k in range(80)], human=2.5)
    with pytest.raises(InputError) as caught:
        read_verdicts(thirds)
    assert caught.value.options == tuple(f"--threshold '>={bound}'" for bound in ("2", "2.5", "3"))
    with pytest.raises(InputError) as caught:
        read_verdicts(scores.assign(score=[1, 2] + [4] * 50 + [5] * 28))
    assert caught.value.options == ("--threshold '>=5'",)
    with pytest.raises(InputError) as caught:
        read_verdicts(scores.assign(score=[0.1, 2 / 3] * 40))
    assert caught.value.options == ("--threshold '>=0.666666'",)
    # Scores that some other question takes are of models, too.
    thirds.to_csv(tmp_path / "scores.csv", index=False)
    assert inspect_source(tmp_path / "scores.csv").models == ["x", "y"]


@pytest.mark.parametrize(
    ("said", "once"),
    [
        ("h 1>=4,h 2>=4", "h 1,h 2>=4"),
        ("h 1 > 3, h 2 > 3", "h 1,h 2>3"),
        ("h 1>=4,h 2", "h 1,h 2>=4"),
        ("h 1>=4,h 2>=3", "h 1,h 2>=..."),
        ("h 1=4,5,h 2=4,5", "h 1,h 2=..."),
        ("h 1=4,h 2", ""),
        ("h 1,h 2>=4", ""),
    ],
)
def test_what_means_yes_is_said_once_for_all_people(said: str, once: str) -> None:
    """A bound a column was `no column 'h 1>'`; of values a column, those after the first were never met."""
    log = pd.DataFrame({"item": range(4), "model": "m", "verdict": [0, 1, 0, 1], "h 1": range(2, 6), "h 2": range(4)})
    if not once:
        assert read_verdicts(log, label=said).frame["label"].notna().any()
        return
    with pytest.raises(UsageError) as raised:
        read_verdicts(log, label=said)
    assert f"stated once, after the last column, for all of them: --label {once!r}; columns" in str(raised.value)


@pytest.mark.parametrize(
    ("lists", "said"),
    [
        ([[1, 0, 1], [0, 0], None, [0, 1, 0]], {}),
        (["[1, 0, 1]", "[0, 0]", None, "[0, 1, 0]"], {}),
        ([["Y", "P", "Y"], ["N", "P"], None, ["N", "Y", "P"]], {"label": "human_labels=Y"}),
    ],
)
def test_lists_of_labels_are_several_peoples(lists: list[Any], said: dict[str, Any]) -> None:
    frame = pd.DataFrame({"item": [1, 2, 3, 4], "model": "m", "verdict": [1, 0, 1, 1], "human_labels": lists})
    table = read_verdicts(frame, **said)
    assert _labels(table.frame) == [1, 0, None, 0]
    assert table.annotations is not None
    assert len(table.annotations) == 8
    assert "lists in 'human_labels' were read as the labels of up to 3 people, by their places" in table.warnings
    renamed = frame.rename(columns={"human_labels": "votes"})
    mapped = {**said, "label": "votes=Y"} if said else {"columns": {"label": "votes"}}
    assert _labels(read_verdicts(renamed, **mapped).frame) == [1, 0, None, 0]


def test_judges_and_people_in_objects_are_offered_and_reached_by_dotted_names() -> None:
    frame = pd.DataFrame(
        {
            "item_id": [1, 2],
            "model": "m",
            "human": [{"p": "Yes", "q": "Yes"}, {"p": "Partly", "q": "No", "r": "Yes"}],
            "judges": [{"x": "Yes", "gpt-4.1": "Partly"}, {"x": "No", "gpt-4.1": "Yes"}],
        }
    )
    options = "--wide 'verdict:judge=judges.*' --label 'human.*=Yes' --verdict verdict=Yes"
    assert inspect_source(frame).questions["accuracy"].commands == [f"bayesjudge accuracy FILE {options}"]
    for judges, people in (("judges.*", "human.*"), ("judges.x, judges.gpt-4.1", "human.p,human.q,human.r")):
        table = read_verdicts(frame, wide=f"verdict:judge={judges}", label=f"{people}=Yes", verdict="verdict=Yes")
        assert table.frame[["judge", "item", "verdict"]].to_numpy().tolist() == [
            ["judges.x", "1", 1],
            ["judges.x", "2", 0],
            ["judges.gpt-4.1", "1", 0],
            ["judges.gpt-4.1", "2", 1],
        ]
        assert _labels(table.frame) == [1, 0, 1, 0]
        assert table.annotations is not None
        assert set(table.annotations["annotator"]) == {"human.p", "human.q", "human.r"}
