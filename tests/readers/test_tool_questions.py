"""What each question takes from a tool's rows: the judge's verdict, people's labels, and what it refuses."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from commands import run
from format_fixtures import FIXTURES, packed

from bayesjudge.baselines.accuracy import accuracy_baselines
from bayesjudge.counts.verdicts import count_verdicts
from bayesjudge.errors import InputError, UsageError
from bayesjudge.readers import containers, read_battles, read_pairs, read_repeats, read_verdicts
from bayesjudge.readers.inspection import inspect_source
from bayesjudge.readers.parts import read_parts
from bayesjudge.readers.questions import to_pairs, to_trials
from bayesjudge.readers.reading import Reading


def lines(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


#: By format, the answers' verdicts and labels in order of item and model; None is missing.
MARKED = {
    "inspect-eval": [(1, None), (0, 1)],
    "inspect-json": [(1, None), (0, 1)],
    "promptfoo": [(1, None), (1, 0), (1, None)],
    "promptfoo-jsonl": [(1, None), (1, 0), (1, None)],
    "mlflow": [(1, 0), (0, None)],
    "langsmith-feedback": [(1, 0), (1, None)],
    "langfuse": [(1, 0), (0, None)],
    "langfuse-export": [(1, 0), (0, None)],
    "phoenix": [(1, None), (0, 1)],
    "phoenix-annotations": [(1, 0), (0, None)],
    "weave": [(1, 0), (0, None)],
    "ragas-annotations": [(1, 1), (1, 0), (0, 0)],
    "label-studio": [(1, 1), (1, 0)],
    "argilla": [(0, 1), (1, None)],
}


@pytest.mark.parametrize("name", MARKED)
def test_verdicts_are_the_judges_and_labels_the_persons(name: str, tmp_path: Path) -> None:
    """The verdict is the one before a person's edit."""
    table = read_verdicts(FIXTURES[name].write(tmp_path))
    frame = table.frame.sort_values(["item", "model"], kind="stable")
    labels = [None if label is pd.NA else int(label) for label in frame["label"]]
    assert list(zip(frame["verdict"].tolist(), labels, strict=True)) == MARKED[name]
    assert table.label_source == "human"
    assert "missing judge" not in table.dropped


#: Formats of comparisons.
COMPARED = {"mt-bench-pair", "arena-hard", "alpaca-eval", "wildbench-pair", "judgebench"}
#: Formats of single answers that know no people.
UNMARKED = [name for name, fixture in FIXTURES.items() if not fixture.labels and name not in COMPARED]


@pytest.mark.parametrize("name", UNMARKED)
def test_no_reference_answer_becomes_a_label(name: str, tmp_path: Path) -> None:
    """``target``, ``expected``, ``ground_truth`` and the like of every tool."""
    table = read_verdicts(FIXTURES[name].write(tmp_path), threshold=1)
    assert table.label_source is None
    assert not table.frame["label"].notna().any()


REFERENCE_NAMES = [
    "target",
    "reference",
    "reference_answer",
    "expected",
    "expected_output",
    "ideal",
    "answer",
    "ground_truth",
    "truth",
    "gold_answer",
    "correct_answer",
]


@pytest.mark.parametrize("name", REFERENCE_NAMES)
@pytest.mark.parametrize("values", [["0", "1"], ["yes", "no"], ["Paris", "Rome"]])
def test_a_plain_tables_reference_answers_are_said_to_be_none(name: str, values: list[str]) -> None:
    frame = pd.DataFrame({"item": [1, 2], "model": "m", "verdict": [1, 0], name: values})
    table = read_verdicts(frame)
    assert not table.frame["label"].notna().any()
    said = [text for text in table.warnings if name in text]
    # The text of an answer is the model's in most tables: nothing to say of it.
    assert len(said) == (0 if name == "answer" and values[0] == "Paris" else 1)


#: Names of reference answers that are something else in a tool's own records.
OWN = {"prodigy": {"answer"}}


#: Tables and lines of records, but for tables without names of columns.
NAMING = [
    name
    for name, fixture in FIXTURES.items()
    if isinstance(fixture.content, list | pd.DataFrame) and not fixture.name.endswith(".qrels")
]


