"""What a user says of a file beyond its columns: which rows, what else of each item, which columns are models."""

from __future__ import annotations

import io
import json
import re
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bayesjudge.errors import InputError, UsageError
from bayesjudge.readers import read_battles, read_pairs, read_repeats, read_verdicts
from bayesjudge.readers.asking import ask_each, refusal
from bayesjudge.readers.filters import keep_where
from bayesjudge.readers.inspection import inspect_source
from bayesjudge.readers.parts import read_parts
from bayesjudge.readers.reading import Choices

LOG = pd.DataFrame(
    {
        "item": ["1", "2", "3", "4"],
        "model": ["m", "m", "k", None],
        "verdict": ["1", "0", "1", "1"],
        "hard": ["0.5", "2", "10", None],
        "day": ["2026-01-02", "2026-02-01", "2025-12-31", None],
        "kept": [True, False, True, True],
    }
)


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        (["hard>=2"], [2, 3]),
        (["hard < 2"], [1]),
        (["hard!=2"], [1, 3, 4]),
        (["hard=2", "hard=10.0"], [2, 3]),
        (["hard>0", "hard<=2", "model!=k"], [1, 2]),
        (["day>=2026-01-01"], [1, 2]),
        ("kept=true", [1, 3, 4]),
        ({"kept": True, "hard": [0.5, "10"]}, [1, 3]),
        ({"model": "m"}, [1, 2]),
    ],
)
def test_rows_are_chosen_by_conditions(where: Any, kept: list[int]) -> None:
    """Numbers as numbers, other text as text; a missing value is on no side of a bound."""
    (found,) = keep_where([("log", LOG)], where)
    assert (found[1].index + 1).tolist() == kept


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("hard", "--where 'hard': write a column, one of = != < <= > >=, and a value"),
        (">=7", "write a column"),
        ("model!=gpt", "no row of the table has model = gpt; the column has k, m"),
        ("hard>10", "no row has hard > 10"),
        ("hrd>=1", "no column 'hrd' to choose rows by.*Did you mean 'hard'"),
    ],
)
def test_conditions_that_choose_nothing_are_refused(where: str, said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said) if ".*" not in said else said):
        read_verdicts(LOG, where=where)


@pytest.mark.parametrize("read", [read_verdicts, read_battles, read_pairs])
def test_a_misspelt_keyword_is_answered_with_the_nearest(read: Any) -> None:
    with pytest.raises(UsageError, match=r"no option 'threshhold' .did you mean 'threshold'.*: format, verdict, label"):
        read(LOG, threshhold=3)
    for name, ours in {"set": "put={...}", "column": "columns={...}", "gold": "labels= of read_verdicts"}.items():
        with pytest.raises(UsageError, match=f"no option '{name}': here it is {re.escape(ours)}; how a file is read"):
            read(LOG, **{name: {"judge": "gpt"}})


def test_a_value_may_be_in_another_of_several_files(tmp_path: Path) -> None:
    for name, rows in (("a", LOG.iloc[:2]), ("b", LOG.iloc[2:3])):
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
    assert read_verdicts(tmp_path, where="model!=m").frame["item"].tolist() == ["3"]
    with pytest.raises(UsageError, match="no row of the files has model = z; the column has k, m"):
        read_verdicts(tmp_path, where="model=z")


ABOUT = pd.DataFrame({"id": [3, 1, 2], "subject": ["law", "law", "code"], "human": ["1", None, "0"], "verdict": 9})


def test_items_bring_groups_and_labels_to_verdicts(tmp_path: Path) -> None:
    """Joined by name, whatever the order; a column that the log has stays the log's."""
    ABOUT.to_csv(tmp_path / "items.csv", index=False)
    table = read_verdicts(LOG, items=tmp_path / "items.csv", where="model=m")
    assert table.frame[["item", "subject", "verdict"]].to_numpy().tolist() == [["1", "law", 1], ["2", "code", 0]]
    assert table.frame["label"].tolist() == [pd.NA, 0]
    (source,) = table.source
    assert source["file"] == str(tmp_path / "items.csv")
    with pytest.raises(InputError, match="no row about an item of the items file"):
        read_verdicts(LOG, items=ABOUT.assign(id=[7, 8, 9]))


