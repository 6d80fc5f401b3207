"""``bayesjudge inspect`` on every tool's file."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pandas as pd
import pytest
from format_fixtures import FIXTURES
from typer.testing import CliRunner

from bayesjudge.cli import app
from bayesjudge.errors import InputError
from bayesjudge.readers import read_battles, read_repeats, read_verdicts
from bayesjudge.readers.inspection import inspect_source, inspection_schema

#: Commands that some files need to answer a question: a baseline that no record names, a threshold.
SAID = {
    "arena-hard": [],
    "rewardbench": ["--threshold", "1"],
    "mt-bench-single": ["--threshold", "5"],
    "wildbench-score": ["--threshold", "5"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FIXTURES)
def test_every_file_is_named_and_counted(name: str, tmp_path: Path) -> None:
    fixture = FIXTURES[name]
    path = fixture.write(tmp_path)
    ran = CliRunner().invoke(app, ["inspect", str(path), "--json", *SAID.get(name, [])])
    found = json.loads(ran.stdout)
    jsonschema.validate(found, inspection_schema())
    assert ran.exit_code == 0
    assert all(one["possible"] != bool(one["lacks"]) for one in found["questions"].values())
    assert (found["format"], found["items"]) == (fixture.tool, len(fixture.items))
    assert set(fixture.judges) == set(found["judges"])
    assert set(fixture.models) <= set(found["models"])
    assert (found["records"], found["rows"]) == (found["files"][0]["records"], found["files"][0]["rows"])
    assert found["labels"] == fixture.labels
    for reason, n in fixture.dropped.items():
        assert found["dropped"][reason] >= n
    shown = CliRunner().invoke(app, ["inspect", str(path), *SAID.get(name, [])])
    assert found["title"] in shown.stdout
    assert len(shown.stdout.splitlines()) <= 25


def run_inspect(*arguments: str) -> dict[str, Any]:
    ran = CliRunner().invoke(app, ["inspect", "--json", *arguments])
    assert ran.exit_code == 0
    questions: dict[str, Any] = json.loads(ran.stdout)["questions"]
    return questions


def test_values_that_are_not_allowed_are_said_with_their_column(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    pd.DataFrame({"item": ["q1"], "model": ["m"], "prediction": ["Rome"]}).to_csv(path, index=False)
    # No question can be asked of it, so that the command exits with 2.
    (lacks,) = inspect_source(path).questions["accuracy"].lacks
    assert lacks.startswith("in column 'prediction' (read as verdict): 0 or 1, ")


@pytest.mark.slow
def test_what_a_file_lacks_is_said_with_what_to_type(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    log = pd.DataFrame({"item": [1, 2], "model": "m", "judge": "j", "points": [1, 0], "prompt": ["x y", "z"]})
    log.to_csv(path, index=False)
    found = run_inspect(str(path), "--column", "verdict=points", "--where", "prompt=x y", "--where", "item<2")
    (lacks,) = found["accuracy"]["lacks"]
    assert lacks.startswith("people's labels on some answers: 385 of each model's")
    typed = f"bayesjudge accuracy {path} --column verdict=points --where 'prompt=x y' --where 'item<2'"
    sheet = f"{typed.replace('bayesjudge', 'bayesjudge next', 1)} --out to_label.csv"
    assert found["accuracy"]["commands"] == [sheet, f"{typed} --gold to_label.csv"]
    assert "a column named 'model_b'" in found["elo"]["lacks"]
    assert not any("one tool" in text for text in found["elo"]["lacks"])
    scores = tmp_path / "scores.csv"
    pd.DataFrame({"item": [1, 2, 3], "model": "m", "verdict": [7, 8, 9]}).to_csv(scores, index=False)
    found = run_inspect(str(scores))["accuracy"]
    assert found["lacks"] == ["0 and 1, yes and no, or a threshold"]
    assert found["commands"] == [f"bayesjudge accuracy {scores} --threshold '>={bound}'" for bound in (8, 9)]


def test_several_criteria_are_listed_with_their_commands(tmp_path: Path) -> None:
    records = [{"span_id": k, "root_span_id": k, "input": k, "scores": {"a b": 1, "c": 0}} for k in "12"]
    path = tmp_path / "log.json"
    path.write_text(json.dumps(records))
    found = run_inspect(str(path))["accuracy"]
    assert found["lacks"] == ["a choice of one of 2 criteria of a judge"]
    assert found["commands"] == [f"bayesjudge accuracy {path} --verdict {name}" for name in ("'a b'", "c")]


COMPARED = {"model_a": "x", "model_b": "y", "winner": [*"abbaabab"]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "columns"),
    [
        ("reliability", {"winner": [*"abbaabab"]}),
        ("reliability", {"response": "r", "score": [3, 1, 2, 2, 4, 5, 1, 2]}),
        ("elo", COMPARED),
        ("accuracy", {"model": "m", "verdict": [0, 1, 1, 0, 0, 1, 0, 1], "label": 1}),
    ],
)
def test_criteria_in_a_column_are_no_repetitions(question: str, columns: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    log = pd.DataFrame({"item": [*"ppqqrrss"], "judge": "j", "aspect": ["style", "the facts"] * 4, **columns})
    number = "trial" if question == "reliability" else "run"
    each = [f"bayesjudge {question} {path} {one}" for one in ("--where aspect=style", "--where 'aspect=the facts'")]
    numbered = f"bayesjudge {question} {path} --column {number}=aspect"
    pd.concat([log, log]).to_csv(path, index=False)
    found = run_inspect(str(path))[question]
    assert (found["possible"], found["lacks"]) == (False, ["a choice of one of 2 values of 'aspect'"])
    assert found["commands"] == [*each, numbered]
    log.to_csv(path, index=False)
    # Within one aspect nothing was judged twice, which only reliability needs.
    assert run_inspect(str(path))[question]["commands"] == ([numbered] if number == "trial" else [*each, numbered])
    both = pd.concat([log.assign(order="ab"), log.assign(order="ba")])
    both.to_csv(path, index=False)
    assert run_inspect(str(path))[question]["commands"] == [*each, numbered]
    log.assign(trial=[1, 2] * 4, run=[1, 2] * 4).to_csv(path, index=False)
    assert run_inspect(str(path))[question]["possible"]
    # A column that varies by chance names nothing.
    log.assign(aspect=[*"abaabbab"]).to_csv(path, index=False)
    assert run_inspect(str(path))[question]["possible"]


def test_people_who_differ_by_criterion_are_offered_each(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    log = pd.DataFrame({"item": [*"ppqqrrss"], **COMPARED, "aspect": ["style", "facts"] * 4})
    log.assign(judge="j", human=log["winner"]).to_csv(path, index=False)
    each = [f"bayesjudge elo {path} --where aspect={name}" for name in ("facts", "style")]
    assert sorted(run_inspect(str(path))["elo"]["commands"]) == each


def test_a_vote_next_to_several_verdicts_is_one(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    log = pd.DataFrame({"item": ["p", "q"], "judge": "j", "verdict": ["a", "b"], "human": ["a", "b"]})
    ab, ba = ({"model_a": "x", "model_b": "y"}, {"model_a": "y", "model_b": "x"})
    turned = log.assign(**ba, order="ba", verdict=["b", "a"], human=["b", "a"])
    pd.concat([log.assign(**ab, order="ab"), log.assign(**ab, order="ba"), turned.assign(judge="k")]).to_csv(path)
    assert run_inspect(str(path))["elo"]["why"] == "6 comparisons, 2 votes of people"


def test_repetitions_in_different_files_need_a_judge_or_a_number(tmp_path: Path) -> None:
    """Files of three judges, none of which names its own, were fifty items judged again."""
    for folder in ("heron", "lynx"):
        (tmp_path / folder).mkdir()
        pd.DataFrame({"item": ["q1", "q2"], "winner": ["a", "b"]}).to_csv(tmp_path / folder / "v.csv", index=False)
    source = str(tmp_path / "*" / "v.csv")
    found = run_inspect(source)["reliability"]
    assert found["lacks"] == ["a judge or a trial for each of 2 files"]
    typed = [f"bayesjudge reliability {shlex.quote(source)} --set '{name}={{folder}}'" for name in ("trial", "judge")]
    assert found["commands"] == typed
    trials, _ = read_repeats(source)
    assert trials is not None
    assert "Where each file is another judge's: --set 'judge={folder}'" in " ".join(trials.warnings)
    assert run_inspect(source, "--set", "trial={folder}")["reliability"]["possible"]


@pytest.mark.parametrize("judge", ["{folder}", "{judge}"])
def test_a_judges_files_of_several_tasks_are_doubtful_repetitions(judge: str, tmp_path: Path) -> None:
    """Each task numbers its items from 1: of 137 battles of each of three judges 40 were left, runs of one another."""
    for name in ("heron", "lynx"):
        (tmp_path / name).mkdir()
        for task, verdicts in {"chat": "aab", "code": "bba"}.items():
            rows = pd.DataFrame({"id": [1, 2, 3], "model_a": "x", "model_b": "y", "verdict": [*verdicts]})
            rows.assign(judge=name).drop(columns=[] if "judge" in judge else ["judge"]).to_csv(
                tmp_path / name / f"{task}.csv", index=False
            )
    source = str(tmp_path)
    named = [] if "judge" in judge else ["--set", f"judge={judge}"]
    found = run_inspect(source, *named)["elo"]
    assert found["lacks"] == ["a run for each of 4 files"]
    typed = " ".join(["bayesjudge elo", source, *map(shlex.quote, named)])
    assert found["commands"] == [f"{typed} --set 'run={{file}}'", f"{typed} --set 'id={{file}} {{id}}'"]
    put = dict(one.split("=", 1) for one in named[1:])
    battles = read_battles(source, put=put)
    assert "no file has an item of one judge twice, and no column names a run" in battles.warnings[0]
    apart = read_battles(source, put={**put, "id": "{file} {id}"})
    assert (apart.frame["item"].nunique(), apart.warnings) == (6, ())


def test_folders_of_files_that_share_names_and_items(tmp_path: Path) -> None:
    """Neither the file's name nor the folder's tells rows apart: what was offered first was refused."""
    for name in ("heron", "lynx"):
        (tmp_path / name).mkdir()
        for task in ("chat", "code"):
            rows = pd.DataFrame({"id": [1, 2, 3], "model_a": "x", "model_b": "y", "verdict": [*"aab"]})
            rows.to_csv(tmp_path / name / f"{task}.csv", index=False)
    found = run_inspect(str(tmp_path))["elo"]
    assert found["lacks"] == ["a judge or a run for each of 4 files"]
    ways = [f"--set '{name}={{folder}}' --set 'id={{file}} {{id}}'" for name in ("run", "judge")]
    assert found["commands"] == [f"bayesjudge elo {tmp_path} {way}" for way in ways]
    assert run_inspect(str(tmp_path), "--set", "judge={folder}", "--set", "id={file} {id}")["elo"]["possible"]


def by_language(folder: Path, **columns: list[str]) -> str:
    """Two models' answers to three items in each of two languages, under the same names; columns by language."""
    rows = pd.DataFrame({"item_id": [1, 2, 3] * 2, "model": [*"xxxyyy"]})
    for place, language in enumerate(("en", "ko")):
        (folder / language).mkdir()
        more = {
            name: cells[place] * 2 if isinstance(cells[place], list) else cells[place]
            for name, cells in columns.items()
        }
        rows.assign(verdict=[place, 0, 1, 1, 1, 0], **more).to_csv(folder / language / "log.csv", index=False)
    return str(folder)


