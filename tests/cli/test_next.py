"""``bayesjudge next``: what it draws, what it writes, and that what comes back is read."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import error_budget
import numpy as np
import pandas as pd
import pytest
from commands import run

from bayesjudge.cli import main
from bayesjudge.cli.next import label_sheet
from bayesjudge.errors import UsageError
from bayesjudge.planning.labels.sampling import draw_items
from bayesjudge.readers import read_verdicts
from bayesjudge.readers.texts import text_at
from bayesjudge.tables import Verdicts


def log(items: int = 30) -> pd.DataFrame:
    """Two models, two judges who disagree about the answers of every third item."""
    return pd.DataFrame(
        {
            "item": f"q{k}",
            "model": model,
            "judge": judge,
            "verdict": int((judge == "j1") == (k % 3 == 0) or k % 2),
            "question": f"Why {k}?",
            "answer": f"Because {model} says {k}.",
        }
        for k in range(items)
        for model in ("x", "y")
        for judge in ("j1", "j2")
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "log.csv"
    log().to_csv(path, index=False)
    return path


def truth(item: str, model: str) -> int:
    return (int(item[1:]) + (model == "x")) % 2


def is_read_back(file: Path, labels: Path, answers: set[tuple[str, str]]) -> None:
    """Exactly these answers are labelled, each with its truth."""
    found = read_verdicts(file, labels=labels).frame
    known = found[found["label"].notna()]
    assert set(zip(known["item"], known["model"], strict=True)) == answers
    assert [truth(item, model) for item, model in zip(known["item"], known["model"], strict=True)] == known[
        "label"
    ].tolist()


def test_labels_that_there_are_stay_in_the_command_that_comes_next(file: Path, tmp_path: Path) -> None:
    """The command had the new file alone: what was labelled before was lost, though this is what its draw left out."""
    first, out, more = (tmp_path / name for name in ("first.csv", "to_label.csv", "more.csv"))
    known = pd.DataFrame({"question_id": [f"q{k}" for k in range(10)], "llm": "x"})
    known.assign(human=[truth(*row) for row in known.itertuples(index=False)]).to_csv(first, index=False)
    ran = run("next", "accuracy", file, "--gold", first, "--n", 6, "--out", out)
    assert f"bayesjudge accuracy {file} --gold {first} --gold {out}" in ran.stdout
    sheet = pd.read_csv(out)
    sheet.assign(label=[truth(*row) for row in sheet[["item", "model"]].itertuples(index=False)]).to_csv(
        out, index=False
    )
    drawn = {(str(item), str(model)) for item, model in zip(sheet["item"], sheet["model"], strict=True)}
    assert len(drawn) == 12
    labels: Any = [first, out]
    is_read_back(file, labels, drawn | {(f"q{k}", "x") for k in range(10)})
    assert json.loads(run("inspect", file, "--gold", first, "--gold", out, "--json").stdout)["labels"] == 2 * 22
    more.write_text("item,label\nq1,1\n", encoding="utf-8")
    refused = run("accuracy", file, "--gold", first, "--gold", more)
    assert "row 2, 11: found 0 and 1 for item 'q1', model 'x'" in refused.stderr
    more.write_text("item,model,points\nq1,x,1\n", encoding="utf-8")
    refused = run("accuracy", file, "--gold", first, "--gold", more)
    assert (refused.exit_code, "more.csv" in refused.stderr) == (2, True)


@pytest.mark.parametrize("models", [["x"], ["x", "y"]])
def test_labels_by_item_alone_stay_in_the_command_that_comes_next(models: list[str], tmp_path: Path) -> None:
    """A filled-in sheet names models: the printed command was refused next to labels that name none."""
    whole, first, file, out = (log(8), *(tmp_path / name for name in ("first.csv", "log.csv", "to_label.csv")))
    whole = whole[whole["model"].isin(models) & (whole["judge"] == "j1")]
    whole.drop(columns=["model"] if len(models) == 1 else []).to_csv(file, index=False)
    pd.DataFrame({"item": ["q1", "q4", "q99"], "label": [0, 1, 1]}).to_csv(first, index=False)
    ran = run("next", "accuracy", file, "--gold", first, "--n", 2, "--out", out)
    assert f"bayesjudge accuracy {file} --gold {first} --gold {out}" in ran.stdout
    sheet = pd.read_csv(out).assign(label=0)
    sheet.to_csv(out, index=False)
    table = read_verdicts(file, labels=[first, out])
    found = table.frame.groupby("item")["label"].agg(list).to_dict()
    assert {item: labels for item, labels in found.items() if not pd.isna(labels).any()} == {
        "q1": [0] * len(models),
        "q4": [1] * len(models),
        **dict.fromkeys(sheet["item"], [0] * len(models)),
    }
    assert table.dropped == {"labels table: row that matches no verdict": 1}


def test_a_sheet_is_filled_in_and_read(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "to_label.csv"
    ran = run("next", "accuracy", file, "--n", 8, "--out", out)
    assert ran.exit_code == 0, ran.stderr
    assert f"8 items, 16 answers to label: {out}" in ran.stdout
    assert f"bayesjudge accuracy {file} --gold {out}" in ran.stdout
    sheet = pd.read_csv(out)
    assert list(sheet) == ["item", "model", "question", "answer", "label"]
    assert sheet["label"].isna().all()
    assert (sheet["answer"] == "Because " + sheet["model"] + " says " + sheet["item"].str[1:] + ".").all()
    # Every model's answer to each item; who stops after half of them leaves a random sample of items.
    assert sheet.groupby("item")["model"].agg(set).map(lambda models: models == {"x", "y"}).all()
    assert sheet["item"].drop_duplicates().tolist() != sorted(sheet["item"].unique())
    sheet["label"] = [truth(item, model) for item, model in zip(sheet["item"], sheet["model"], strict=True)]
    sheet.loc[12:, "label"] = None
    sheet.to_csv(out, index=False)
    is_read_back(file, out, set(zip(sheet["item"][:12], sheet["model"][:12], strict=True)))
    # What is labelled is not asked for again.
    more = tmp_path / "more.csv"
    assert run("next", "accuracy", file, "--gold", out, "--n", 24, "--out", more).exit_code == 0
    assert set(pd.read_csv(more)["item"]) == {f"q{k}" for k in range(30)} - set(sheet["item"][:12])


@pytest.mark.parametrize(
    ("column", "option", "words", "writes"),
    [
        ("label", "label=2,3", ("1", "3"), "Write 2 or 3 (right) or 0 (wrong)"),
        ("label", "label=0", ("1", "0"), "Write 0 (right) or 1 (wrong)"),
        ("label", "label=no_error", ("error", "no_error"), "Write no_error (right) or 0 (wrong)"),
        ("label", "label>=4", ("2", "5"), "Write 1 (right) or 0 (wrong)"),
        ("grade", "grade=A,B", ("C", "A"), "Write 1 (right) or 0 (wrong)"),
        ("grade", "grade>=75", ("20", "80"), "Write 1 (right) or 0 (wrong)"),
    ],
)
def test_what_is_written_as_told_means_yes_where_labels_have_values_of_their_own(
    column: str, option: str, words: tuple[str, str], writes: str, tmp_path: Path
) -> None:
    """A sheet with 1 for right was read as all wrong by the printed command, or the log's labels were refused."""
    path, out, whole = tmp_path / "log.csv", tmp_path / "to_label.csv", log(8)
    known = {"q0", "q1", "q2"}
    whole[column] = [
        words[truth(item, model)] if item in known else None
        for item, model in zip(whole["item"], whole["model"], strict=True)
    ]
    whole.to_csv(path, index=False)
    ran = run("next", "accuracy", path, "--label", option, "--n", 5, "--out", out)
    assert f"{writes} into its column label; then: bayesjudge accuracy {path} --label" in ran.stdout
    right, wrong = (writes.split()[place] for place in (1, -2))
    sheet = pd.read_csv(out, dtype=str)
    sheet["label"] = [
        right if truth(item, model) else wrong for item, model in zip(sheet["item"], sheet["model"], strict=True)
    ]
    sheet.to_csv(out, index=False)
    found = read_verdicts(path, labels=str(out), label=option).frame
    assert found["label"].tolist() == [
        truth(item, model) for item, model in zip(found["item"], found["model"], strict=True)
    ]