def test_items_bring_votes_and_groups_to_battles() -> None:
    log = pd.DataFrame({"item": [1, 1, 2], "judge": ["j", "k", "j"], "verdict": ["a", "b", "tie"]})
    about = pd.DataFrame({"item": [1, 2], "model_1": "x", "model_2": "y", "human": ["a", "b"], "language": "en"})
    battles = read_battles(log, items=about).frame
    assert battles["human"].tolist() == [1.0, 1.0, 0.0]
    assert battles["language"].tolist() == ["en"] * 3
    with pytest.raises(InputError, match="'1' compares several pairs of models"):
        read_battles(log.assign(model_a=["x", "y", "x"], model_b="z"), items=about[["item", "human"]])


def test_items_bring_categories_to_trials() -> None:
    log = pd.DataFrame({"item": [1, 1, 2], "winner": ["a", "b", "tie"], "score": [1, 2, 3]})
    trials, scores = read_repeats(log, items=pd.DataFrame({"qid": [2, 1], "task": ["maths", "code"]}))
    assert trials is not None
    assert scores is not None
    for frame in (trials.frame, scores.frame):
        assert frame.sort_values("item")["category"].tolist() == ["code", "code", "maths"]


WIDE = pd.DataFrame({"item": ["1", "2"], "human_label": ["1", None], "gpt-4": ["1", "0"], "claude": ["no", "yes"]})


