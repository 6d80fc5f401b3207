"""A second file of labels, where columns and rows of the log are named or chosen."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from bayesjudge.errors import InputError
from bayesjudge.readers import read_verdicts

LOG = pd.DataFrame({"item": [1, 2, 1, 2], "criterion": ["safe", "safe", "kind", "kind"], "verdict": [1, 1, 0, 0]})


def test_a_message_has_the_labels_files_own_rows_where_rows_of_the_log_are_chosen() -> None:
    gold = pd.DataFrame({"item": [1, 1, 1, 2, 2], "label": ["1", "1", "1", "1", "maybe"]})
    with pytest.raises(InputError, match=r"column 'labels.label', row 5: found 'maybe'"):
        read_verdicts(LOG, labels=gold, where="criterion=kind")


def test_a_column_that_both_files_have_may_be_the_judges_in_one_and_peoples_in_the_other() -> None:
    log = pd.DataFrame({"id": [1, 2], "by": ["gpt", "gpt"], "mark": [1, 0]})
    gold = pd.DataFrame({"id": [1, 1, 1, 2], "by": ["p", "q", "r", "p"], "mark": [1, 0, 0, 1]})
    columns = {"item": "id", "judge": "by", "verdict": "mark", "label": "mark", "annotator": "by"}
    table = read_verdicts(log, labels=gold, columns=columns)
    assert table.frame[["judge", "verdict", "label"]].to_numpy().tolist() == [["gpt", 1, 0], ["gpt", 0, 1]]
    assert table.annotations is not None
    assert table.annotations["annotator"].tolist() == ["p", "q", "r", "p"]


def test_rows_of_labels_are_chosen_as_the_logs_are() -> None:
    """A mark by another criterion is no label of a verdict; one alone in its file would count without a word."""
    gold = pd.DataFrame({"item": [2, 1], "criterion": ["kind", "safe"], "human": [0, 1]})
    table = read_verdicts(LOG, labels=gold, where="criterion=safe")
    assert table.frame["label"].tolist() == [1, pd.NA]
    assert "--where criterion = safe chooses rows of the labels, too: 1 of 2 in the table" in table.warnings
    with pytest.raises(InputError, match=r"column 'labels.label', row 2: found 'maybe'"):
        read_verdicts(LOG, labels=gold.assign(human=["1", "maybe"]), where="criterion!=kind")


@pytest.mark.parametrize(
    ("about", "where"),
    [
        ({"criterion": ["the whole text of a criterion", "another"]}, "criterion=safe"),
        ({"verdict": [0, 1]}, "verdict=1"),
        ({"length": [3, 9]}, "length>5"),
        ({"judge": ["gpt", "a person"]}, "judge=gpt"),
    ],
)
def test_no_labels_are_left_out_by_what_is_said_or_means_something_else(
    about: dict[str, list[object]], where: str
) -> None:
    log = (
        LOG.iloc[:2]
        .assign(judge="gpt", length=7)
        .rename(columns={} if "criterion" in about else {"criterion": "about"})
    )
    gold = pd.DataFrame({"item": [1, 2], "human": [1, 0], **about})
    table = read_verdicts(log, labels=gold, where=where)
    assert table.frame["label"].tolist() == [1, 0]
    assert not any("--where" in said for said in table.warnings)


@pytest.mark.parametrize(
    ("option", "own", "theirs"), [("grade>=75", [80, 10], 90), ("grade=ok", ["ok", "bad"], "ok"), ("grade", [1, 0], 1)]
)
def test_labels_of_both_files_are_read_where_both_have_the_column(
    option: str, own: list[object], theirs: object
) -> None:
    """Those of the log were left out without a word."""
    log = pd.DataFrame({"item": [1, 2, 3], "model": "m", "verdict": [1, 0, 1], "grade": [*own, None]})
    gold = pd.DataFrame({"item": [3], "model": "m", "grade": [theirs]})
    assert read_verdicts(log, labels=gold, label=option).frame["label"].tolist() == [1, 0, 1]


def test_a_judges_column_is_none_of_labels_where_the_second_file_has_it_for_them() -> None:
    log = pd.DataFrame({"item": [1, 2], "model": "m", "score": [1, 5]})
    table = read_verdicts(log, labels=log.assign(score=[5, 1]), threshold=3, label="score>=2")
    assert table.frame[["verdict", "label"]].to_numpy().tolist() == [[0, 1], [1, 0]]


def test_values_of_the_logs_column_are_none_of_a_second_files_zeros_and_ones() -> None:
    """Each 1 was read as no, as it is none of the values that mean yes in the log."""
    log = pd.DataFrame({"item": [1, 2, 3], "model": "m", "verdict": [1, 0, 1], "grade": ["A", "C", None]})
    gold = pd.DataFrame({"item": [3], "model": "m", "label": [1]})
    assert read_verdicts(log, labels=gold, label="grade=A,B").frame["label"].tolist() == [1, 0, 1]
    # Of letters they are, whatever the column is called there.
    lettered = read_verdicts(log, labels=gold.assign(label="B"), label="grade=A,B")
    assert lettered.frame["label"].tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("read", "typed"),
    [
        ({}, "--column judge=model_name"),
        ({"put": {"model": "{model_name}"}}, "--set 'judge={model_name}'"),
        ({"wide": "verdict:model=x,y"}, "--wide verdict:judge=x,y"),
    ],
)
def test_models_with_one_label_an_item_look_like_judges(read: dict[str, Any], typed: str) -> None:
    """A judge's name in a column of that name was read as a system's, of which one was called the best."""
    wide = pd.DataFrame({"item": range(15), "x": [1, 0, 1] * 5, "y": 1, "label": [1, 1, 0] * 5})
    log = wide if "wide" in read else wide.melt(["item", "label"], var_name="model_name", value_name="verdict")
    (said,) = [text for text in read_verdicts(log, **read).warnings if "the same label on each of 15 items" in text]
    assert f"if they did, type {typed};" in said
    if "wide" not in read:
        differs = log.assign(label=log["label"].where(log.index != 3, 0))
        for other in (differs, log.assign(judge="j"), log[log["item"] < 10]):
            assert not any("the same label" in text for text in read_verdicts(other, **read).warnings)


def test_labels_in_columns_of_people_are_read_in_both_files() -> None:
    log = pd.DataFrame(
        {"item": [1, 2, 3], "model": "m", "verdict": 1, "human 1": [1, 0, None], "human 2": [1, 0, None]}
    )
    gold = pd.DataFrame({"item": [3], "model": "m", "human 1": [1], "human 2": [1]})
    for second in (gold, gold.drop(columns="human 2").rename(columns={"human 1": "label"})):
        table = read_verdicts(log, labels=second, label="human 1,human 2")
        assert table.frame["label"].tolist() == [1, 0, 1]


@pytest.mark.parametrize("wide", [False, True])
def test_a_column_of_labels_for_each_model_is_read_by_the_logs_models(wide: bool) -> None:
    """It was refused for want of a column of labels."""
    votes = pd.DataFrame({"item": [1, 2], "heron": [1, 0], "lynx": [1, 1]})
    log = votes if wide else votes.melt("item", var_name="model", value_name="verdict")
    gold = pd.DataFrame({"item": [2, 1], "note": ["late", "late"], "lynx": [0, None], "Heron": [1, 1], "heron": [1, 0]})
    table = read_verdicts(log, labels=gold, wide="verdict:model" if wide else None)
    labels = table.frame.set_index(["model", "item"])["label"]
    assert labels.dropna().to_dict() == {("heron", "1"): 0, ("heron", "2"): 1, ("lynx", "2"): 0}
    said = "columns 'lynx', 'heron' of the table were read as one model's labels each; 'Heron' not, as no model of"
    assert any(one.startswith(said) for one in table.warnings)


def test_a_broken_label_in_a_models_column_is_named_by_the_files_own_row() -> None:
    log = pd.DataFrame({"item": [1, 2] * 2, "model": list("xxyy"), "verdict": 1})
    gold = pd.DataFrame({"item": [1, 2], "x": [4, 2], "y": [5, "maybe"]})
    assert read_verdicts(log, labels=gold[["item", "x"]], label="label>=3").frame["label"].dropna().tolist() == [1, 0]
    with pytest.raises(InputError, match=r"column 'labels.label', row 2: found 'maybe'"):
        read_verdicts(log, labels=gold.assign(x=[1, 0], y=[1, "maybe"]))


def test_columns_of_models_are_no_labels_next_to_a_column_of_them() -> None:
    log = pd.DataFrame({"item": [1, 2] * 2, "model": list("xxyy"), "verdict": 1})
    gold = pd.DataFrame({"item": [1, 2], "x": [1, 1], "human_label": [0, 1]})
    assert read_verdicts(log, labels=gold).frame["label"].tolist() == [0, 1, 0, 1]


def test_a_label_inside_an_object_of_the_second_file_is_named_by_its_path() -> None:
    log = pd.DataFrame({"item": [1, 2], "model": "m", "scores": [{"right": 5}, {"right": 1}]})
    said = [{"right": 2, "polite": 5}, {"right": 4, "polite": 5}]
    gold = pd.DataFrame({"row": [{"id": 1}, {"id": 2}], "model": "m", "said": said, "human_score": [4.0, 4.5]})
    columns = {"verdict": "scores.right", "item": "row.id"}
    named = log.rename(columns={"item": "row.id"})
    table = read_verdicts(named, labels=gold, columns=columns, threshold=">=4", label="said.right>=3")
    assert table.frame[["verdict", "label"]].to_numpy().tolist() == [[1, 0], [0, 1]]
    people = read_verdicts(named, labels=gold, columns=columns, threshold=">=4", label="said.*>=5")
    assert people.annotations is not None
    assert people.annotations["label"].tolist() == [0, 0, 1, 1]


def test_words_of_several_people_are_offered_for_all_of_them() -> None:
    log = pd.DataFrame({"item": range(8), "verdict": [1, 0] * 4})
    gold = pd.DataFrame({"item": range(8), "who 1": ["Yes", "Partly"] * 4, "who 2": ["No", "Yes"] * 4})
    with pytest.raises(InputError, match="column 'who 1', row 2, 4, 6, 8: found 'Partly'") as raised:
        read_verdicts(log, labels=gold, label="who *")
    assert raised.value.options == ("--label 'who 1,who 2=Yes'", "--label 'who 1,who 2=Yes,Partly'")
    assert read_verdicts(log, labels=gold, label="who *=Yes,Partly").frame["label"].notna().sum() == 4


def test_grades_of_many_people_are_called_as_the_user_called_them() -> None:
    """Thirteen people's ids stood twice in a warning, over eight lines."""
    log = pd.DataFrame({"item": [1, 2], "score": [5, 1]})
    gold = pd.DataFrame({"item": [1, 2], **{f"who {k}": [5, 1] for k in range(9)}})
    said = " ".join(read_verdicts(log, labels=gold, threshold=">=4", label="who *").warnings)
    assert "people's grades in 'who *' are cut by the judge's threshold" in said
    assert "--label 'who *>=...'" in said


def test_a_column_that_is_there_twice_is_named_in_either_file() -> None:
    """Of models it ended in a traceback."""
    log = pd.DataFrame({"item": [1, 2], "model": "x", "verdict": 1})
    gold = pd.DataFrame({"item": [1, 2], "x": [1, 0], "y": [1, 1]})
    with pytest.raises(InputError, match="column 'x': found 2 columns of this name"):
        read_verdicts(log, labels=pd.concat([gold, gold[["x"]]], axis=1))
    with pytest.raises(InputError, match="column 'model': found 2 columns of this name"):
        read_verdicts(pd.concat([log, log[["model"]]], axis=1), labels=gold)
