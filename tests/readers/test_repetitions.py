"""Rows that look like repetitions by one judge and are not: several criteria, models that answered."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from commands import run

from bayesjudge.errors import InputError, UsageError
from bayesjudge.readers import read_battles, read_pairs, read_repeats, read_verdicts
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


@pytest.mark.parametrize("name", ["trial_index", "run_index"])
def test_an_index_of_trials_numbers_them(name: str) -> None:
    """Of a real log, `--where trial_index=0` was offered, which leaves no second verdict."""
    log = pd.DataFrame({"prompt_id": [1, 1, 2, 2], name: [7, 3, 7, 3], "winner_id": ["A", "B", "A", "TIE"]})
    trials, _ = read_repeats(log, columns={"outcome": "winner_id"})
    assert trials is not None
    assert trials.frame["trial"].tolist() == ["7", "3", "7", "3"]
    verdicts = pd.DataFrame({"item": [1, 1], "model": "m", "judge": "j", name: [7, 3], "verdict": [1, 0]})
    assert read_verdicts(verdicts).frame["run"].tolist() == ["7", "3"]


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


#: One judge's scores of three models' answers to three items.
ANSWERS = pd.DataFrame(
    {
        "item": [*"qqqrrrsss"],
        "style": "plain",
        "written": [*["gpt-4", "llama-2", "people"] * 3],
        "score": [1, 2, 3, 2, 3, 5, 3, 5, 8],
    }
)


@pytest.mark.parametrize("name", ["written", "generated_by", "llm"])
def test_models_are_no_repetitions_of_one_answer(name: str) -> None:
    rows = ANSWERS.rename(columns={"written": name})
    # What their texts were written for comes in each item, too, and is what was taken for repetitions.
    both = pd.concat([rows, rows.assign(style="terse")], ignore_index=True)
    ways = [f"--column response={name}", f"--column judge={name}"]
    for table in (rows, both, rows.assign(judge="j")):
        with pytest.raises(UsageError, match=f"{name!r} looks like names of models") as raised:
            read_repeats(table)
        assert list(raised.value.options) == (ways[:1] if "judge" in table else ways)
        assert str(raised.value).endswith(f"where it numbers repetitions: --column trial={name}")
    _, scores = read_repeats(both, columns={"response": name}, where="style=terse")
    assert scores is not None
    assert scores.frame["response"].nunique() == 3
    _, scores = read_repeats(rows, columns={"trial": name})
    assert scores is not None
    assert scores.warnings == ()


def test_models_of_repeated_outcomes_and_of_verdicts_are_told_apart_by_what_these_have() -> None:
    rows = ANSWERS.drop(columns="score")
    outcomes = rows.assign(outcome=[*"abaabbaab"])
    with pytest.raises(UsageError) as raised:
        read_repeats(outcomes)
    assert raised.value.options == ("--set 'item={written} {item}'", "--column judge=written")
    trials, _ = read_repeats(outcomes, put={"item": "{written} {item}"})
    assert trials is not None
    assert trials.frame["item"].nunique() == 9
    with pytest.raises(UsageError, match="where they judged: --column judge=written; where it numbers") as raised:
        read_verdicts(rows.assign(model="m", verdict=[0, 1, 1, 1, 0, 1, 0, 0, 1]))
    assert len(raised.value.options) == 2
    # Of comparisons, whose models have columns, others are warned of.
    battles = read_battles(rows.assign(model_a="x", model_b="y", verdict=[*"abaabbaab"]))
    assert any("'written' has the same 3 values for each item" in said for said in battles.warnings)


@pytest.mark.parametrize("value", [{"score": [3, 4, 5, 5, 1, 2] * 2}, {"outcome": [*"abbaab"] * 2}])
def test_the_one_column_of_repeated_ids_is_offered_as_items(value: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "ids.csv"
    rows = pd.DataFrame({"document_id": [*"qqqrrrsssttt"], "call_id": range(12), "batch_id": [*[1] * 6, *[2] * 6]})
    rows.assign(**value).to_csv(path, index=False)
    found = inspect_source(str(path)).questions["reliability"]
    assert found.commands == [f"bayesjudge reliability {path} --column item=document_id"]
    # Of two, none is known to be meant.
    rows.assign(**value, page_id=rows["document_id"]).to_csv(path, index=False)
    assert inspect_source(str(path)).questions["reliability"].commands == []


def test_the_one_column_of_choices_is_offered_as_outcomes(tmp_path: Path) -> None:
    path = tmp_path / "choices.csv"
    rows = pd.DataFrame({"pair_id": [*"qrstu"] * 2, "choice_original": [*"abbab", *"aabb", "refusal"]})

    def offered(table: pd.DataFrame) -> list[str]:
        table.to_csv(path, index=False)
        return inspect_source(str(path)).questions["reliability"].commands

    assert offered(rows) == [f"bayesjudge reliability {path} --set 'outcome={{choice_original:refusal=}}'"]
    trials, _ = read_repeats(rows, put={"outcome": "{choice_original:refusal=}"})
    assert trials is not None
    assert (len(trials), dict(trials.dropped)) == (9, {"missing outcome": 1})
    clear = rows.replace("refusal", "tie")
    assert offered(clear) == [f"bayesjudge reliability {path} --column outcome=choice_original"]
    # Of two columns none is known to be meant; people's, orders and other words are no judge's choices.
    assert offered(clear.assign(best_of=clear["choice_original"])) == []
    for name in ("human_choice_2", "arm"):
        assert offered(clear.rename(columns={"choice_original": name})) == []
    assert offered(rows.assign(choice_original=[*"abcdeabcde"])) == []


def test_outcomes_and_scores_of_one_trial_that_a_column_tells_apart_are_a_choice_of_rows() -> None:
    rows = pd.DataFrame({"item": [*"qqrrss"] * 2, "trial": [0] * 6 + [1] * 6, "ordering": [0, 1] * 6})
    for value in ({"outcome": [*"abbaabbaabab"]}, {"score": [1, 2, 3, 1, 4, 2] * 2}):
        with pytest.raises(InputError, match="but one within 'ordering'") as raised:
            read_repeats(rows.assign(**value))
        assert raised.value.options == ("--where ordering=0", "--where ordering=1")
        assert any(read_repeats(rows.assign(**value), where="ordering=0"))


def test_a_column_made_of_the_outcomes_chooses_no_rows() -> None:
    """Trials of one number were to be chosen by whether the outcome was the other one."""
    rows = pd.DataFrame({"item": [*"qqrrss"], "trial": 1, "verdict": [*"abbbba"]})
    with pytest.raises(InputError, match="Give each trial its own value") as made:
        read_repeats(rows.assign(is_flipped=[False, True, False, False, False, True]))
    assert "--where" not in str(made.value)
    assert not made.value.options
    # What differs where outcomes agree, too, is of the presentation.
    with pytest.raises(InputError, match="but one within 'is_flipped'") as shown:
        read_repeats(rows.assign(is_flipped=[False, True] * 3))
    assert shown.value.options == ("--where is_flipped=True", "--where is_flipped=False")


PARTS = {"doc_id": [*"ppqqrr"], "question_no": [1, 2] * 3, "judge": "j"}
NAMED_BY_BOTH = "--set 'item={doc_id} {question_no}'"


@pytest.mark.parametrize(
    ("read", "columns", "option"),
    [
        (read_verdicts, {"model": "m", "verdict": 1, "label": [0, 1, 1, 0, 0, 1]}, NAMED_BY_BOTH),
        (read_verdicts, {"model": "m", "verdict": [0, 1, 1, 0, 0, 1]}, NAMED_BY_BOTH),
        (read_pairs, {"judge_prefers": [*"abbaab"]}, NAMED_BY_BOTH),
        (
            read_battles,
            {"model_a": "x", "model_b": "y", "verdict": [0, 1, 1, 0, 0, 1]},
            "--set 'item={question_no} {doc_id}'",
        ),
    ],
)
def test_an_item_that_two_columns_name_is_offered(read: Any, columns: dict[str, Any], option: str) -> None:
    """Rows of one question each were offered alone, or its number as another model's."""
    log = pd.DataFrame({**PARTS, **columns})
    doubtful = {} if read is read_pairs else {"refuse_doubtful": True}
    with pytest.raises((InputError, UsageError)) as raised:
        read(log, **doubtful)
    assert option in raised.value.options
    name, value = shlex.split(option)[1].split("=", 1)
    table = read(log, put={name: value}, **doubtful)
    assert table.frame["item"].nunique() == len(log)