def test_the_command_that_comes_next_reads_what_several_people_said_before(tmp_path: Path) -> None:
    """It was refused, as people had columns in the log."""
    path, out = tmp_path / "log.csv", tmp_path / "to_label.csv"
    marks = [1.0, 1.0, 0.0, 0.0] * 2 + [np.nan] * 24
    log(8).assign(**{"human 1": marks, "human 2": marks}).to_csv(path, index=False)
    ran = run("next", "accuracy", path, "--label", "human *", "--n", 6, "--out", out)
    assert f"Write 1 (right) or 0 (wrong) into its column label; then: bayesjudge accuracy {path} --label" in ran.stdout
    pd.read_csv(out).assign(label=1).to_csv(out, index=False)
    found = read_verdicts(path, labels=str(out), label="human *").frame
    assert found["label"].tolist() == [1, 1, 0, 0] * 2 + [1] * 24


def test_label_studio_s_choices_are_what_the_printed_command_reads(tmp_path: Path) -> None:
    path, out = tmp_path / "log.csv", tmp_path / "tasks.json"
    log(8).assign(label=[*["no_error"] * 8, *["error"] * 8, *[None] * 16]).to_csv(path, index=False)
    ran = run("next", "accuracy", path, "--label", "label=no_error", "--n", 4, "--out", out, "--as", "label-studio")
    assert '<Choice value="no_error"/><Choice value="0"/></Choices>' in ran.stdout
    tasks = json.loads(out.read_text())
    for k, task in enumerate(tasks):
        said = "no_error" if truth(task["data"]["item"], task["data"]["model"]) else "0"
        result = {"from_name": "label", "to_name": "a", "type": "choices", "value": {"choices": [said]}}
        task |= {"id": k, "annotations": [{"id": k, "completed_by": 1, "result": [result]}]}
    out.write_text(json.dumps(tasks))
    found = read_verdicts(path, labels=str(out), label="label=no_error").frame.iloc[16:]
    assert found["label"].tolist() == [
        truth(item, model) for item, model in zip(found["item"], found["model"], strict=True)
    ]