@pytest.mark.parametrize("name", NAMING)
def test_reference_answers_in_a_tools_records_are_no_labels(name: str, tmp_path: Path) -> None:
    """Each of the eleven names in every record, as 0 and 1: as many labels as without."""
    fixture = FIXTURES[name]
    own = OWN.get(name, set())
    if isinstance(fixture.content, pd.DataFrame):
        more = {key: [k % 2 for k in range(len(fixture.content))] for key in REFERENCE_NAMES}
        fixture = replace(
            fixture, content=fixture.content.drop(columns=REFERENCE_NAMES, errors="ignore").assign(**more)
        )
    else:
        records = [
            record | {key: k % 2 for key in REFERENCE_NAMES if key not in own} if "spec" not in record else record
            for k, record in enumerate(fixture.content)
        ]
        fixture = replace(fixture, content=records)
    (part,) = read_parts(fixture.write(tmp_path))
    assert part.tool is not None
    assert part.tool.name == fixture.tool
    marks = [part.frame[column].notna().sum() for column in ("label", "human") if column in part.frame]
    assert sum(marks) == fixture.labels


@pytest.mark.parametrize("name", ["lmarena", "lmarena-kaggle", "mt-bench-votes"])
def test_peoples_votes_are_no_judges_trials(name: str, tmp_path: Path) -> None:
    path = FIXTURES[name].write(tmp_path)
    assert read_battles(path).frame["human"].notna().all()
    for read in (read_repeats, read_pairs):
        with pytest.raises(UsageError, match=r"only people judged.*the question is elo"):
            read(path)
    with pytest.raises(UsageError, match="comparisons of two models: the question is elo"):
        read_verdicts(path)


@pytest.mark.parametrize(
    ("name", "graded", "what"),
    [
        ("alpaca-eval", {"preference": 1.3}, "probabilities"),
        ("mt-bench-pair", {"m1_score": 7, "m2_score": 4}, "scores"),
    ],
)
def test_grades_are_no_verdicts_that_repeat(name: str, graded: dict[str, Any], what: str, tmp_path: Path) -> None:
    content = FIXTURES[name].content
    assert isinstance(content, list)
    fixture = replace(FIXTURES[name], content=[{**record, **graded} for record in content])
    (part,) = read_parts(fixture.write(tmp_path))
    for ask in (to_trials, to_pairs):
        with pytest.raises(UsageError, match=rf"comparisons are {what}.*the question is elo") as refused:
            ask(part)
        assert refused.value.lacks == f"a judge's verdicts (its comparisons are {what})"


@pytest.mark.parametrize("name", ["wildbench-pair", "mt-bench-pair", "arena-hard", "alpaca-eval"])
def test_judges_winners_are_no_votes(name: str, tmp_path: Path) -> None:
    battles = read_battles(FIXTURES[name].write(tmp_path), put={"model_a": "x", "model_b": "y"})
    assert battles.frame["verdict"].notna().any()
    assert not battles.frame["human"].notna().any()


def test_plain_logs_are_sent_to_their_question() -> None:
    single = pd.DataFrame({"item": [1, 1], "model": ["m", "k"], "judge": "j", "verdict": [1, 0]})
    for read in (read_repeats, read_battles):
        with pytest.raises(UsageError, match="the question is accuracy"):
            read(single)
    # The column that one name has is no candidate for the other.
    with pytest.raises(InputError, match="--column model_b=your_column"):
        read_battles(pd.DataFrame({"item": [1], "model_a": ["m"], "human": [1]}))
    battle = pd.DataFrame({"battle": [1, 2], "model_a": "x", "model_b": "y", "judge": "j", "winner": ["a", "b"]})
    with pytest.raises(UsageError, match="the question is elo"):
        read_verdicts(battle)