def test_a_column_for_each_model_is_read_when_said(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    WIDE.to_csv(path, index=False)
    with pytest.raises(InputError, match=r"2 columns of verdicts .*'gpt-4', 'claude'.*--wide verdict:model") as raised:
        read_verdicts(path)
    assert raised.value.options == ("--wide verdict:model", "--wide verdict:judge", "--wide verdict:run")
    table = read_verdicts(path, wide="verdict:model", where="item=1")
    assert table.frame[["item", "model", "verdict"]].to_numpy().tolist() == [["1", "gpt-4", 1], ["1", "claude", 0]]
    assert "columns 'gpt-4', 'claude' were read as one model's verdicts each" in table.warnings
    one = read_verdicts(path, wide="verdict:model=claude").frame
    assert one[["model", "verdict", "gpt-4"]].to_numpy().tolist() == [["claude", 0, "1"], ["claude", 1, "0"]]
    judges = read_verdicts(path, wide="verdict:judge", put={"model": "mine"}).frame
    assert set(judges["judge"]) == {"gpt-4", "claude"}
    _, scores = read_repeats(WIDE.drop(columns="claude").assign(k=[7, 8]), wide="score:judge=k")
    assert scores is not None
    assert scores.frame["score"].tolist() == [7.0, 8.0]


@pytest.mark.parametrize("other", ["agree", "gpt-4_matches_human", "judge_human_disagree", "final_label", "expert_2"])
def test_a_column_of_agreement_or_of_people_is_no_judge(other: str) -> None:
    """Next to one judge, agreement tells the label: of 60 labels and 120 answers EIF fell from .496 to .464."""
    frame = WIDE.assign(**{other: [1, 0]})
    table = read_verdicts(frame, wide="verdict:judge")
    assert set(table.frame["judge"]) == {"gpt-4", "claude"}
    option = f"--wide verdict:judge=gpt-4,claude,{other}"
    named = "being named as what people say or whether a judge agrees with them"
    assert f"columns {other!r} were not read, {named}: {option} reads all" in table.warnings
    every = read_verdicts(frame, wide=option.removeprefix("--wide ")).frame
    assert set(every["judge"]) == {"gpt-4", "claude", other}
    with pytest.raises(InputError) as raised:
        read_verdicts(frame.drop(columns="claude").assign(model="m"))
    assert [one.removesuffix(" --label expert_2") for one in raised.value.options] == ["--column verdict=gpt-4"]


@pytest.mark.parametrize("other", ["validated_accuracy", "reviewer_ok"])
def test_what_people_checked_is_no_judges_vote_and_is_offered_as_labels(other: str) -> None:
    """It was one more judge."""
    table = read_verdicts(WIDE[["item", "gpt-4", "claude"]].assign(**{other: [1, 0]}), wide="verdict:judge")
    assert set(table.frame["judge"]) == {"gpt-4", "claude"}
    said = f"column {other!r} may hold people's labels: `--column label={other}` states that it does"
    assert said in table.warnings


def test_a_column_without_a_judges_name_next_to_some_is_named_with_what_leaves_it_out() -> None:
    frame = WIDE.assign(valid=[1, 0])
    table = read_verdicts(frame, wide="verdict:judge")
    said = "columns 'valid' have no name of a judge: --wide verdict:judge=gpt-4,claude leaves them out"
    assert any(one.startswith(said) for one in table.warnings)
    listed = read_verdicts(frame, wide="verdict:judge=gpt-4,claude", label="valid")
    assert set(listed.frame["label"]) == {0, 1}
    assert not any("no name of a judge" in one for one in listed.warnings)


def test_a_models_column_with_a_name_of_a_category_is_named() -> None:
    """It was left out without a word."""
    frame = WIDE.assign(Subject=[1, 0])
    table = read_verdicts(frame, wide="verdict:model")
    option = "verdict:model=gpt-4,claude,Subject"
    said = f"columns 'Subject' were not read, having names of what other questions ask: --wide {option} reads all"
    assert said in table.warnings
    assert set(read_verdicts(frame, wide=option).frame["model"]) == {"gpt-4", "claude", "Subject"}


def test_columns_that_may_all_be_peoples_are_all_read() -> None:
    frame = WIDE.set_axis(["item", "human_label", "final_1", "final_2"], axis=1)
    assert set(read_verdicts(frame, wide="verdict:judge").frame["judge"]) == {"final_1", "final_2"}
    # A model may be what a person wrote.
    models = read_verdicts(WIDE.assign(expert_written=[1, 0], agree=[1, 1]), wide="verdict:model").frame["model"]
    assert set(models) == {"gpt-4", "claude", "expert_written"}


def test_a_column_for_each_run_is_a_judge_asked_again() -> None:
    repeated = pd.DataFrame({"item": ["q1", "q2"], "model": "otter", "first": [1, 0], "second": [1, 1]})
    verdicts = read_verdicts(repeated, wide="verdict:run").frame
    assert verdicts.groupby("run")["verdict"].sum().to_dict() == {"first": 1, "second": 2}
    compared = pd.DataFrame({"item": ["q1", "q2"], "first": ["a", "tie"], "second": ["b", "tie"]})
    trials, _ = read_repeats(compared, wide="verdict:run")
    assert trials is not None
    assert trials.frame.groupby("item")["outcome"].nunique().to_dict() == {"q1": 2, "q2": 1}


@pytest.mark.parametrize("names", ["judge", "run"])
def test_without_items_what_judges_said_in_one_row_is_of_one_answer(names: str) -> None:
    log = WIDE.drop(columns="item").assign(length=[4, 1])
    table = read_verdicts(log, wide=f"verdict:{names}", where="length>0")
    rows = table.frame.sort_values(["item", "verdict"])
    assert rows["item"].tolist() == [f"{rows['model'].iloc[0]}, row {k}" for k in (1, 1, 2, 2)]
    assert rows["label"].astype("Float64").fillna(-1).tolist() == [1.0, 1.0, -1.0, -1.0]
    assert rows.groupby("item")[names].nunique().tolist() == [2, 2]


def test_a_column_for_each_model_needs_no_item(tmp_path: Path) -> None:
    """The item was all that the command said to be lacking."""
    path = tmp_path / "wide.csv"
    WIDE.drop(columns="item").to_csv(path, index=False)
    with pytest.raises(InputError) as raised:
        read_verdicts(path)
    assert [problem.column for problem in raised.value.problems] == ["verdict"]
    shown = refusal(raised.value, "accuracy", str(path), columns={}, gold=(), choices={})
    assert "'item'" not in str(shown)
    assert [one.split(":")[-1] for one in shown.options] == ["model", "judge", "run"]


@pytest.mark.parametrize("where", [None, "model=claude"])
def test_without_items_what_models_answered_in_one_row_is_one_item(where: str | None) -> None:
    table = read_verdicts(WIDE.drop(columns="item"), wide="verdict:model", where=where)
    whole = read_verdicts(WIDE, wide="verdict:model", where=where)
    assert table.frame["item"].unique().tolist() == ["the table, row 1", "the table, row 2"]
    assert table.frame["item"].str[-1].tolist() == whole.frame["item"].tolist()
    assert table.frame["verdict"].tolist() == whole.frame["verdict"].tolist()
    assert any("each row is an item" in note for note in table.warnings)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1\n0\n1\n", "line 1 ('1') was taken"),
        ("12 1 99 1\n12 1 98 0\n", "line 1 ('12 1 99 1') was taken"),
        ("q1,good\nq1,bad\nq2,good\n", "line 1 ('q1', 'good') was taken"),
        # Places of columns as pandas writes them, a header in the middle, names of years next to another.
        ("0,1\nq1,1\nq2,0\n", ""),
        ("item,label\nq1,1\nitem,label\nq2,0\n", ""),
        ("item,2024\nq1,1\n", ""),
    ],
)
def test_a_first_line_of_data_is_not_taken_for_names_in_silence(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "log.csv").write_text(text)
    notes = inspect_source(str(tmp_path / "log.csv")).notes
    found = [note for note in notes if "looks like data" in note]
    assert [note.startswith(said) for note in found] == [True] * bool(said)
    assert all("put names in a line before it, (echo NAME" in note for note in found)