def test_label_studio_s_export_is_read(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "tasks.json"
    ran = run("next", "accuracy", file, "--n", 3, "--out", out, "--as", "label-studio")
    assert 'name="label"' in ran.stdout
    tasks = json.loads(out.read_text())
    assert all(task["data"]["question"] and task["data"]["answer"] for task in tasks)
    for k, task in enumerate(tasks):
        said = "correct" if truth(task["data"]["item"], task["data"]["model"]) else "incorrect"
        result = {"from_name": "label", "to_name": "a", "type": "choices", "value": {"choices": [said]}}
        task |= {"id": k, "annotations": [{"id": k, "completed_by": 1, "result": [result]}]}
    out.write_text(json.dumps(tasks))
    is_read_back(file, out, {(task["data"]["item"], task["data"]["model"]) for task in tasks})


def test_argilla_s_records_are_read(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "records.json"
    assert run("next", "accuracy", file, "--n", 3, "--out", out, "--as", "argilla").exit_code == 0
    records = json.loads(out.read_text())
    assert all(record["fields"]["question"] and record["fields"]["answer"] for record in records)
    for record in records:
        said = "correct" if truth(record["metadata"]["item"], record["metadata"]["model"]) else "incorrect"
        record["responses"] = {"label": [{"value": said, "user_id": "u", "status": "submitted"}]}
    out.write_text(json.dumps(records))
    is_read_back(file, out, {(record["metadata"]["item"], record["metadata"]["model"]) for record in records})


def test_a_tool_s_log_gives_its_texts(tmp_path: Path) -> None:
    record = {"promptIdx": 0, "success": True, "failureReason": 0}
    records = [
        {
            **record,
            "testIdx": k,
            "provider": {"id": model},
            "testCase": {"vars": {"topic": f"t{k}"}},
            "prompt": {"raw": f"Tell me of t{k}."},
            "response": {"output": f"{model} on t{k}"},
            "gradingResult": {
                "componentResults": [{"pass": bool(k % 2), "score": 1, "assertion": {"type": "llm-rubric"}}]
            },
        }
        for k in range(4)
        for model in ("a", "b")
    ]
    path, out = tmp_path / "results.jsonl", tmp_path / "to_label.csv"
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    ran = run("next", "accuracy", path, "--out", out)
    assert ran.exit_code == 0, ran.stderr
    sheet = pd.read_csv(out)
    assert len(sheet) == 8
    assert {json.loads(item)["topic"] for item in sheet["item"]} == {f"t{k}" for k in range(4)}
    assert set(sheet["question"]) == {f"Tell me of t{k}." for k in range(4)}
    assert set(sheet["answer"]) == {f"{model} on t{k}" for model in "ab" for k in range(4)}
    # Other questions do not pay for texts.
    assert "answer_text" not in read_verdicts(path).frame


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("So.", "So."),
        ([["So."]], "So."),
        ([{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "So."}], "So."),
        ({"city": "Rome"}, '{"city": "Rome"}'),
        ({"output": "So.", "scores": {"judge": 1}}, "So."),
        ({"scores": {"judge": 1}}, None),
        ({}, None),
        (3, None),
    ],
)
def test_labellers_are_shown_a_text_and_no_judge_s_opinion(value: Any, text: str | None) -> None:
    assert text_at({"output": value}, ["response.output", "output"]) == text