def test_a_judge_that_always_prefers_the_first_answer_is_no_evidence(tmp_path: Path) -> None:
    """In game 1 of Arena-Hard answer A is the baseline, in game 2 the model."""
    records = [
        {
            "uid": f"u{k}",
            "model": model,
            "baseline": "base",
            "judge": "j",
            "games": [{"score": "A>B"}, {"score": "A>>B"}],
        }
        for k in range(5)
        for model in ("x", "z")
    ]
    battles = read_battles(lines(tmp_path / "games.jsonl", records)).frame
    assert battles.groupby("model_a")["verdict"].mean().tolist() == [0.5, 0.5]
    assert set(zip(battles["order"], battles["verdict"], strict=True)) == {("ba", 0.0), ("ab", 1.0)}


@pytest.mark.parametrize("read", [read_battles, read_repeats, read_pairs])
def test_games_without_a_baseline_need_its_name(read: Any, tmp_path: Path) -> None:
    """Arena-Hard v0.1: every row was dropped for a missing model, with a message about the table as a whole."""
    records = [{"question_id": "u", "model": "x", "judge": "j", "games": [{"score": "A>B"}, {"score": "A>B"}]}]
    path = lines(tmp_path / "games.jsonl", records)
    with pytest.raises(UsageError, match=r"no record names 'model_b'.* --set model_b=NAME") as raised:
        read(path)
    assert raised.value.options == ("--set model_b=NAME",)
    read(path, put={"model_b": "base"})
    # A note that asks for the baseline stayed where it was named.
    said = [read_parts(path, Reading(put=put))[0].notes for put in ({}, {"judge": "k"}, {"model_b": "base"})]
    assert [any("--set model_b=" in note for note in notes) for notes in said] == [True, True, False]
    assert read_battles(path, columns={"model_b": "order"}).frame["model_b"].tolist() == ["ba", "ab"]
    asked = inspect_source(path).questions
    for question in ("elo", "reliability", "audit"):
        assert asked[question].commands[0].startswith(f"bayesjudge {question} {path} --set model_b=NAME")


def test_a_baseline_other_than_the_records_is_named_and_one_that_nothing_names_is_said_to_be_unchecked(
    tmp_path: Path,
) -> None:
    """Any name was accepted without a word."""
    game = {"model": "x", "judge": "j", "games": [{"score": "A>B"}, {"score": "A>B"}]}
    path = lines(tmp_path / "games.jsonl", [game | {"uid": "u", "baseline": "o3-mini"}])
    said = f"'model_b' of {path} is 'o4' as stated, in place of 'o3-mini' in 2 of 2 rows"
    assert said in read_battles(path, put={"model_b": "o4"}).warnings
    assert not any("as stated" in one for one in read_battles(path, put={"model_b": "o3-mini"}).warnings)
    path = lines(tmp_path / "old.jsonl", [game | {"question_id": "u"}])
    checked = "the records name no baseline by which to check the one stated as model_b (v0.1: gpt-4-0314)"
    assert checked in read_battles(path, put={"model_b": "o4"}).warnings