def test_standard_input_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trying an option read it again, found nothing, and that was all that was said."""
    stream = io.BytesIO(b"item,m1,m2\nq1,1,0\nq2,0,1\n")
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=stream))
    answer = inspect_source("-").questions["accuracy"]
    assert answer.lacks == ["one column of verdicts"]
    assert answer.commands[0] == "bayesjudge accuracy - --wide verdict:model"


def test_columns_inside_objects_are_reached_by_their_path(tmp_path: Path) -> None:
    records = [
        {"id": k, "meta": {"model": "x", "v2.1": k % 2, "people": {"ann": 1 - k % 2}}, "note": None} for k in range(4)
    ]
    path = tmp_path / "nested.json"
    path.write_text(json.dumps(records))
    mapped = {"model": "meta.model", "verdict": "meta.v2.1", "label": "meta.people.ann"}
    table = read_verdicts(path, columns=mapped)
    assert table.frame[["item", "model", "verdict", "label"]].to_numpy().tolist() == [
        [str(k), "x", k % 2, 1 - k % 2] for k in range(4)
    ]
    assert read_verdicts(path, columns={"model": "meta.model"}, verdict="meta.v2.1=1").frame["verdict"].sum() == 2
    with pytest.raises(UsageError, match=r"no column 'meta\.nothing' to use as 'verdict'"):
        read_verdicts(path, columns={"model": "meta.model", "verdict": "meta.nothing"})
    # What is inside is listed where a column is missing.
    found = refusal(InputError([]), "accuracy", str(path), columns={}, gold=(), choices={})
    assert "'id', 'meta.model', 'meta.v2.1', 'meta.people.ann', 'note'" in str(found)


@pytest.mark.parametrize(
    ("wide", "said"),
    [
        ("model", "write verdict:model"),
        ("verdict:model=nobody", "no column 'nobody' in the table"),
        ("score:model", "the table has no column of scores but known ones"),
    ],
)
def test_a_shape_that_the_table_has_not_is_refused(wide: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_verdicts(LOG[["item", "model", "verdict"]], wide=wide)


#: Raw tables of the shared data, the question, and whether rows are read in the end.
RAW = [
    ("binary_triviaqa_judges/triviaqa_judges.parquet", read_verdicts, True),
    ("multijudge_trec_llmjudge/trec_llmjudge.parquet", read_verdicts, True),
    ("pairwise_chatbot_arena_ppr/chatbot_arena_ppr.parquet", read_battles, True),
    ("pairwise_llmbar/llmbar_judgments.parquet", read_pairs, True),
    ("pairwise_llmbar/llmbar_judgments.parquet", read_repeats, True),
    ("pairwise_mtbench_human/mtbench_judgments.parquet", read_battles, True),
    ("pairwise_mtbench_human/mtbench_judgments.parquet", read_pairs, True),
    ("pairwise_pandalm/pandalm_judgments.parquet", read_pairs, True),
    ("repeated_position_bias/position_bias_repetitions.parquet", read_pairs, True),
    ("repeated_position_bias/position_bias_repetitions.parquet", read_repeats, True),
    ("repeated_position_bias/position_bias_repetitions.parquet", read_verdicts, False),
    ("binary_triviaqa_judges/triviaqa_judges.parquet", read_pairs, False),
    ("leaderboard_arena/arena_vs_judges.csv", read_battles, False),
]


def said_to_type(options: str, before: dict[str, Any]) -> dict[str, Any]:
    """Keywords of a reader as they were, with what a message says to type."""
    words = shlex.split(options)
    now = {**before, "where": list(before.get("where", [])), "columns": dict(before.get("columns", {}))}
    for option, value in zip(words[::2], words[1::2], strict=True):
        name = option.removeprefix("--")
        if name == "where":
            now["where"].append(value)
        elif name == "column":
            now["columns"] |= [value.split("=", 1)]
        else:
            now[name] = value
    return now


@pytest.mark.slow
@pytest.mark.parametrize(("name", "read", "readable"), RAW)
def test_messages_about_raw_tables_lead_to_a_command_that_works(
    name: str, read: Any, readable: bool, shared_data: Path
) -> None:
    """Each option that a message offers is taken, the first of several, until rows are read."""
    options: dict[str, Any] = {}
    reached = False
    for _ in range(4):
        try:
            read(shared_data / name, **options)
        except (InputError, UsageError) as error:
            if not error.options:
                break
            options = said_to_type(error.options[0], options)
        else:
            reached = True
            break
    assert reached == readable, options


def test_contradictions_that_a_column_explains_are_one_message() -> None:
    log = pd.DataFrame(
        {
            "item": ["q1", "q1", "q2", "q2"] * 2,
            "model": "m",
            "verdict": 1,
            "label": [0, 1, 1, 0, 0, 1, 1, 0],
            "round": ["one", "two"] * 4,
            "n": range(8),
        }
    )
    with pytest.raises(InputError, match=r"but one within 'round'.*--where round=one; --where round=two") as raised:
        read_verdicts(log)
    assert len(raised.value.problems) == 1
    # Two columns together where none is enough, and the table's own words where none are.
    both = log.assign(round=["one", "two", "one", "one"] * 2, side=["x", "x", "y", "x"] * 2)
    with pytest.raises(InputError, match=r"within 'round' and 'side'.*--where round=one --where side=x"):
        read_verdicts(both)
    with pytest.raises(InputError, match="Give each answer one label"):
        read_verdicts(log.drop(columns="round"))


@pytest.mark.parametrize("numbers", [{"text": [*"abcdef"]}, {"attempt": [1, 2] * 3}])
def test_answers_to_items_that_set_makes_are_told_apart_by_what_it_makes_them_of(numbers: dict[str, list[Any]]) -> None:
    said = {"sid": [1, 1, 2, 2, 3, 3], "line": [1, 1, 1, 1, 2, 2], "verdict": [1, 0, 1, 1, 0, 1]}
    frame = pd.DataFrame({**said, **numbers, "model": "m", "label": [1, 0, 0, 1, 1, 1]})
    with pytest.raises(InputError) as raised:
        read_verdicts(frame, put={"item": "{sid}-{line}"})
    (name,) = numbers
    option = f"--set 'item={{sid}}-{{line}}-{{{name}}}' --set 'question={{sid}}-{{line}}' --cluster question"
    assert raised.value.options[-1] == option
    _, item, _, question, *_ = shlex.split(option)
    put = dict(one.split("=", 1) for one in (item, question))
    assert read_verdicts(frame, put=put).frame["item"].nunique() == len(frame)


@pytest.mark.parametrize("item", ["item", "question_id"])
@pytest.mark.parametrize("choices", [{}, {"label": "human_1,human_2"}])
def test_a_column_within_which_labels_are_one_is_offered_as_the_item(item: str, choices: Choices) -> None:
    """Of answers of students to 20 questions, graded by several models, it was said that they lack one label."""
    response = np.repeat(np.arange(24), 2)
    people = {f"human_{k}": response // k % 2 for k in (1, 2)}
    one = {"response_id": response, item: response // 12, "prompt": [*"ab"] * 24, "model": "m", "verdict": 1, **people}
    frame = pd.DataFrame(one)
    frame = frame if choices else frame.rename(columns={"human_1": "human"}).drop(columns="human_2")
    kept = "'item (original)'" if item == "item" else item
    with pytest.raises(InputError, match="Each 'response_id' has one label") as found:
        read_verdicts(frame, **choices)
    assert found.value.options == (f"--column item=response_id --cluster {kept}",)
    assert len(read_verdicts(frame, columns={"item": "response_id"}, **choices)) == 48
    # Where labels of a response differ, or each row is another's, nothing is a name of answers.
    for other in (frame.assign(response_id=response // 2), frame.assign(response_id=range(48))):
        with pytest.raises(InputError) as found:
            read_verdicts(other, **choices)
        assert not any("item=response_id" in option for option in found.value.options)


def test_the_same_words_mean_the_same_to_judge_and_people() -> None:
    """Of two commands one took the judge's error for yes and people's no_error, and none no_error for both."""
    words = ["error", "no_error"] * 10
    log = pd.DataFrame({"item": range(20), "model": "m", "prediction": words, "label": words[::-1]})
    with pytest.raises(InputError, match="for people too, who use the same words") as found:
        read_verdicts(log, columns={"verdict": "prediction"})
    both = [f"--verdict prediction={word} --label label={word}" for word in ("error", "no_error")]
    assert found.value.options == tuple(both)
    with pytest.raises(InputError) as found:
        read_verdicts(log.assign(label=["bad", "fine"] * 10), columns={"verdict": "prediction"})
    assert found.value.options == tuple(f"--verdict prediction={word}" for word in ("error", "no_error"))


@pytest.mark.parametrize("who", ["annotator_name", "annotator_id"])
def test_columns_next_to_who_annotated_are_no_verdicts(who: str) -> None:
    """They were offered as verdicts; those with a judge's name on them still are."""
    said = {"side_effect": ["No", "Yes"] * 4, "looping": ["No", "No", "Yes", "No"] * 2}
    log = pd.DataFrame(
        {who: "A", "item": range(8), "model": "m", "success": ["Unsuccessful", "Successful"] * 4, **said}
    )
    with pytest.raises(InputError, match="'side_effect', 'looping' may be people's labels") as found:
        read_verdicts(log)
    assert found.value.options == ()
    with pytest.raises(InputError) as found:
        read_verdicts(log.rename(columns={"looping": "gpt4_looping"}))
    assert found.value.options == ("--column verdict=gpt4_looping --label side_effect",)