@pytest.mark.parametrize(
    ("columns", "apart"),
    [
        ({"question": [["A", "B", "C"], ["가", "나", "다"]]}, "question"),
        # Whatever it is called, it is what both models' answers in a file have in common.
        ({"passage_shown": [["A", "B", "C"], ["가", "나", "다"]]}, "passage_shown"),
        ({"language": ["English", "Korean"]}, "language"),
        ({"question": [["A", "B", "C"], ["A", "B", "C"]], "day": ["Monday", "Tuesday"]}, None),
        # A judge's prompt is of a file, its reasons are of an answer.
        ({"prompt": ["Be strict.", "Be kind."]}, None),
        ({}, None),
    ],
)
def test_folders_by_language_hold_other_items(columns: dict[str, Any], apart: str | None, tmp_path: Path) -> None:
    """Rows of two languages counted as repetitions of one judge; where nothing tells, all ways are offered."""
    source = by_language(tmp_path, **columns)
    found = inspect_source(source)
    typed = f"bayesjudge accuracy {source} --set "
    asked = [f"{typed}{each}" for each in ("'run={folder}'", "'judge={folder}'", "'item_id={folder} {item_id}'")]
    if apart is None:
        assert found.questions["accuracy"].commands == asked
        said = inspect_source(source, put={"item_id": "{folder} {item_id}"})
        assert (said.items, said.shared, said.questions["accuracy"].readable) == (6, 6, True)
        assert "where they have other items: --set 'item_id={folder} {item_id}'" in " ".join(
            read_verdicts(source).warnings
        )
        return
    assert (found.items, found.shared, found.questions["accuracy"].readable) == (6, 6, True)
    said = f"{apart!r} differs between files for the items of one name: they are other items, 'en 1' and the like"
    table = read_verdicts(source)
    assert said in table.warnings
    assert len(table) == 12
    # Labels by the names that are written for them, or by the log's own.
    labels = pd.DataFrame({"item": ["en 1", "ko 2"], "label": [1, 0]})
    marked = read_verdicts(source, labels=labels).frame
    assert marked.loc[marked["label"].notna(), "item"].tolist() == ["en 1", "en 1", "ko 2", "ko 2"]
    own = read_verdicts(source, labels=labels.assign(item=[1, 2]))
    assert sorted(own.frame["item"].unique()) == ["1", "2", "3"]