#: Scores that a tool's own record says were computed by code.
BY_CODE: dict[str, list[dict[str, Any]]] = {
    "phoenix": [
        {
            "input": f"q{k}",
            "ok_score": json.dumps({"score": k, "kind": "code", "metadata": {"model": "x"}}),
            "ok_execution_details": json.dumps({"status": "COMPLETED"}),
        }
        for k in (0, 1)
    ],
    "phoenix-annotations": [
        {"span_id": f"s{k}", "annotation_name": "ok", "annotator_kind": "CODE", "score": k, "label": None}
        for k in (0, 1)
    ],
    "mlflow": [
        {
            "trace_id": f"t{k}",
            "run_name": "run",
            "inputs": {"q": k},
            "assessments": [
                {
                    "assessment_name": "ok",
                    "source": {"source_type": "CODE", "source_id": "exact_match"},
                    "feedback": {"value": k},
                }
            ],
        }
        for k in (0, 1)
    ],
    "bedrock": [
        {
            "automatedEvaluationResult": {"scores": [{"metricName": "Accuracy", "result": k}]},
            "inputRecord": {"prompt": f"q{k}"},
            "modelResponses": [{"response": "x", "modelIdentifier": "nova"}],
        }
        for k in (0, 1)
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "held"),
    [
        ("lm-eval", "score"),
        ("rewardbench", "score"),
        ("promptfoo-jsonl", "verdict"),
        ("phoenix", "score"),
        ("phoenix-annotations", "score"),
        ("mlflow", "score"),
        ("bedrock", "score"),
    ],
)
def test_metrics_without_a_judge_are_their_own_labels(name: str, held: str, tmp_path: Path) -> None:
    """They were answered with a command that draws answers to label."""
    path = FIXTURES[name].write(tmp_path)
    if name == "promptfoo-jsonl":
        assert read_verdicts(path).metric is None
        graded = {"componentResults": [{"pass": True, "assertion": {"type": "equals"}}]}
        path = lines(path, [{**record, "gradingResult": graded} for record in FIXTURES[name].content])
    if name in BY_CODE:
        assert read_verdicts(path, threshold=1).metric is None
        path = lines(tmp_path / "by_code.jsonl", BY_CODE[name])
    table = read_verdicts(path, threshold=1, put={"label": f"{{{held}}}"})
    assert read_verdicts(path, threshold=1).metric == table.metric == held
    assert table.frame["label"].tolist() == table.frame["verdict"].tolist()
    asked = inspect_source(path, threshold="1").questions["accuracy"]
    assert asked.lacks[0].startswith("a judge: these are metrics by reference")
    options = f"--threshold 1 --set 'label={{{held}}}'"
    assert asked.commands == [f"bayesjudge {one} {options}" for one in (f"accuracy {path}", f"compare {path} AFTER")]
    # Who names a judge has one.
    assert read_verdicts(path, threshold=1, put={"judge": "gpt"}).metric is None


def test_both_games_of_judgebench_are_about_one_pair(tmp_path: Path) -> None:
    """In game 2 answer B stands first; a judge that follows the position contradicts itself."""
    records = [
        {
            "pair_id": f"p{k}",
            "response_model": "x",
            "label": label,
            "judgments": [{"decision": decision, "judgment": {"judge_model": "j"}} for decision in games],
        }
        for k, (label, games) in enumerate((("A>B", ("A>B", "A>B")), ("B>A", ("B>A", "A>B")), ("B>A", ("A=B", "B>A"))))
    ]
    pairs = read_pairs(lines(tmp_path / "judgments.jsonl", records))
    assert pairs.frame["order"].tolist() == ["ab", "ba", "ab", "ba", "ba"]
    assert pairs.frame["judge_prefers"].tolist() == ["a", "b", "b", "b", "a"]
    assert pairs.frame["human_prefers"].tolist() == ["a", "a", "b", "b", "b"]
    assert pairs.dropped == {"tie by the judge": 1}


def test_failed_grades_are_no_scores(tmp_path: Path) -> None:
    _, scores = read_repeats(FIXTURES["mt-bench-single"].write(tmp_path))
    assert scores is not None
    assert scores.frame["score"].tolist() == [9.0, 4.0]


def test_several_criteria_are_a_choice_with_commands(tmp_path: Path) -> None:
    records = [
        {
            "span_id": f"s{k}",
            "root_span_id": f"s{k}",
            "input": f"q{k}",
            "scores": {"Relevance": k % 2, "Human": 1, "Length": 7 * k},
        }
        for k in range(4)
    ]
    path = lines(tmp_path / "experiment.jsonl", records)
    with pytest.raises(UsageError, match=r"experiment.jsonl holds 3 criteria .*; --verdict Relevance"):
        read_verdicts(path)
    table = read_verdicts(path, verdict="Relevance", label="Human")
    assert table.frame["verdict"].tolist() == [0, 1, 0, 1]
    assert table.frame["label"].tolist() == [1, 1, 1, 1]
    with pytest.raises(UsageError, match="no such criterion; it has 'Human', 'Length', 'Relevance'"):
        read_verdicts(path, verdict="Truth")
    with pytest.raises(InputError, match=r"scores from 0 to 21 .*--threshold; shares of yes: .*'>=7' 75%"):
        read_verdicts(path, verdict="Length")
    assert read_verdicts(path, verdict="Length", threshold=">=14").frame["verdict"].tolist() == [0, 0, 1, 1]


