"""A JSON file that is one object: rows inside it, as people write them and pandas does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesjudge.errors import InputError, UsageError
from bayesjudge.readers import read_battles, read_repeats, read_verdicts
from bayesjudge.readers.enclosed import enclosed_rows
from bayesjudge.readers.inspection import inspect_source

LOG = pd.DataFrame(
    {
        "item": ["q1", "q2", "q1", "q2"],
        "model": ["otter", "otter", "lynx", "lynx"],
        "verdict": [1, 0, 1, 1],
        "label": [1, None, 0, None],
    }
)


def read(folder: Path, content: Any) -> pd.DataFrame:
    path = folder / "log.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return read_verdicts(path).frame


@pytest.mark.parametrize("orient", ["columns", "index", "records", "split", "table"])
def test_what_pandas_writes_is_its_table(orient: Any, tmp_path: Path) -> None:
    found, want = read(tmp_path, LOG.to_json(orient=orient)), read_verdicts(LOG).frame
    # ``table`` writes the index as a column too.
    pd.testing.assert_frame_equal(found[want.columns], want)


def test_a_list_in_an_object_with_what_holds_for_all_its_rows(tmp_path: Path) -> None:
    rows = [{"item": "q1", "verdict": 1}, {"item": "q2", "verdict": 0, "model": "lynx"}]
    around = {"judge": "heron", "score": 0.5, "config": {"seed": 1}}
    found = read(tmp_path, {"model": "otter", **around, "results": rows})
    assert (found["model"].tolist(), found["verdict"].tolist()) == (["otter", "lynx"], [1, 0])
    # Rows that name the model in another word say it better than what is around them.
    named = [{"item": "q1", "model_name": "lynx", "verdict": 1}]
    assert read(tmp_path, {"model": "otter", **around, "results": named})["model"].tolist() == ["lynx"]
    assert set(found["judge"]) == {"heron"}
    assert "score" not in found
    assert "config.seed" not in found


QS = {"q1": {"verdict": 1, "label": 0}, "q2": {"verdict": 0}, "q3": {"verdict": 1}}
TWO = [["q1", "m", 1], ["q2", "m", 0], ["q3", "m", 1], ["q1", "n", 1], ["q2", "n", 0], ["q3", "n", 1]]


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        ({"judge": "heron", "data": QS}, [[row[0], "log", row[2]] for row in TWO[:3]]),
        ({"results": QS}, [[row[0], "log", row[2]] for row in TWO[:3]]),
        # A date says nothing of a model, whose rows have few labels.
        ({"meta": {"date": "today"}, "m": QS, "n": QS}, TWO),
        ({"seed": 1, "m": QS}, TWO[:3]),
        # Who says what a row is has a row.
        ({"item": "p", "model": "k", "verdict": 0, "votes": QS}, [["p", "k", 0]]),
    ],
)
def test_rows_under_their_keys_with_what_holds_for_all_of_them(
    content: dict[str, Any], rows: list[Any], tmp_path: Path
) -> None:
    """They were one row with a column an item."""
    found = read(tmp_path, content)
    assert found[["item", "model", "verdict"]].to_numpy().tolist() == rows
    assert set(found["judge"]) == {content.get("judge", "judge")}


def test_rows_of_counts_are_the_table(tmp_path: Path) -> None:
    """11,700 rows of counts, with the model's name next to them, were one record without a column of outcomes."""
    rows = [{"task_a": "t", "task_b": f"u{k}", "n_a": 6 - k, "n_b": k} for k in range(3)]
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"model": "m", "baseline_prompt": "Be brief.", "results": rows}), encoding="utf-8")
    trials, _ = read_repeats(path, put={"item": "{task_a} {task_b}"})
    assert trials is not None
    assert (trials.frame["item"].nunique(), len(trials)) == (3, 18)


def test_rows_under_their_keys_may_have_names_of_their_own(tmp_path: Path) -> None:
    """Objects with largely the same keys are rows, whatever these are called; others are columns of one."""
    path = tmp_path / "log.json"
    rows = {f"q{k}": {"gpt-4": k % 2, "reply": f"so {k}"} | ({"checked": "yes"} if k == 1 else {}) for k in range(5)}
    assert enclosed_rows("log.json", rows) == (
        [{"item": item, **row} for item, row in rows.items()],
        "the objects under their keys (5)",
    )
    path.write_text(json.dumps(rows), encoding="utf-8")
    assert read_verdicts(path, columns={"verdict": "gpt-4"}).frame["verdict"].tolist() == [0, 1, 0, 1, 0]
    by_model = {"m": rows, "n": rows}
    assert enclosed_rows("log.json", by_model) == (
        [{"model": model, "item": item, **row} for model in "mn" for item, row in rows.items()],
        "the objects under two keys, of models and of items (10)",
    )
    for other in (
        {"usage": {"in": 1, "out": 2}, "config": {"seed": 1}},
        {"x": {"0": 1, "1": 2}, "y": {"0": 1, "1": 2}},
    ):
        assert enclosed_rows("log.json", other) is None