def test_models_that_only_files_names_hold_are_offered(tmp_path: Path) -> None:
    """They were said to lack, and files of other models were offered as trials."""
    for sides, winners in (("x-vs-y", "ab"), ("x_VS_z", "bb")):
        rows = pd.DataFrame({"item": [1, 2], "judge": "j", "winner": [*winners]})
        rows.to_csv(tmp_path / f"{sides}.csv", index=False)
    option = "--set 'model_a={file.1}' --set 'model_b={file.2}'"
    for read in (read_battles, read_pairs, read_repeats):
        doubtful = {} if read is read_pairs else {"refuse_doubtful": True}
        with pytest.raises(UsageError, match="the name holds the two models") as raised:
            read(str(tmp_path), **doubtful)
        assert raised.value.options == (option,)
    battles = read_battles(str(tmp_path), put={"model_a": "{file.1}", "model_b": "{file.2}"}).frame
    assert [*zip(battles["model_a"], battles["model_b"], battles["verdict"], strict=True)] == [
        *[("x", "y", 1), ("x", "y", 0), ("x", "z", 0), ("x", "z", 0)]
    ]


def test_a_folder_above_the_files_own_names_a_model(tmp_path: Path) -> None:
    for name in "xy":
        (tmp_path / name / "run").mkdir(parents=True)
        pd.DataFrame({"item": [1], "verdict": [1]}).to_csv(tmp_path / name / "run" / "log.csv", index=False)
    table = read_verdicts(str(tmp_path / "*" / "run" / "*.csv"), put={"model": "{folder.2}", "judge": "{folder}"})
    assert table.frame[["model", "judge"]].to_numpy().tolist() == [["x", "run"], ["y", "run"]]