def test_words_of_a_criterion_need_a_meaning(tmp_path: Path) -> None:
    first = {"spec": {"completion_fns": ["gpt", "o3"]}}
    events = [
        {"run_id": "r", "event_id": k, "sample_id": f"s{k}", "type": "metrics", "data": {"choice": choice}}
        for k, choice in enumerate(["Y", "N", "Unsure"])
    ]
    path = lines(tmp_path / "run.jsonl", [first, *events])
    with pytest.raises(InputError, match="neither yes nor no: 'N', 'Unsure', 'Y'") as raised:
        read_verdicts(path)
    assert raised.value.options == ("--verdict choice=Y", "--verdict choice=N")
    assert "--verdict choice=Y (1 rows); --verdict choice=N (1 rows)" in str(raised.value)
    assert inspect_source(path).questions["accuracy"].commands[0] == f"bayesjudge accuracy {path} --verdict choice=Y"
    assert read_verdicts(path, verdict="choice=Y").frame["verdict"].tolist() == [1, 0]
    # Replies that differ in nearly every row are no words to choose among.
    long = lines(path, [first, *({**events[0], "data": {"choice": f"Reply {k}"}} for k in range(20))])
    with pytest.raises(InputError, match=r"neither yes nor no: 'Reply 0', .*others then mean no: several by") as raised:
        read_verdicts(long)
    assert not raised.value.options


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("case_id", "human_label", "judge_label"), ("pass", "fail")),
        (("id", "human", "judge"), ("yes", "no")),
        (("test_id", "human_verdict", "judge_verdict"), ("true", "false")),
        ((None, "human_label", "judge_label"), ("correct", "incorrect")),
    ],
)
def test_the_smallest_file_is_of_one_system(
    names: tuple[str | None, str, str], words: tuple[str, str], tmp_path: Path
) -> None:
    columns = {names[0]: range(6)} if names[0] else {}
    pairs = [(0, 0), (0, 1), (1, 1), (0, None), (1, None), (1, 0)]
    verdicts = [words[1 - verdict] for verdict, _ in pairs]
    labels = [None if label is None else words[1 - label] for _, label in pairs]
    path = tmp_path / "support.csv"
    pd.DataFrame({**columns, names[1]: labels, names[2]: verdicts}).to_csv(path, index=False)
    table = read_verdicts(path)
    assert set(table.frame["model"]) == {"support"}
    assert table.frame["verdict"].tolist() == [verdict for verdict, _ in pairs]
    assert table.frame["label"].isna().tolist() == [label is None for _, label in pairs]
    assert table.frame["item"].nunique() == 6


def _three_columns() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    right = rng.random(90) < 0.7
    judged = np.where(right, rng.random(90) < 0.9, rng.random(90) < 0.3)
    marks = pd.Series(np.where(right, "pass", "fail"), dtype=object).where(np.arange(90) < 40)
    return pd.DataFrame({"case_id": range(90), "human_label": marks, "judge_label": np.where(judged, "pass", "fail")})


def test_three_columns_give_the_rows_of_our_own_names(tmp_path: Path) -> None:
    frame = _three_columns()
    frame.to_csv(tmp_path / "support.csv", index=False)
    ours = frame.set_axis(["item", "label", "verdict"], axis=1).assign(model="support", judge="judge_label")
    ours = ours.replace({"pass": 1, "fail": 0})
    found = [
        accuracy_baselines(counts, counts.judges[0], bootstrap=200).frame.drop(columns=["judge"])
        for counts in (count_verdicts(read_verdicts(one)) for one in (tmp_path / "support.csv", ours))
    ]
    pd.testing.assert_frame_equal(*found)
    assert (found[0]["method"] == "ppi++").any()