def test_battles_and_trials_of_folders_have_items_of_their_own(tmp_path: Path) -> None:
    for language, questions in {"en": ["A", "B"], "ko": ["가", "나"]}.items():
        (tmp_path / language).mkdir()
        rows = pd.DataFrame({"item": [1, 2], "question": questions, "judge": "j", "winner": ["a", "b"]})
        rows.assign(model_a="x", model_b="y").to_csv(tmp_path / language / "log.csv", index=False)
    battles = read_battles(tmp_path)
    assert sorted(battles.frame["item"]) == ["en 1", "en 2", "ko 1", "ko 2"]
    assert not any("repeat" in text for text in battles.warnings)
    assert not inspect_source(tmp_path).questions["reliability"].possible


def test_what_one_row_says_of_all_others_is_no_column_to_choose(tmp_path: Path) -> None:
    """A first line of metadata had its own prompt, offered as the item of 1,764 records."""
    path = tmp_path / "log.jsonl"
    rows = [{"id": k, "result": k % 2, "points": k} for k in range(150)]
    path.write_text("\n".join(map(json.dumps, [{"prompt": "as published", "seconds": 84.3, "shuffled": 0}, *rows])))
    found = inspect_source(path).questions["accuracy"]
    assert found.readable
    assert not [one for one in found.commands if "prompt" in one or "shuffled" in one]