@pytest.mark.parametrize(("name", "values"), [("ordering", (0, 1)), ("is_swapped", (False, True))])
def test_a_column_of_two_values_named_for_the_order_is_offered_as_it(name: str, values: tuple[Any, Any]) -> None:
    """Half of the rows were offered, or that it numbers repetitions."""
    log = pd.DataFrame({"item": [*"ppqqrr"], "model_a": "x", "model_b": "y", "judge": "j", "winner": [*"abbaab"]})
    log[name] = [*values] * 3
    option = f"--set 'order={{{name}:{values[0]}=ab,{values[1]}=ba}}'"
    for read in (read_battles, read_repeats):
        with pytest.raises(UsageError, match="Where it is the order of presentation") as raised:
            read(log, refuse_doubtful=True)
        assert raised.value.options[0] == option
    battles = read_battles(log, put={"order": shlex.split(option)[1].removeprefix("order=")}, refuse_doubtful=True)
    assert battles.frame["order"].tolist() == ["ab", "ba"] * 3
    log = log.drop(columns=["model_a", "model_b", "winner"]).assign(response="r", score=[1, 5, 3, 2, 4, 3])
    with pytest.raises(UsageError) as raised:
        read_repeats(log, refuse_doubtful=True)
    assert option not in raised.value.options


@pytest.mark.parametrize(("inner", "name"), [("log.csv", "folder"), ("run/log.csv", "folder.2")])
def test_files_of_one_name_in_a_folder_for_each_model_are_offered_as_models(
    inner: str, name: str, tmp_path: Path
) -> None:
    """They were one system's repetitions, by one more folder without an option that could be typed."""
    for model, verdicts in (("x", [1, 0]), ("y", [1, 1])):
        path = tmp_path / model / inner
        path.parent.mkdir(parents=True)
        pd.DataFrame({"item": [1, 2], "judge": "j", "verdict": verdicts}).to_csv(path, index=False)
    with pytest.raises(UsageError, match="Where each file is another model's") as raised:
        read_verdicts(str(tmp_path / "*" / inner), refuse_doubtful=True)
    assert raised.value.lacks == "a model or a run for each of 2 files"
    assert raised.value.options[0] == f"--set 'model={{{name}}}'"
    table = read_verdicts(str(tmp_path / "*" / inner), put={"model": f"{{{name}}}"}, refuse_doubtful=True)
    assert set(table.frame["model"]) == {"x", "y"}


def test_many_numbers_within_an_item_are_named() -> None:
    """Of 8 documents with 30 questions each, reliability was that of 8 items judged 30 times, without a word."""
    rows = [{"doc_id": doc, "question_no": no, "call_id": f"{doc}{no}"} for doc in "pqrs" for no in range(30)]
    log = pd.DataFrame(rows).assign(judge="j")
    compared = log.assign(winner=[*"abbab"] * 24)
    with pytest.raises(UsageError, match=r"numbers the rows of each 'doc_id'.*named by both: --set 'item=") as raised:
        read_repeats(compared, refuse_doubtful=True)
    assert raised.value.options == ("--column trial=question_no",)
    with pytest.raises(UsageError) as raised:
        read_verdicts(log.assign(model="m", verdict=[1, 0, 0, 1, 1, 0] * 20), refuse_doubtful=True)
    assert raised.value.options == (NAMED_BY_BOTH, "--column run=question_no")
    with pytest.raises(InputError) as refused:
        read_pairs(compared)
    assert refused.value.options == (NAMED_BY_BOTH,)
    # What numbers attempts is no part of an item, and a row's own name is none.
    for plain in (compared.rename(columns={"question_no": "attempt_no"}), compared.drop(columns="question_no")):
        trials, _ = read_repeats(plain, refuse_doubtful=True)
        assert trials is not None
        assert trials.frame["item"].nunique() == 4