@pytest.mark.slow
def test_three_columns_are_answered_without_an_option(tmp_path: Path) -> None:
    _three_columns().to_csv(tmp_path / "support.csv", index=False)
    done = run("accuracy", tmp_path / "support.csv", "--html", tmp_path / "page.html", "--quiet")
    assert done.exit_code == 0, done.output
    assert "support" in done.stdout
    assert "accuracy" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_table_in_which_a_judge_answers_twice_needs_its_models() -> None:
    with pytest.raises(InputError, match="column 'model'"):
        read_verdicts(pd.DataFrame({"item": [1, 1], "verdict": [1, 0]}))


def test_of_several_files_all_or_none_are_of_one_system_each(tmp_path: Path) -> None:
    """Rows of the files with an item twice had no model, and were dropped next to the others' rows."""
    for name, items in (("one", [1, 2]), ("two", [1, 1, 2])):
        pd.DataFrame({"item": items, "verdict": 1}).to_csv(tmp_path / f"{name}.csv", index=False)
    with pytest.raises(InputError, match=r"no such column in 1 of 2 files, for instance .*two\.csv") as raised:
        read_verdicts(tmp_path)
    assert raised.value.options == ("--set 'model={file}'",)
    assert set(read_verdicts(tmp_path, put={"model": "{file}"}).frame["model"]) == {"one", "two"}
    commands = inspect_source(tmp_path).questions["accuracy"].commands
    assert commands[0] == f"bayesjudge accuracy {tmp_path} --set 'model={{file}}'"
    # The names of files would take the place of a column of models.
    pd.DataFrame({"item": [1, 2], "model": "m", "verdict": 1}).to_csv(tmp_path / "one.csv", index=False)
    with pytest.raises(InputError, match=r"--column model=\.\.\.") as raised:
        read_verdicts(tmp_path)
    assert raised.value.options == ()


@pytest.mark.slow
def test_files_with_the_same_labels_are_of_judges_not_of_systems(tmp_path: Path) -> None:
    labels = pd.Series([0, 1] * 6, index=pd.RangeIndex(12, name="item"), name="label")
    for name, wrong in (("gpt", 3), ("claude", 8)):
        log = labels.to_frame().assign(verdict=labels.where(labels.index != wrong, 1 - labels))
        log.to_csv(tmp_path / f"{name}.csv")
    with pytest.raises(UsageError, match="the same label in all 2 files on each of 12 items, and no column") as raised:
        read_verdicts(tmp_path)
    judges = f"--set 'judge={{file}}' --set model={tmp_path.name}"
    assert raised.value.options == (judges, "--set 'model={file}'")
    commands = inspect_source(tmp_path).questions["accuracy"].commands
    assert commands[0] == f"bayesjudge accuracy {tmp_path} {judges}"
    table = read_verdicts(tmp_path, put={"judge": "{file}", "model": "answers"}).frame
    assert table.groupby("judge")["item"].nunique().to_dict() == {"claude": 12, "gpt": 12}
    assert set(read_verdicts(tmp_path, put={"model": "{file}"}).frame["model"]) == {"claude", "gpt"}
    # Two good systems may have the same few wrong answers, and one label that differs is another answer's.
    log.assign(label=labels.where(labels.index > 3, 1)).to_csv(tmp_path / "claude.csv")
    assert set(read_verdicts(tmp_path).frame["model"]) == {"claude", "gpt"}
    for name in ("gpt", "claude"):
        log.assign(label=labels.where(labels.index > 3, 1)).to_csv(tmp_path / f"{name}.csv")
    assert set(read_verdicts(tmp_path).frame["model"]) == {"claude", "gpt"}


def test_marks_from_an_annotation_tool_are_labels_of_another_tools_answers(tmp_path: Path) -> None:
    """What people marked in Label Studio, two of them one answer differently, beside a table of verdicts."""
    tasks = [
        {
            "id": k,
            "data": {"item": f"q{k}", "model": "m"},
            "annotations": [
                {
                    "completed_by": person,
                    "was_cancelled": False,
                    "result": [{"from_name": "ok", "value": {"choices": [choice]}}],
                }
                for person, choice in marks
            ],
        }
        for k, marks in enumerate([[(1, "yes")], [(1, "yes"), (2, "no"), (3, "no")], []])
    ]
    (tmp_path / "tasks.json").write_text(json.dumps(tasks))
    log = pd.DataFrame({"item": ["q0", "q1", "q2"], "model": "m", "verdict": [1, 1, 0]})
    table = read_verdicts(log, labels=tmp_path / "tasks.json")
    assert [None if label is pd.NA else int(label) for label in table.frame["label"]] == [1, 0, None]
    assert table.annotations is not None
    assert table.annotations["annotator"].tolist() == ["1", "1", "2", "3"]