def test_what_inspect_says_can_be_typed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    found = json.loads(run("inspect", file, "--json").stdout)["questions"]["accuracy"]
    first, then = (shlex.split(command)[1:] for command in found["commands"])
    assert not found["possible"]
    assert run(*first).exit_code == 0
    assert then[0] == "accuracy"
    assert Path(then[then.index("--gold") + 1]).exists()


def test_all_answers_of_an_epoch_are_labelled_together() -> None:
    frame = log(6).rename(columns={"item": "question_of"}).assign(item=lambda rows: rows["question_of"] + rows["judge"])
    verdicts = Verdicts.from_frame(frame.assign(judge="j"))
    drawn = draw_items(verdicts.frame, size=2, unit="question_of")
    assert list(drawn) == ["question_of"]
    assert drawn["question_of"].nunique() == 2


@pytest.mark.slow
def test_where_judges_disagree_items_are_drawn_more_often_and_as_often_as_is_said() -> None:
    frame = Verdicts.from_frame(log(12)).frame
    times = 400
    drawn = [draw_items(frame, size=4, unsure=True, seed=seed) for seed in range(times)]
    said = pd.concat(drawn).groupby("item")["label_probability"].agg(["mean", "size"])
    split = said.index.str[1:].astype(int) % 2 == 0
    assert said.loc[split, "mean"].min() > said.loc[~split, "mean"].max()
    assert said["mean"].sum() == pytest.approx(4, abs=0.05)  # inclusion probabilities differ a little with the draws
    spread = np.sqrt(said["mean"] * (1 - said["mean"]) / times)
    assert (abs(said["size"] / times - said["mean"]) < error_budget.standard_errors(len(said)) * spread).all()


def test_the_order_of_rows_means_nothing() -> None:
    frame = Verdicts.from_frame(log()).frame
    turned = frame.sample(frac=1, random_state=1)
    for options in ({}, {"unsure": True}):
        pd.testing.assert_frame_equal(draw_items(frame, size=5, **options), draw_items(turned, size=5, **options))
    assert not draw_items(frame, size=5)["item"].equals(draw_items(frame, size=5, seed=1)["item"])