def test_columns_of_several_people_are_offered_without_their_mean(tmp_path: Path) -> None:
    """The mean counted as a person's more, and of the 26,400 rows no command answered."""
    rows = {"response_id": np.repeat(range(24), 2), "item": np.repeat([1, 2], 24), "model": "m"}
    people = {f"human_{k}": rows["response_id"] // k % 2 for k in (1, 2, 3)}
    verdicts = {"verdict": np.arange(48) // 3 % 2, "prompt": [*"ab"] * 24}
    log = pd.DataFrame({**rows, **verdicts, **people, "human_avg": people["human_1"]})
    log.to_csv(tmp_path / "log.csv", index=False)
    with pytest.raises(InputError) as found:
        read_verdicts(log)
    assert found.value.options[:2] == ("--label human_1,human_2,human_3", "--column label=human_1")
    file = str(tmp_path / "log.csv")
    answer, _ = ask_each(file, columns=None, gold=[], choices={}, parts=read_parts(file))["accuracy"]
    read = "--label human_1,human_2,human_3 --where prompt=a --cluster 'item (original)'"
    assert answer.commands[0] == f"bayesjudge accuracy {shlex.quote(file)} --column item=response_id {read}"


def test_several_answers_to_an_item_are_one_message_whose_command_counts_each(tmp_path: Path) -> None:
    """A column that is no choice of rows numbers a model's answers; one of few values may be part of the model."""
    path = tmp_path / "log.csv"
    samples = pd.DataFrame({"task": [k // 30 for k in range(240)], "model": "m", "sample": range(240)})
    samples.assign(verdict=1, label=[0, 1] * 120).to_csv(path, index=False)
    columns = {"item": "task"}
    with pytest.raises(InputError, match="0 and 1 for 8 answers, for example item '0', model 'm'; item '1'") as raised:
        read_verdicts(path, columns=columns)
    assert len(raised.value.problems) == 1
    assert raised.value.options == ("--set 'item={task}-{sample}' --cluster task",)
    (command,) = inspect_source(path, columns=columns).questions["accuracy"].commands
    assert command.endswith("--column item=task --set 'item={task}-{sample}' --cluster task")
    table = read_verdicts(path, columns=columns, put={"item": "{task}-{sample}"})
    assert table.frame["item"].tolist()[:2] == ["0-0", "0-1"]
    assert table.frame["label"].tolist() == [0, 1] * 120
    retrieved = samples.assign(item=samples["task"], retriever=["near", "all", "none"] * 80, verdict=1)
    retrieved = retrieved.drop_duplicates(["item", "retriever"]).drop(columns=["task", "sample"])
    retrieved["label"] = [0, 1, 1, 1, 0, 1] * 4
    with pytest.raises(InputError, match=r"or keep all: --set 'model=\{model\} \{retriever\}'") as raised:
        read_verdicts(retrieved)
    assert raised.value.options[-1] == "--set 'model={model} {retriever}'"
    table = read_verdicts(retrieved, put={"model": "{model} {retriever}"})
    assert sorted(set(table.frame["model"])) == ["m all", "m near", "m none"]
    with pytest.raises(UsageError, match=r"--set model=\{modle\}: no column 'modle' in the table"):
        read_verdicts(retrieved, put={"model": "{modle}"})


def test_of_several_numbers_of_a_judge_one_is_the_verdict(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "question_id": [1, 1, 2, 2],
            "model_id": ["x", "y"] * 2,
            "judge_id": "j",
            "turn1": [7, 8, 6, 9],
            "turn2": [7, 6, 6, 8],
            "tstamp": [1782460000.5, 1782460001.0, 1782460002.0, 1782460003.0],
        }
    )
    with pytest.raises(InputError, match="Say which is the verdict") as raised:
        read_verdicts(frame)
    assert raised.value.options == ("--column verdict=turn1", "--column verdict=turn2")
    # The models have a column, under whatever name: these columns are not the models.
    with pytest.raises(InputError) as raised:
        read_verdicts(frame.drop(columns="judge_id"))
    assert raised.value.options == ("--wide score:judge=turn1,turn2", "--wide score:run=turn1,turn2")


def test_numbered_columns_may_be_of_models() -> None:
    frame = pd.DataFrame({"item": ["p", "q"], "score1": [0.2, 0.5], "score2": [0.4, 0.1]})
    _, scores = read_repeats(frame)
    assert "if each is a model's: --wide score:model=score1,score2" in " ".join(scores.warnings)
    _, scores = read_repeats(frame, wide="score:model=score1,score2")
    assert scores.frame["response"].tolist() == ["score1", "score1", "score2", "score2"]


def test_rows_are_not_chosen_by_what_the_judge_replied() -> None:
    battles = {"pair": ["p", "p", "q", "q"] * 2, "order": ["ab", "ba"] * 4, "lang": ["en"] * 4 + ["ko"] * 4}
    replies = pd.DataFrame({**battles, "raw": [*"AABBBABA"], "verdict": [*"abbaabbb"]})
    replies["verdict"] = (
        replies["raw"].str.lower().where(replies["order"] == "ab", replies["raw"].map({"A": "b", "B": "a"}))
    )
    with pytest.raises(InputError) as raised:
        read_pairs(replies.rename(columns={"pair": "pair_id"}))
    assert raised.value.options == ("--where lang=en", "--where lang=ko")


@pytest.mark.parametrize(
    ("frame", "option"),
    [
        ({"doc_id": [1, 2, 3], "system": "x", "human_score": [2.2, 1, 4], "gpt": [3, 2, 1]}, "verdict=gpt"),
        ({"question": ["p", "q"], "davinci_says": [1, 0], "human": [1, None]}, "verdict=davinci_says"),
        ({"qid": [1, 2], "annotator1": [1, 0], "annotator2": [1, 1], "says": ["yes", "no"]}, "verdict=says"),
    ],
)
def test_the_one_column_that_may_hold_verdicts_is_offered(frame: dict[str, Any], option: str) -> None:
    with pytest.raises(InputError) as raised:
        read_verdicts(pd.DataFrame(frame))
    marks = " --label annotator1,annotator2" if "annotator1" in frame else ""
    assert raised.value.options == (f"--column {option}{marks}",)
    # No model is asked for: the answers are one system's.
    assert [problem.column for problem in raised.value.problems] == ["verdict"]


def test_figures_of_the_run_and_one_column_of_labels_are_no_verdicts() -> None:
    frame = pd.DataFrame({"item": [1, 2], "model": "m", "cache_hit": [0, 1], "latency_ms": [7, 8], "cost_usd": [1, 2]})
    frame = frame.assign(third_reviewer_used=[True, False], blinding_substitution_count=[0, 1], tokens_in=[3, 4])
    # In which order answers were shown.
    frame = frame.assign(ordering=[0, 1], was_swapped=[True, False])
    labelled = frame.assign(sent_label=["yes", "no"])
    for log, said in ((frame, "no such column"), (labelled, "'sent_label' may be people's labels")):
        with pytest.raises(InputError, match=said) as raised:
            read_verdicts(log)
        assert raised.value.options == ()
    with pytest.raises(InputError) as raised:
        read_verdicts(labelled.assign(gpt=[1, 0]))
    assert raised.value.options == ("--column verdict=gpt --label sent_label",)
    with pytest.raises(UsageError, match="has no column of scores but known ones"):
        read_verdicts(frame, wide="score:judge")


def test_words_that_people_use_too_are_the_verdict_and_one_that_is_named_is_kept(tmp_path: Path) -> None:
    words = ["1_full", "2_refusal", "1_full", "2_refusal"]
    frame = pd.DataFrame({"id": [1, 2, 3, 4], "kind": [*"xyxy"], "annotation_1": words, "final_label": words})
    frame = frame.assign(agreement=[True, True, False, True], gpt4_label=words)
    named = "--column verdict=gpt4_label"
    with pytest.raises(InputError, match="1 column of verdicts in the table: 'gpt4_label'") as raised:
        read_verdicts(frame)
    assert raised.value.options == (named,)
    with pytest.raises(InputError) as raised:
        read_verdicts(frame, columns={"verdict": "gpt4_label"})
    values = [f"--verdict gpt4_label={word}" for word in words[:2]]
    assert list(raised.value.options) == values
    frame.to_csv(tmp_path / "log.csv", index=False)
    commands = inspect_source(tmp_path / "log.csv").questions["accuracy"].commands
    assert [one.partition("log.csv ")[2] for one in commands] == [f"{named} {value}" for value in values]


def test_a_column_of_experts_holds_labels_and_no_models_verdicts(tmp_path: Path) -> None:
    path = tmp_path / "graded.csv"
    graded = pd.DataFrame({"question_nr": [1, 2, 3] * 2, "agent": [*"xxxyyy"], "auto_grade": [1, 0] * 3})
    graded.assign(Expert=[1, None, 0, None, 1, 0]).to_csv(path, index=False)
    with pytest.raises(InputError, match="Where 'Expert' holds people's labels: --label Expert") as raised:
        read_verdicts(path)
    assert raised.value.options == ("--column verdict=auto_grade --label Expert",)
    (command,) = inspect_source(path).questions["accuracy"].commands
    table = read_verdicts(path, columns={"verdict": "auto_grade"}, label="Expert")
    assert command.endswith(raised.value.options[0])
    assert (table.frame["item"].nunique(), table.frame["model"].nunique(), table.frame["label"].sum()) == (3, 2, 2)
    table = read_verdicts(path, columns={"verdict": "auto_grade"})
    assert any("`--column label=Expert` states that it does" in text for text in table.warnings)


def test_an_annotators_column_of_yes_and_no_is_no_judge() -> None:
    log = pd.DataFrame(
        {"Item": [*"abcd"], "Model": "m", "Verdict": [1, 0, 1, 1], "annotator": ["yes", None, "no", "yes"]}
    )
    table = read_verdicts(log)
    assert table.frame["judge"].unique().tolist() == ["judge"]
    assert any("`--column label=annotator` states that it does" in text for text in table.warnings)
    assert read_verdicts(log, columns={"label": "annotator"}).frame["label"].sum() == 2
    with pytest.raises(InputError) as raised:
        read_verdicts(log.rename(columns={"Verdict": "auto"}))
    assert raised.value.options == ("--column verdict=auto --label annotator",)
    names = log.assign(annotator=[0, 1, 0, 1])
    assert read_verdicts(names).frame["judge"].tolist() == [*"0101"]


def test_a_figure_alone_is_no_verdict() -> None:
    labelled = {"item": [1, 2], "model": "x", "label": [1, 0], "tokens": [348, 200]}
    for frame in ({"metric": ["f1", "em"], "value": [3.2, 4.1]}, labelled):
        with pytest.raises(InputError) as raised:
            read_verdicts(pd.DataFrame(frame))
        assert raised.value.options == ()


def test_codes_that_are_not_listed_are_offered_as_missing(tmp_path: Path) -> None:
    """It was said to recode -1, and not how."""
    rows = {"item": [1, 1, 2, 2], "model_a": "x", "model_b": "y", "judge": "j", "score": [1, 2, 3, -1]}
    path = tmp_path / "log.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    given = {"verdict": "{score:1=a,2=b,3=tie}"}
    whole = "verdict={score:1=a,2=b,3=tie,-1=}"
    with pytest.raises(InputError) as raised:
        read_battles(path, put=given)
    said = refusal(raised.value, "elo", str(path), columns={}, gold=(), choices={"put": given})
    assert "found '-1'; allowed: a, b or tie" in str(said)
    assert str(said).endswith(f"stay as they are: if these are missing, type --set '{whole}'.")
    assert said.options == (f"--set '{whole}'",)
    asked = inspect_source(path, put=given).questions
    assert asked["elo"].commands == [f"bayesjudge elo {path} --set '{whole}'"]
    # The same values are outcomes of repeated trials.
    assert asked["reliability"].commands == [f"bayesjudge reliability {path} --set '{whole}'"]
    assert read_battles(path, put={"verdict": whole.partition("=")[2]}).frame["verdict"].tolist() == [1, 0, 0.5]
    # A value that is no code of --set is not one to list.
    with pytest.raises(InputError) as other:
        read_battles(path, put={"verdict": "{score}"})
    assert (
        refusal(other.value, "elo", str(path), columns={}, gold=(), choices={"put": {"verdict": "{score}"}})
        is other.value
    )