def test_a_pretty_printed_object_is_one_record(tmp_path: Path) -> None:
    path = tmp_path / "row.json"
    path.write_text(json.dumps({"item": "q", "model": "m", "verdict": 1}, indent=2))
    assert read_verdicts(path).frame["verdict"].tolist() == [1]


def test_a_file_without_a_telling_ending_is_sniffed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("log", "log.txt", "log.log"):
        (tmp_path / name).write_text('{"item": "q", "model": "m", "verdict": 1}\n')
        assert len(read_verdicts(tmp_path / name)) == 1
    with pytest.raises(UsageError, match="curl -LO https://"):
        read_verdicts("https://example.org/log.csv")
    for name, said in (("log.xls", "save the sheet as CSV"), ("log.xlsx", r"pip install 'bayesjudge\[xlsx\]'")):
        (tmp_path / name).write_bytes(b"PK")
        monkeypatch.setitem(sys.modules, "openpyxl", None)
        with pytest.raises(UsageError, match=said):
            read_verdicts(tmp_path / name)


@pytest.mark.parametrize("name", ["judge.clean.json", "judge.jsonl"])
def test_relevance_judgements_are_read_by_any_name(tmp_path: Path, name: str) -> None:
    """They were refused as no JSON: `umbrela_zeroshot_dl19.clean.json` holds TREC's lines."""
    (tmp_path / name).write_text("19335 0 1017759 1\n19335 0 1082489 0\n")
    table = read_verdicts(tmp_path / name, threshold=1)
    assert table.frame["verdict"].tolist() == [1, 0]


def test_a_log_of_many_samples_is_read_from_two_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []

    def counted(stream: Any, info: zipfile.ZipInfo, source: Any) -> bytes:
        read.append(info.filename)
        return content(stream, info, source)

    content = containers._content  # what is counted is how often a member is unpacked
    monkeypatch.setattr(containers, "_content", counted)
    summaries = [
        {"id": f"q{k}", "epoch": 1, "target": "x", "scores": {"qa": {"value": "CI"[k % 2]}}} for k in range(300)
    ]
    samples = {f"samples/q{k}_epoch_1.json": {"messages": ["x"]} for k in range(300)}
    run = {"header.json": {"eval": {"task": "t", "model": "m"}}, "summaries.json": summaries}
    (tmp_path / "log.eval").write_bytes(packed({**run, **samples}))
    assert len(read_verdicts(tmp_path / "log.eval")) == 300
    assert read == ["header.json", "summaries.json"]


def test_conversations_of_votes_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parsing reads less than 5 % of the file; its SHA-256 is of all of it."""
    rng = np.random.default_rng(1)
    texts = [rng.bytes(4000).hex() for _ in range(300)]
    frame = pd.DataFrame({"id": range(300), "model_a": "x", "model_b": "y", "winner": "model_a"})
    path = tmp_path / "votes.parquet"
    frame.assign(conversation_a=texts, conversation_b=texts[::-1]).to_parquet(path)
    read = [0]

    class Counted(io.FileIO):
        def readinto(self, buffer: Any) -> int | None:
            got = super().readinto(buffer)
            read[0] += got or 0
            return got

        def read(self, size: int | None = -1) -> bytes | None:
            got = super().read(-1 if size is None else size)
            read[0] += len(got or b"")
            return got

    monkeypatch.setattr("bayesjudge.readers.tabular._natively", lambda source: pa.PythonFile(Counted(source.path)))
    assert len(read_battles(path)) == 300
    assert 0 < read[0] < 0.05 * path.stat().st_size