def test_a_choice_by_disagreement_needs_disagreement_and_no_labels() -> None:
    frame = Verdicts.from_frame(log().query("judge == 'j1'")).frame
    with pytest.raises(UsageError, match="every answer has one verdict"):
        draw_items(frame, size=2, unsure=True)
    for items, refusal in ((["q0"], "labelled already"), ([], "some answers are labelled and others are not")):
        labels = [1 if place == 0 or item in items else None for place, item in enumerate(log()["item"])]
        with pytest.raises(UsageError, match=refusal):
            draw_items(Verdicts.from_frame(log().assign(label=labels)).frame, size=2, unsure=True)


def test_labels_before_a_draw_by_disagreement_represent_themselves(tmp_path: Path) -> None:
    path, sheet = tmp_path / "log.csv", tmp_path / "sheet.csv"
    frame = log().assign(label=lambda rows: [1 if item in ("q0", "q7") else None for item in rows["item"]])
    frame.to_csv(path, index=False)
    typed = ("next", "accuracy", path, "--unsure", "--n", 6, "--out", sheet)
    refused = run(*typed)
    assert refused.exit_code == 2
    assert "leave out --unsure if they were drawn evenly" in refused.stderr
    done = run(*typed, "--set", "label_probability=1")
    assert done.exit_code == 0
    assert f"bayesjudge accuracy {path} --set label_probability=1 --gold {sheet}" in done.stdout
    drawn = pd.read_csv(sheet).assign(label=0)
    assert not {"q0", "q7"} & set(drawn["item"])
    # The labels of the sheet keep its probabilities, whatever the log gives to all its answers.
    found = read_verdicts(path, put={"label_probability": "1"}, labels=drawn).frame.dropna(subset="label")
    chance = found.groupby("item")["label_probability"].first().to_dict()
    assert chance == pytest.approx({"q0": 1, "q7": 1} | drawn.groupby("item")["label_probability"].first().to_dict())
    frame.assign(label_probability=0.5).to_csv(path, index=False)
    sheet.unlink()
    assert "write 1 as label_probability" in run(*typed).stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--n", 31), "1 to 30, those without a label, not 31"),
        (("--n", 0), "1 to 30"),
        (("--as", "xlsx"), "as='xlsx' is not one of csv, label-studio, argilla"),
        (("--as", "argilla", "--unsure"), "--unsure writes probabilities"),
    ],
)
def test_mistakes_end_in_one_message(options: tuple[Any, ...], said: str, file: Path, tmp_path: Path) -> None:
    ran = run("next", "accuracy", file, "--out", tmp_path / "out.csv", *options)
    assert ran.exit_code == 2
    assert said in ran.stderr
    assert not (tmp_path / "out.csv").exists()


def test_a_message_ends_in_the_whole_command_that_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    log().assign(verdict=lambda rows: rows["verdict"] * 7).to_csv("my log.csv", index=False)
    typed = ["next", "accuracy", "my log.csv", "--out", "sheet.csv"]
    with pytest.raises(SystemExit) as stopped:
        main(typed)
    assert stopped.value.code == 2
    (command,) = (line for line in capsys.readouterr().err.splitlines() if line.startswith("  Type "))
    words = shlex.split(command.removeprefix("  Type "))
    assert words == ["bayesjudge", *typed, "--threshold", ">=7"]
    with pytest.raises(SystemExit) as stopped:
        main(words[1:])
    assert stopped.value.code == 0
    assert (tmp_path / "sheet.csv").exists()
    # What comes after the sheet reads the log as the sheet was made.
    assert "bayesjudge accuracy 'my log.csv' --threshold '>=7' --gold sheet.csv" in capsys.readouterr().out