def test_what_an_object_names_of_its_rows_is_a_column_under_its_path(tmp_path: Path) -> None:
    """Three judges in three files were one judge that contradicts itself."""
    table = {f"q{k}": "a question" for k in range(30)}
    for judge in ("heron", "lynx"):
        side = {"fighter_a": {"name": "x", "kind": "open"}, "fighter_b": {"name": "y"}, "questions": table}
        record = {"judge": {"name": judge, "winner": "B"}, **side, "results": [{"id": "q1", "winner": "A"}]}
        (tmp_path / f"{judge}.json").write_text(json.dumps(record), encoding="utf-8")
    columns = {"model_a": "fighter_a.name", "model_b": "fighter_b.name"}
    found = read_battles(tmp_path, columns=columns).frame
    assert found[["judge", "model_a", "model_b", "verdict"]].to_numpy().tolist() == [
        [judge, "x", "y", 1.0] for judge in ("heron", "lynx")
    ]
    assert set(found["fighter_a.kind"]) == {"open"}
    assert not [name for name in found if name.startswith("questions.")]


def test_an_object_in_place_of_a_name_is_read_by_its_name(tmp_path: Path) -> None:
    """Each such cell was a finding of its own, and the path that reads it was not named."""
    models = [{"id": str(k), "name": name} for k, name in enumerate("xyz")]
    pairs = [(models[0], models[1]), (models[1], models[2]), (models[2], models[0])]
    rows = [{"data_id": k, "model_A": a, "model_B": b, "winner": "A"} for k, (a, b) in enumerate(pairs)]
    path = tmp_path / "results.json"
    path.write_text(json.dumps(rows))
    battles = read_battles(path)
    assert battles.frame[["item", "model_a", "model_b"]].to_numpy().tolist() == [[*"0xy"], [*"1yz"], [*"2zx"]]
    said = "'model_A' holds objects: their 'name' was read (or `--column model_a=model_A.id`)"
    assert said in battles.warnings
    # What is printed can be typed, and where several have one name it is read so by itself.
    by_id = read_battles(path, columns={"model_a": "model_A.id", "model_b": "model_B.id"}).frame["model_a"].tolist()
    assert by_id == [*"012"]
    for model in models[:2]:
        model["name"] = "w"
    path.write_text(json.dumps(rows))
    assert read_battles(path).frame["model_a"].tolist() == by_id
    path.write_text(json.dumps([*rows, {"data_id": 9, "model_A": {"title": "v"}, "model_B": "w", "winner": "B"}]))
    with pytest.raises(InputError, match="'title': 'v'"):
        read_battles(path)


def test_objects_under_keys_and_lists_of_one_length(tmp_path: Path) -> None:
    keyed = read(tmp_path, {name: {"model": "otter", "verdict": 1} for name in ("q7", "q8")})
    assert keyed["item"].tolist() == ["q7", "q8"]
    lists = read(tmp_path, {"item": ["q7", "q8"], "model": ["otter"] * 2, "verdict": [0, 1]})
    assert lists["verdict"].tolist() == [0, 1]


def test_answers_in_a_list_of_each_question_and_under_two_keys_are_rows(tmp_path: Path) -> None:
    answers = {"otter": {"verdict": 1, "label": 1}, "lynx": {"verdict": 0, "label": None}}
    named = [{"model": model, **answer} for model, answer in answers.items()]
    lists = [{"question": name, "topic": "t", "answers": named} for name in ("q1", "q2")]
    want = [[name, model, answers[model]["verdict"]] for name in ("q1", "q2") for model in answers]
    by_item = dict.fromkeys(("q1", "q2", "q3"), answers)
    by_model = {model: dict.fromkeys(("q1", "q2", "q3"), answer) for model, answer in answers.items()}
    found = read(tmp_path, lists)
    assert found[["item", "model", "verdict"]].to_numpy().tolist() == want
    assert set(found["topic"]) == {"t"}
    keyed = [read(tmp_path, one).sort_values(["item", "model"], ignore_index=True) for one in (by_item, by_model)]
    pd.testing.assert_frame_equal(*keyed)
    assert len(keyed[0]) == 6
    path = tmp_path / "some.json"
    path.write_text(json.dumps([*lists, {"question": "q3", "answers": []}]), encoding="utf-8")
    assert "of each record (4); 1 of 3 records have none" in " ".join(read_verdicts(path).warnings)
    # Records with a verdict of their own are rows, whatever lists they hold.
    own = [{"item": "q1", "model": "otter", "verdict": 1, "votes": [{"verdict": 0}]}]
    assert read(tmp_path, own)["verdict"].tolist() == [1]


