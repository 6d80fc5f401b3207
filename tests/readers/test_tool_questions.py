"""What each question takes from a tool's rows: the judge's verdict, people's labels, and what it refuses."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from format_fixtures import FIXTURES

from bayesjudge.baselines import accuracy_baselines
from bayesjudge.counts import count_verdicts
from bayesjudge.errors import InputError, UsageError
from bayesjudge.readers import read_battles, read_pairs, read_repeats, read_verdicts
from bayesjudge.readers.filters import keep_where
from bayesjudge.readers.parts import read_parts


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


#: Formats of single answers that know no people.
#: Formats of comparisons.
COMPARED = {"mt-bench-pair", "arena-hard", "alpaca-eval", "wildbench-pair"}
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


@pytest.mark.parametrize("name", [name for name in FIXTURES if isinstance(FIXTURES[name].content, list | pd.DataFrame)])
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
        with pytest.raises(UsageError, match=r"only people judged.*bayesjudge elo"):
            read(path)
    with pytest.raises(UsageError, match="comparisons of two models; ask: bayesjudge elo"):
        read_verdicts(path)


@pytest.mark.parametrize("name", ["wildbench-pair", "mt-bench-pair", "arena-hard", "alpaca-eval"])
def test_judges_winners_are_no_votes(name: str, tmp_path: Path) -> None:
    battles = read_battles(FIXTURES[name].write(tmp_path), put={"model_a": "x", "model_b": "y"})
    assert battles.frame["verdict"].notna().any()
    assert not battles.frame["human"].notna().any()


def test_plain_logs_are_sent_to_their_question() -> None:
    single = pd.DataFrame({"item": [1, 1], "model": ["m", "k"], "judge": "j", "verdict": [1, 0]})
    with pytest.raises(UsageError, match="bayesjudge accuracy"):
        read_repeats(single)
    battle = pd.DataFrame({"battle": [1, 2], "model_a": "x", "model_b": "y", "judge": "j", "winner": ["a", "b"]})
    with pytest.raises(UsageError, match="bayesjudge elo"):
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
    with pytest.raises(UsageError, match=r"bayesjudge accuracy .*experiment.jsonl --verdict Relevance"):
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
    with pytest.raises(InputError, match="neither yes nor no: 'N', 'Unsure', 'Y'"):
        read_verdicts(path)
    assert read_verdicts(path, verdict="choice=Y").frame["verdict"].tolist() == [1, 0, 0]


def samples(model: str, *, epochs: int, items: int, seed: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    return [
        {"test": k, "verdict": int(rng.random() < 0.7), "epoch": epoch}
        for k in range(items)
        for epoch in range(1, epochs + 1)
    ]


def inspect_log(path: Path, model: str, rows: list[dict[str, Any]]) -> Path:
    found = [
        {
            "id": f"q{row['test']}",
            "epoch": row["epoch"],
            "target": "x",
            "scores": {"qa": {"value": "CI"[1 - row["verdict"]]}},
        }
        for row in rows
    ]
    path.write_text(json.dumps({"eval": {"task": "t", "model": model}, "samples": found}))
    return path


def test_an_epoch_is_an_answer_of_its_items_cluster(tmp_path: Path) -> None:
    table = read_verdicts(inspect_log(tmp_path / "log.json", "m", samples("m", epochs=3, items=4, seed=1)))
    assert table.cluster == "question"
    assert table.frame["item"].nunique() == 12
    assert table.frame["question"].nunique() == 4
    counts = count_verdicts(table, cluster=table.cluster)
    assert (counts.clusters, int(counts.answers.n.sum())) == (4, 12)


def difference(table: Any) -> tuple[float, float]:
    counts = count_verdicts(table)
    rows = accuracy_baselines(counts, counts.judges[0], bootstrap=0).where(estimand="difference", method="naive").frame
    return float(rows["lower"].iloc[0]), float(rows["upper"].iloc[0])


def test_two_models_of_two_logs_are_paired_as_in_the_plain_table(tmp_path: Path) -> None:
    rows = {model: samples(model, epochs=1, items=40, seed=seed) for seed, model in enumerate(("m", "k"))}
    for model, found in rows.items():
        inspect_log(tmp_path / f"{model}.json", model, found)
    plain = pd.DataFrame(
        [
            {"item": f"t/q{row['test']}", "model": model, "verdict": row["verdict"], "judge": "qa"}
            for model, found in rows.items()
            for row in found
        ]
    )
    read = read_verdicts(tmp_path)
    assert read.frame.groupby("item")["model"].nunique().eq(2).all()
    np.testing.assert_allclose(difference(read), difference(read_verdicts(plain)), atol=1e-12)


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


def test_a_table_in_which_a_judge_answers_twice_needs_its_models() -> None:
    with pytest.raises(InputError, match="column 'model'"):
        read_verdicts(pd.DataFrame({"item": [1, 1], "verdict": [1, 0]}))


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


def width(path: Path) -> float:
    """Of the naive interval of a log's one accuracy."""
    table = read_verdicts(path)
    counts = count_verdicts(table, cluster=table.cluster)
    rows = accuracy_baselines(counts, counts.judges[0], bootstrap=0)
    row = rows.where(estimand="accuracy", method="naive").frame.iloc[0]
    return float(row["upper"] - row["lower"])


def test_epochs_say_no_more_than_they_add(tmp_path: Path) -> None:
    """Five equal answers to an item are worth one; five independent ones nearly five items."""
    one = samples("m", epochs=1, items=400, seed=5)
    same = [{**row, "epoch": epoch} for row in one for epoch in range(1, 6)]
    once = width(inspect_log(tmp_path / "one.json", "m", one))
    assert width(inspect_log(tmp_path / "same.json", "m", same)) == pytest.approx(once, rel=0.1)
    apart = width(inspect_log(tmp_path / "apart.json", "m", samples("m", epochs=5, items=400, seed=6)))
    many = width(inspect_log(tmp_path / "many.json", "m", samples("m", epochs=1, items=2000, seed=7)))
    assert apart == pytest.approx(many, rel=0.1)


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
    assert raised.value.options == ("--wide verdict:model", "--wide verdict:judge")
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