def test_a_misspelled_judge_is_said_before_what_is_wrong_with_rows(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    log().assign(verdict=7).to_csv(path, index=False)
    ran = run("accuracy", path, "--judge", "j11")
    assert (ran.exit_code, "did you mean 'j1'" in ran.stderr, "threshold" in ran.stderr) == (2, True, False)
    assert "threshold" in run("accuracy", path, "--judge", "j1").stderr


def test_names_that_csv_does_not_keep_are_said(tmp_path: Path) -> None:
    path, out = tmp_path / "log.jsonl", tmp_path / "out.json"
    log(3).assign(item=lambda rows: rows["item"] + "\t.").to_json(path, orient="records", lines=True)
    ran = run("next", "accuracy", path, "--out", tmp_path / "out.csv")
    assert ran.exit_code == 2
    assert "--as label-studio" in ran.stderr
    assert run("next", "accuracy", path, "--out", out, "--as", "argilla").exit_code == 0
    assert {one["metadata"]["item"] for one in json.loads(out.read_text())} == {f"q{k}\t." for k in range(3)}


def test_where_every_item_has_a_label_nothing_is_next(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    log(3).assign(label=1).to_csv(path, index=False)
    ran = run("next", "accuracy", path, "--out", tmp_path / "out.csv")
    assert ran.exit_code == 2
    assert "every item has a label already" in ran.stderr


def test_somebody_s_labels_are_not_written_over(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "to_label.csv"
    out.write_text("item,label\nq1,1\n")
    ran = run("next", "accuracy", file, "--out", out)
    assert ran.exit_code == 2
    assert "may hold somebody's labels" in ran.stderr
    assert out.read_text() == "item,label\nq1,1\n"


@pytest.mark.slow
def test_a_sheet_needs_nothing_heavy(file: Path, tmp_path: Path) -> None:
    arguments = ["next", "accuracy", str(file), "--out", str(tmp_path / "out.csv")]
    code = (
        f"import sys\nfrom bayesjudge.cli import main\ntry:\n    main({arguments!r})\nexcept SystemExit:\n    pass\n"
        "assert not {'jax', 'numpyro', 'matplotlib'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    assert (tmp_path / "out.csv").exists()


def test_trials_are_planned_for_comparisons_alone(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    pd.DataFrame({"item": ["q"] * 4, "response": ["a", "b"] * 2, "score": [1, 2, 3, 4]}).to_csv(path, index=False)
    # How many trials has a default.
    ran = run("next", "reliability", path, "--out", tmp_path / "more.csv")
    assert ran.exit_code == 2
    assert "holds scores alone" in ran.stderr


@pytest.mark.slow
def test_trials_are_planned_where_majorities_are_open(tmp_path: Path) -> None:
    """Of 12 items two are open: most of the further trials are theirs."""
    counts = [(9, 1)] * 10 + [(5, 5), (6, 4)]
    frame = pd.DataFrame([{"item": f"q{k}", "judge": "j", "n_a": a, "n_b": b} for k, (a, b) in enumerate(counts)])
    path, out = tmp_path / "trials.csv", tmp_path / "more.csv"
    frame.to_csv(path, index=False)
    ran = run("next", "reliability", path, "--n", 60, "--draws", 200, "--out", out, "--quiet")
    assert ran.exit_code == 0, ran.stderr
    plan = pd.read_csv(out).set_index("item")
    assert set(plan.columns) == {"judge", "group", "trials", "extra"}
    assert 0 < plan["extra"].sum() <= 60
    assert plan["extra"].reindex(["q10", "q11"]).sum() > plan["extra"].sum() / 2
    assert "more trials on" in ran.stdout


def test_answers_of_a_wide_table_are_drawn_as_the_answer_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    log().pivot_table(index=["item", "judge"], columns="model", values="verdict").reset_index().to_csv("wide.csv")
    assert (
        run("next", "accuracy", "wide.csv", "--wide", "verdict:model=x,y", "--n", 5, "--out", "new.csv").exit_code == 0
    )
    assert pd.read_csv("new.csv").groupby("item")["model"].agg(list).tolist() == [["x", "y"]] * 5


def test_of_a_topic_with_many_documents_some_are_drawn(tmp_path: Path) -> None:
    table = replace(read_verdicts(log().assign(topic="t")), cluster="topic")
    assert label_sheet(table, n=None, unsure=False, seed=0)["item"].nunique() == 30
    assert label_sheet(table, n=7, unsure=False, seed=0)["item"].nunique() == 7