def test_what_judges_and_people_said_under_the_keys_of_items_is_a_column_each(tmp_path: Path) -> None:
    """Of 2,552 real items each was a column, which `inspect` took 37 s to refuse."""
    items = [f"q{k}" for k in range(30)]
    said = {"gpt": dict.fromkeys(items, 1), "lynx": dict.fromkeys(items, 0)}
    path, people = tmp_path / "log.json", tmp_path / "people.json"
    path.write_text(json.dumps(said))
    people.write_text(json.dumps({"ann": {"q2": 1}, "bob": dict.fromkeys(items[:25], 1) | {"q3": None}}))
    table = read_verdicts(path, wide="verdict:judge", labels=people, label="ann,bob")
    assert table.frame.groupby("judge")["verdict"].agg(["size", "mean"]).to_numpy().tolist() == [[30, 1], [30, 0]]
    assert table.frame["label"].notna().groupby(table.frame["judge"]).sum().tolist() == [24, 24]
    assert "rows are the keys of 2 objects, each a column (30)" in table.warnings


@pytest.mark.parametrize(
    "record",
    [
        {f"q{k}": {"gpt": 1, "lynx": 0} for k in range(30)},  # rows under their keys, of few columns
        {name: {f"column{k}": k if k % 2 else "text" for k in range(30)} for name in ("q1", "q2")},
    ],
)
def test_objects_of_few_columns_or_of_texts_and_numbers_are_rows(record: dict[str, Any]) -> None:
    found = enclosed_rows("log.json", record)
    assert found is not None
    assert [row["item"] for row in found[0]] == list(record)


def test_rows_of_lists_are_named_by_their_record(tmp_path: Path) -> None:
    lists = [
        {"question": f"q{k}", "answers": [{"model": "otter", "verdict": word}]} for k, word in enumerate(("yes", "hm"))
    ]
    with pytest.raises(InputError, match="column 'verdict', row 2: found 'hm'"):
        read(tmp_path, lists)


def test_which_of_two_lists_is_asked_with_a_command_for_each() -> None:
    two = {"annotations": [{"prompt": "Rate it."}], "instances": [{"id": "q1", "verdict": 1}]}
    with pytest.raises(UsageError, match=r"'annotations', 'instances'.*jq '\.\[\"instances\"\]' 'a b\.json'"):
        enclosed_rows("a b.json", two)


def test_of_many_lists_a_few_are_named_with_commands() -> None:
    """45 lists of real examples, a feature's each, were named with a command each: 3,400 characters."""
    with pytest.raises(UsageError, match=r"holds 45 lists of objects: '0', '1', '2', '3' and 41 more;") as raised:
        enclosed_rows("log.json", {str(k): [{"id": "q1", "verdict": 1}] for k in range(45)})
    assert str(raised.value).count("jq ") == 4


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"item": "q1", "model": "otter", "verdict": 1},
        {"item": ["q1"], "verdict": [1, 0]},
        {"columns": ["item", "verdict"], "data": [["q1"]]},
        {"columns": ["item", ["verdict"]], "data": [["q1", 1]]},
        {"messages": [{"role": "user", "content": "?"}]},
        {"item": "q1", "verdict": 1, "details": [{"score": 1}]},
    ],
)
def test_what_is_no_table_stays_one_row(record: dict[str, Any]) -> None:
    assert enclosed_rows("log.json", record) is None


NAMES = st.sampled_from(["item", "verdict", "columns", "data", "index", "results", "x"])
VALUES = st.recursive(
    st.none() | st.integers(0, 3) | st.text(max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(NAMES, VALUES, max_size=4))
def test_any_object_is_rows_or_none_or_a_choice(record: dict[str, Any]) -> None:
    try:
        found = enclosed_rows("log.json", record)
    except UsageError:
        return
    assert found is None or all(isinstance(row, dict) for row in found[0])


def test_lists_inside_the_rows_of_an_object_are_rows_too(tmp_path: Path) -> None:
    """An object of results, each with its turns: the list inside was read in an array of records only."""
    turns = [{"turn": 1, "winner": "A"}, {"turn": 2, "winner": "TIE"}]
    log = {"judge": {"model": "heron"}, "results": [{"id": 1, "turns": turns}, {"id": 2, "turns": turns[:1]}]}
    (path := tmp_path / "log.json").write_text(json.dumps(log), encoding="utf-8")
    trials, _ = read_repeats(path, columns={"trial": "turn"})
    assert trials is not None
    assert trials.frame[["item", "judge", "trial", "outcome"]].to_numpy().tolist() == [
        ["1", "heron", "1", "a"],
        ["1", "heron", "2", "tie"],
        ["2", "heron", "1", "a"],
    ]
    notes = inspect_source(path).notes
    assert "rows are the objects in 'results' (2)" in notes
    assert "rows are the objects in 'turns' of each record (3)" in notes