def test_items_are_counted_in_the_column_that_is_named_and_not_before_it_is_chosen(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    log = pd.DataFrame({"id": [1, 1, 2, 2], "prompt": [*"abcd"], "model": ["x", "y"] * 2, "verdict": 1})
    log.to_csv(path, index=False)
    shown = CliRunner().invoke(app, ["inspect", str(path)]).stdout
    assert "item        none yet (2 columns that could be meant: 'id', 'prompt')\n" in shown
    assert "accuracy    no: lacks a choice of the column for 'item': 'id' or 'prompt'\n" in shown
    for column, counted in (("id", "2 (column id); 2 answered by both models"), ("prompt", "4 (column prompt); none")):
        shown = CliRunner().invoke(app, ["inspect", str(path), "--column", f"item={column}"]).stdout
        assert f"item        {counted}" in shown


def test_a_table_that_answers_nothing_exits_with_2(tmp_path: Path) -> None:
    path = tmp_path / "notes.csv"
    pd.DataFrame({"name": ["x", "y"], "colour": ["red", "blue"]}).to_csv(path, index=False)
    ran = CliRunner().invoke(app, ["inspect", str(path)])
    assert ran.exit_code == 2
    assert "accuracy    no" in ran.stdout


@pytest.mark.slow
def test_inspecting_imports_nothing_heavy(tmp_path: Path) -> None:
    path = FIXTURES["promptfoo"].write(tmp_path)
    code = (
        f"import sys\nfrom bayesjudge.cli import main\ntry:\n    main(['inspect', {str(path)!r}])\n"
        "except SystemExit:\n    pass\n"
        "assert not {'jax', 'numpyro', 'matplotlib'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_labels_of_a_second_file_count(tmp_path: Path) -> None:
    log, gold = tmp_path / "log.csv", tmp_path / "gold.csv"
    pd.DataFrame({"item": [1, 2], "model": "m", "judge": "j", "verdict": [1, 0]}).to_csv(log, index=False)
    pd.DataFrame({"item": [2], "label": [1]}).to_csv(gold, index=False)
    ran = CliRunner().invoke(app, ["inspect", str(log), "--gold", str(gold), "--json"])
    found = json.loads(ran.stdout)
    assert found["labels"] == 1
    assert found["questions"]["accuracy"]["commands"] == [f"bayesjudge accuracy {log} --gold {gold}"]
    ran = CliRunner().invoke(app, ["inspect", str(log), "--gold", str(tmp_path / "none.csv")])
    assert ran.exit_code == 2
    assert "no such file" in ran.stderr


def test_rows_of_the_labels_file_are_not_counted_among_the_logs(tmp_path: Path) -> None:
    log, gold = tmp_path / "log.csv", tmp_path / "gold.csv"
    log.write_text("item,model,verdict\n1,x,1\n2,x,0\n,x,1\n", encoding="utf-8")
    gold.write_text("item,label\n1,1\n9,0\n8,0\n,1\n", encoding="utf-8")
    found = inspect_source(log, gold=[str(gold)])
    assert (found.dropped, found.records) == ({"missing item": 1}, 3)
    lost = ["labels table: row without a name or label: 1", "labels table: row that matches no verdict: 2"]
    assert list(found.notes[:2]) == [f"left out of the {one}" for one in lost]
    shown = CliRunner().invoke(app, ["inspect", str(log), "--gold", str(gold)]).stdout
    assert "3 records read, 1 not usable, 3 rows" in shown
    assert all(one in shown for one in lost)
    # Of a tool's log, whose own records are counted, labels that belong to none of it were not mentioned.
    path = FIXTURES["deepeval"].write(tmp_path)
    mine = inspect_source(path).dropped
    item = read_verdicts(path).frame["item"].iloc[0]
    pd.DataFrame({"item": [item, "none"], "label": [1, 0]}).to_csv(gold, index=False)
    found = inspect_source(path, gold=[str(gold)])
    assert (found.dropped, found.notes[0]) == (mine, "left out of the labels table: row that matches no verdict: 1")


def test_what_lies_in_a_file_that_answers_nothing_is_said(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    claims = [{"text": "x", "checked": [1, 2]}]
    path.write_text(json.dumps([{"id": k, "reply": "r", "claims": claims} for k in range(3)]))
    first, *_ = inspect_source(path).notes
    assert first == "columns are 'id', 'reply' and 'claims' (lists of objects with 'text', 'checked')"
    path.write_text(json.dumps([{"id": k, "score": [k, 9]} for k in range(3)]))
    first, *_ = inspect_source(path).notes
    assert first == "columns are 'id' and 'score' (lists, the first value of each 'score.1')"
    path.write_text(json.dumps([{}, {}]))
    assert inspect_source(path).notes[0] == "no record has a key"
    # Labels alone are rows too, of another log's answers.
    path.write_text(json.dumps([{"id": k, "claims": [{"text": "x", "human_label": 1}] * 2} for k in range(3)]))
    found = inspect_source(path)
    assert (found.rows, found.labels) == (6, 6)


@pytest.mark.parametrize("name", ["outcome", "verdict", "judge_prefers"])
def test_a_column_is_mapped_by_any_question_s_name(name: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("item,model_a,model_b,run,says,vote\n1,x,y,0,a,a\n1,x,y,1,b,a\n", encoding="utf-8")
    asked = run_inspect(str(path), "--column", f"{name}=says", "--column", "human=vote", "--where", "run=1")
    said = "--where run=1"
    assert asked["elo"]["commands"] == [f"bayesjudge elo {path} --column verdict=says --column human=vote {said}"]
    named = "--column judge_prefers=says --column human_prefers=vote"
    assert asked["audit"]["commands"] == [f"bayesjudge audit {path} {named} {said}"]
    assert asked["reliability"]["why"] == "--column human is for elo"
    asked = run_inspect(str(path), "--column", f"{name}=says")
    assert asked["reliability"]["commands"] == [f"bayesjudge reliability {path} --column outcome=says"]


def test_a_tool_s_table_without_one_column_is_named(tmp_path: Path) -> None:
    """Votes of an arena whose export lost `model_a` were a judge's verdicts, without a word."""
    path, said = tmp_path / "votes.csv", "all columns of LMArena votes are there but 'model_a'"
    path.write_text("question_id,model_b,winner,language\nq1,x,model_a,en\nq2,y,model_b,en\n", encoding="utf-8")
    assert said in inspect_source(path).notes
    assert f"{said[0].upper()}{said[1:]}." in CliRunner().invoke(app, ["elo", str(path)]).stderr
    path.write_text("question_id,model,verdict,language\nq1,x,1,en\nq2,y,0,en\n", encoding="utf-8")
    assert not [note for note in inspect_source(path).notes if "are there but" in note]


def test_the_column_that_is_the_item_elsewhere_is_offered_for_repeated_scores() -> None:
    frame = pd.DataFrame({"judge_name": "j", "response_id": ["x", "x", "y"], "clarity": [1, 2, 3], "nr": [1, 2, 1]})
    found = inspect_source(frame, columns={"score": "clarity"})
    assert found.identity == "column response_id"
    command = "bayesjudge reliability FILE --column score=clarity --column item=response_id"
    assert [one.split(" --column trial")[0] for one in found.questions["reliability"].commands] == [command]
    with pytest.raises(InputError, match="'item'") as refused:
        read_repeats(frame, columns={"score": "clarity"})
    assert refused.value.options == ("--column item=response_id",)
    with pytest.raises(InputError, match="'item'") as other:
        read_repeats(frame.rename(columns={"response_id": "model"}), columns={"score": "clarity"})
    assert not other.value.options


def test_items_are_counted_by_their_own_column_where_texts_of_questions_are_beside_it(tmp_path: Path) -> None:
    """Two items may have one text, and a column of that name is ours in tables of pairs alone."""
    frame = pd.DataFrame(
        {"id": [1, 1, 2, 2], "model": ["x", "y"] * 2, "question": "which is right?", "verdict": [1, 0] * 2}
    )
    frame.to_csv(tmp_path / "log.csv", index=False)
    found = inspect_source(tmp_path / "log.csv", columns={"item": "id"})
    assert (found.items, found.answers, found.shared) == (2, 4, 2)


def test_items_are_counted_by_their_own_column(tmp_path: Path) -> None:
    """Two pairs of answers to one question are two items; the column of questions was counted instead."""
    path = tmp_path / "log.csv"
    rows = {"item_id": ["p1", "p2", "p3"] * 2, "question": ["q1", "q1", "q2"] * 2, "model": [*"aaabbb"]}
    pd.DataFrame(rows | {"verdict": [0, 1, 1] * 2, "label": 1}).to_csv(path, index=False)
    assert inspect_source(str(path)).items == 3


@pytest.mark.parametrize("name", ["slot", "n_a"])
def test_names_that_repeated_trials_alone_have_are_mapped(name: str, tmp_path: Path) -> None:
    """They were refused with accuracy's names, by ``inspect`` and by a question that lacks another column."""
    path = tmp_path / "log.csv"
    pd.DataFrame({"item": [*"qqr"], "judge": "j", "order": ["ab", "ba", "ab"], "said": [1, 2, 1]}).to_csv(
        path, index=False
    )
    for question in ("inspect", "reliability"):
        ran = CliRunner().invoke(app, [question, str(path), "--column", f"{name}=said"])
        assert ("cannot map" in ran.output, "lacks a column outcome" in ran.output) == (False, True)