def test_whether_a_reply_was_parsed_is_no_verdict(tmp_path: Path) -> None:
    log = pd.DataFrame({"pair_id": [1, 2, 3], "model": "m", "item": [1, 2, 3], "parse_ok": [True, False, True]})
    log.to_csv(path := tmp_path / "log.csv", index=False)
    assert inspect_source(path).questions["accuracy"].commands == []


def test_two_columns_of_who_won_are_no_verdicts_on_answers(tmp_path: Path) -> None:
    """A pick of a pair was offered as ``--verdict judge_pick=A``, as words that two columns share may be."""
    log = pd.DataFrame({"item": range(6), "judge": "j", "judge_pick": [*"ABABAB"], "original_winner": [*"AABBAB"]})
    log.to_csv(path := tmp_path / "log.csv", index=False)
    assert inspect_source(path).questions["accuracy"].commands == []
    log.rename(columns={"judge_pick": "gpt", "original_winner": "expert_2"}).to_csv(path, index=False)
    assert inspect_source(path).questions["accuracy"].commands


def test_an_instruction_is_an_item_where_nothing_else_is() -> None:
    log = pd.DataFrame({"instruction_id": [1, 1, 2, 2], "judge": "j", "call": [0, 1] * 2, "score": [4, 5, 3, 3]})
    _, scores = read_repeats(log)
    assert scores is not None
    assert scores.frame["item"].tolist() == ["1", "1", "2", "2"]
    _, scores = read_repeats(log.assign(question_id=[*"abcd"]))
    assert scores is not None
    assert scores.frame["item"].tolist() == [*"abcd"]


def test_verdicts_under_a_longer_name_and_orders_in_words_are_offered(tmp_path: Path) -> None:
    """Each pair twice, as ``original`` and ``reversed``: the column of orders was offered as the number of a trial."""
    log = pd.DataFrame({"item_id": [1, 1, 2, 2], "judge_id": "j", "prompt_order": ["original", "reversed"] * 2})
    log.assign(parsed_verdict=[*"AABA"], parse_ok=True).to_csv(path := tmp_path / "log.csv", index=False)
    found = inspect_source(path).questions
    assert found["reliability"].commands == [f"bayesjudge reliability {path} --column outcome=parsed_verdict"]
    assert not any("parse_ok" in command for command in found["accuracy"].commands)
    trials, _ = read_repeats(path, columns={"outcome": "parsed_verdict"})
    assert trials is not None
    assert trials.frame["order"].tolist() == ["ab", "ba", "ab", "ba"]


def test_turns_of_a_conversation_are_no_repetitions(tmp_path: Path) -> None:
    """Two turns of each item were its trials, and runs of a battle: a flip rate of .39 was of different questions."""
    log = pd.DataFrame({"id": [1, 1, 2, 2], "judge": "j", "turn": [1, 2] * 2, "winner": [*"ABBA"]})
    log.to_csv(path := tmp_path / "log.csv", index=False)
    own = "--set 'id={turn} {id}'"
    with pytest.raises(UsageError, match=r"turns of a conversation are no repetitions by one judge") as raised:
        read_repeats(path)
    assert raised.value.options == ()
    assert inspect_source(path).questions["reliability"].lacks == ["a second judgement of any item by one judge"]

    twice = log.loc[log.index.repeat(2)].assign(order=["ab", "ba"] * 4)
    with pytest.raises(UsageError) as raised:
        read_repeats(twice)
    assert raised.value.options == (own, "--where turn=1", "--where turn=2")
    trials, _ = read_repeats(twice, put={"id": "{turn} {id}"})
    assert trials is not None
    assert trials.frame["item"].nunique() == 4

    battles = log.rename(columns={"id": "item"}).assign(model_a="x", model_b="y")
    with pytest.raises(UsageError, match=r"--set 'item=\{turn\} \{item\}'"):
        read_battles(battles)
    assert len(read_battles(battles, put={"item": "{turn} {item}"})) == 4
