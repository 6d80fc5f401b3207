"""Every tool's file is recognised by its fields, and gives exactly what it says."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from commands import run
from format_fixtures import FIXTURES, Fixture, packed
from fuzzing_formats import read_damaged

from bayesjudge.errors import InputError, UsageError
from bayesjudge.readers import read_pairs
from bayesjudge.readers.format import Format
from bayesjudge.readers.formats import known_formats
from bayesjudge.readers.inspection import inspect_source
from bayesjudge.readers.json_records import JsonRecords
from bayesjudge.readers.parts import Part, read_parts
from bayesjudge.readers.reading import Reading
from bayesjudge.readers.recognition import FIRST, enclosed
from bayesjudge.readers.sources import find_sources


def names_in(part: Part, *columns: str) -> tuple[str, ...]:
    found = {str(name) for column in columns if column in part.frame for name in part.frame[column].dropna()}
    return tuple(sorted(found))


def said(part: Part) -> dict[str, Any]:
    """Of a part, what a fixture says."""
    assert part.tool is not None
    assert part.rows is not None
    marks = [part.frame[name].notna() for name in ("label", "human") if name in part.frame]
    return {
        "tool": part.tool.name,
        "items": names_in(part, "item"),
        "models": names_in(part, "model"),
        "judges": names_in(part, "judge"),
        "labels": int(sum(one.sum() for one in marks)),
        "dropped": dict(part.rows.dropped),
    }


def expected(fixture: Fixture) -> dict[str, Any]:
    return {name: getattr(fixture, name) for name in ("tool", "items", "models", "judges", "labels", "dropped")}


@pytest.mark.parametrize("name", FIXTURES)
def test_a_file_gives_what_it_says(name: str, tmp_path: Path) -> None:
    (part,) = read_parts(FIXTURES[name].write(tmp_path), Reading())
    assert part.tool is not None
    assert said(part) == expected(FIXTURES[name])
    assert part.rows is not None
    used = part.frame.index.nunique()
    assert part.rows.records == used + sum(part.rows.dropped.values())
    origin = part.origin
    assert (origin["format"], origin["records"], origin["rows"]) == (part.tool.name, part.rows.records, len(part.frame))
    assert {reason: lost["records"] for reason, lost in origin["dropped"].items()} == FIXTURES[name].dropped
    assert origin["sha256"] == hashlib.sha256(FIXTURES[name].bytes).hexdigest()


#: Fixtures whose file's name, or the files next to it, name the task, the model or the judge.
NAMED = {"lm-eval", "helm", "trec-qrels"}


@pytest.mark.parametrize("name", [name for name in FIXTURES if name not in NAMED])
def test_names_order_and_compression_mean_nothing(name: str, tmp_path: Path) -> None:
    fixture = FIXTURES[name]
    ending = Path(fixture.name).suffix
    renamed = fixture.write(tmp_path, f"other{ending}")
    assert said(read_parts(renamed)[0]) == expected(fixture)
    renamed.unlink()
    packed = tmp_path / f"packed{ending}.gz"
    packed.write_bytes(gzip.compress(fixture.bytes))
    assert said(read_parts(tmp_path)[0]) == expected(fixture)
    # The first line of an OpenAI Evals log is its specification.
    if isinstance(fixture.content, list) and name != "openai-evals":
        turned = [dict(reversed(record.items())) for record in reversed(fixture.content)]
        path = tmp_path / "turned.jsonl"
        path.write_text("\n".join(json.dumps(record) for record in turned))
        assert said(read_parts(path)[0]) == expected(fixture)


def records_of(fixture: Fixture) -> list[Any]:
    content: Any = fixture.content
    if isinstance(content, pd.DataFrame):
        frame = content.loc[:, ~content.columns.duplicated()]
        return frame.to_dict("records")[:FIRST]
    if fixture.name.endswith(".eval"):
        return list(content["summaries.json"])
    return content[:FIRST] if isinstance(content, list) else [content]


def fits(tool: Format, records: list[dict[str, Any]]) -> bool:
    body = [record for record in records if not tool.preamble & record.keys()]
    return tool.recognises(body) or (len(records) == 1 and enclosed(tool, records[0]) is not None)


@pytest.mark.parametrize("name", FIXTURES)
def test_no_two_formats_claim_one_file(name: str) -> None:
    claimed = [tool.name for tool in known_formats() if fits(tool, records_of(FIXTURES[name]))]
    assert claimed == [FIXTURES[name].tool]


def test_every_format_has_a_fixture() -> None:
    formats = {tool.name for tool in known_formats()}
    assert formats - {fixture.tool for fixture in FIXTURES.values()} <= {"alpaca-eval-outputs"}
    assert len(FIXTURES) >= 27


LINES = [name for name, fixture in FIXTURES.items() if isinstance(fixture.content, list)]


@pytest.mark.parametrize("name", LINES)
def test_a_file_without_one_mark_is_refused_with_the_key(name: str, tmp_path: Path) -> None:
    fixture = FIXTURES[name]
    tool = next(tool for tool in known_formats() if tool.name == fixture.tool)
    for mark in sorted(mark for mark in tool.marks if "*" not in mark):
        left = [{key: value for key, value in record.items() if key != mark} for record in fixture.content]
        path = tmp_path / "records.jsonl"
        path.write_text("\n".join(map(json.dumps, left)))
        with pytest.raises(UsageError, match=f"lack.*{mark!r}"):
            read_parts(path, Reading(format=tool.name))


#: A fixture, the mark that its records lack, how a question is refused, and what is near.
LACKING = [
    ("promptfoo-jsonl", "promptIdx", "accuracy", "promptfoo lacks 'promptIdx'"),
    ("lm-eval", "filter", "accuracy", "lm-eval lacks 'filter'"),
    ("lmarena", "winner", "elo", "lmarena lacks 'winner'; soft-elo lacks 'scores_a', 'scores_b'"),
    # Its judge says that these are no LMArena votes.
    ("mt-bench-votes", "winner", "elo", "mt-bench-votes lacks 'winner'; mt-bench-single lacks 'model', 'score'"),
    ("wildbench-pair", "winner", "elo", "wildbench-pair lacks 'winner'"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "mark", "question", "near"), LACKING)
def test_records_that_lack_one_mark_are_near_their_format(
    name: str, mark: str, question: str, near: str, tmp_path: Path
) -> None:
    path = tmp_path / "records.jsonl"
    left = [{key: value for key, value in record.items() if key != mark} for record in FIXTURES[name].content]
    path.write_text("\n".join(map(json.dumps, left)))
    nearest = f"no known tool's records; nearest: {near}"
    found = inspect_source(path)
    assert found.format == "table"
    assert any(nearest in note for note in found.notes), found.notes
    assert nearest in run(question, path).stderr
    # Next to verdicts or scores that can be read there is nothing to say.
    path.write_text("\n".join(json.dumps({**record, "item": k, "verdict": k % 2}) for k, record in enumerate(left)))
    assert not any("nearest" in note for note in inspect_source(path).notes)


def test_a_format_that_is_named_is_used_or_refused(tmp_path: Path) -> None:
    path = FIXTURES["deepeval"].write(tmp_path)
    assert said(read_parts(path, Reading(format="deepeval"))[0]) == expected(FIXTURES["deepeval"])
    assert read_parts(path, Reading(format="table"))[0].tool is None
    with pytest.raises(UsageError, match=r"no format .deepval'; there are .*deepeval"):
        read_parts(path, Reading(format="deepval"))
    with pytest.raises(UsageError, match=r"not in the format promptfoo.*lack 'promptIdx', 'testIdx'"):
        read_parts(path, Reading(format="promptfoo"))


def test_files_of_several_tools_in_one_folder_are_refused(tmp_path: Path) -> None:
    FIXTURES["deepeval"].write(tmp_path)
    FIXTURES["promptfoo"].write(tmp_path)
    with pytest.raises(UsageError, match=r"several formats.* deepeval: bayesjudge inspect .*; promptfoo: "):
        read_parts(tmp_path)


def test_a_log_without_one_judgement_says_why(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text('{"key": "ok", "score": 1, "comment": "fine"}\n' * 3)
    with pytest.raises(InputError, match="no item: write the question's id"):
        read_parts(path)


@pytest.mark.parametrize("seed", [199, 2280, 24924], ids=["nested, inspected", "nested, read", "a list for a model"])
def test_what_was_found_in_damaged_files_of_tools_stays_repaired(seed: int, tmp_path: Path) -> None:
    outcome = read_damaged(seed, tmp_path)
    assert outcome.state != "fault", outcome.message


@pytest.mark.slow
@pytest.mark.parametrize("count", [300, pytest.param(3000, marks=pytest.mark.slow)])
def test_damaged_files_of_tools_are_read_or_refused(count: int, tmp_path: Path) -> None:
    found: Counter[str] = Counter()
    for seed in range(count):
        outcome = read_damaged(seed, tmp_path)
        assert outcome.state != "fault", (seed, outcome.message)
        found[outcome.state] += 1
    assert found["read"] > count / 10


def test_records_without_a_second_model_are_refused_as_pairs(tmp_path: Path) -> None:
    record = FIXTURES["judge-log"].content[0] | {"verdict": "a"}
    path = tmp_path / "replies.jsonl"
    path.write_text(json.dumps({name: value for name, value in record.items() if name != "model_b"}))
    with pytest.raises(UsageError, match="no record names 'model_b'"):
        read_pairs(path)


@pytest.mark.slow
def test_nested_and_long_values_are_read_or_refused(tmp_path: Path) -> None:
    """A thousand levels, more than any parser takes, and ten million characters in every place of a record."""
    deep: Any = 1
    for _ in range(1000):
        deep = [deep]
    for value in (deep, "x" * 10_000_000):
        for key in ("provider", "testCase", "vars", "gradingResult", "success"):
            record = {**FIXTURES["promptfoo-jsonl"].content[0], key: value}
            (tmp_path / "log.jsonl").write_text(json.dumps(record) + "\n" * 2 + json.dumps(record))
            with contextlib.suppress(InputError, UsageError):
                inspect_source(tmp_path / "log.jsonl")
    for text in ("[" * 200_000, '{"a":' * 200_000):
        (tmp_path / "log.json").write_text(text)
        with pytest.raises(InputError, match="is not JSON"):
            read_parts(tmp_path / "log.json")


def test_what_unpacks_to_more_than_it_says_or_the_memory_holds_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bombs: a member of an archive, one line and one array of a packed file."""
    most = 1 << 16
    for module in ("containers", "json_records"):
        monkeypatch.setattr(f"bayesjudge.readers.{module}.most_bytes", lambda: most)
    archive = tmp_path / "log.eval"
    archive.write_bytes(packed({"summaries.json": ["x" * most]}))
    with pytest.raises(InputError, match="of more than 65,536 bytes"):
        read_parts(archive)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as written:
        written.writestr("../../summaries.json", "[]")
        written.writestr("summaries.json", json.dumps(["x" * 1000] * 60))
    lying = archive.read_bytes().replace((60_240).to_bytes(4, "little"), (100).to_bytes(4, "little"))
    archive.write_bytes(lying)
    with pytest.raises(InputError, match="is not JSON"):
        read_parts(archive)
    for content in (b'{"a": "' + b"x" * 2 * most, b"[" + b"1," * most):
        (tmp_path / "log.jsonl.gz").write_bytes(gzip.compress(content))
        with pytest.raises(InputError, match="of more than 65,536 bytes"):
            read_parts(tmp_path / "log.jsonl.gz")


@pytest.mark.parametrize("place", ["question", "expected"])
def test_half_of_a_surrogate_pair_is_refused_in_what_is_kept(place: str, tmp_path: Path) -> None:
    """In a value and in the name of a column; what is not kept of a record may hold anything."""
    for inputs in ({place: "\ud800"}, {f"{place}\ud800": "x"}):
        record = {**FIXTURES["promptfoo-jsonl"].content[0], "testCase": {"vars": inputs}}
        (tmp_path / "log.jsonl").write_text(json.dumps(record))
        with pytest.raises(InputError, match="record 1 holds half of a surrogate pair"):
            read_parts(tmp_path / "log.jsonl")
    unused = {**FIXTURES["promptfoo-jsonl"].content[0], "response": {"output": "\ud800"}}
    (tmp_path / "log.jsonl").write_text(json.dumps(unused))
    assert len(read_parts(tmp_path / "log.jsonl")[0].frame) == 1


def test_lines_keep_what_json_allows_and_only_what_a_format_reads(tmp_path: Path) -> None:
    """Long integers stay whole, ``NaN`` is read, and keys that a format does not use are never made."""
    path = tmp_path / "log.jsonl"
    records = [FIXTURES["promptfoo-jsonl"].content[0]] * (FIRST + 1)
    path.write_text("\n".join(json.dumps({**record, "response": "x" * 9000}) for record in records) + "\n")
    source = find_sources(path)[0]
    lines = JsonRecords(source)
    assert "response" in next(lines)
    lines.only({"provider", "testCase.vars"})
    kept = {"provider": records[0]["provider"], "testCase": {"vars": records[0]["testCase"]["vars"]}}
    assert list(lines) == [kept] * FIRST
    path.write_bytes(
        b'\xef\xbb\xbf{"item": 123456789012345678901234567890, "score": NaN}\n\n{"item": -0.5, "score": 1e400}'
    )
    found = list(JsonRecords(source))
    assert found[0]["item"] == 123456789012345678901234567890
    assert (str(found[0]["score"]), found[1]) == ("nan", {"item": -0.5, "score": float("inf")})


@pytest.mark.parametrize("key", ["prompt", "provider", "testCase", "gradingResult"])
def test_what_is_kept_inside_objects_changes_no_row(key: str, tmp_path: Path) -> None:
    """Lines, of whose objects only what a format reads is made, give the rows of an array, which is made whole."""
    good = FIXTURES["promptfoo-jsonl"].content[0]
    (graded,) = (part for part in good["gradingResult"]["componentResults"] if part["assertion"]["type"] != "human")
    shapes: list[Any] = [None, "text", 7, 2**70, 0.5, True, [], ["text", [good[key]], None, 2**70], [graded], {}]
    shapes += [json.dumps(good[key]), {"componentResults": [graded, "text", [], None, 1]}, {"vars": [1], "label": [2]}]
    judged = {"type": "llm-rubric", "metric": "tone", "provider": {"id": "judge"}}
    asked = [*shapes[:7], judged, {**judged, "metricOnly": True}, {"type": "not-g-eval", "provider": {"label": "j"}}]
    shapes += [{"componentResults": [{**graded, "assertion": shape, "pass": True}, graded]} for shape in asked]
    shapes += [{"id": "m", "label": "named"}, {"id": "m"}, {"metadata": {"topic": "law"}, "vars": {"q": "another"}}]
    records = [good] * FIRST + [{**good, key: shape, "testIdx": k} for k, shape in enumerate(shapes)]
    (tmp_path / "log.json").write_text(json.dumps(records))
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, records)))
    (whole,), (lines,) = (read_parts(tmp_path / name) for name in ("log.json", "log.jsonl"))
    pd.testing.assert_frame_equal(lines.frame, whole.frame)
    assert lines.rows is not None
    assert whole.rows is not None
    assert lines.rows.dropped == whole.rows.dropped


def test_tables_of_records_have_the_types_of_all_their_cells(tmp_path: Path) -> None:
    """Columns grow a thousand rows at a time; what comes late counts as what came first."""
    late: dict[str, Any] = {"text": "x", "mixed": 1, "number": 0.5, "late": "new", "list": [1]}
    late |= {"part": 0.25, "score": 0.75, "held": True, "sure": False, "at last": 0.125}
    early: dict[str, Any] = {"text": None, "mixed": "a", "list": None, "part": None, "score": -0.0, "held": None}
    records = [{**early, "number": k, "sure": True} for k in range(1000)] + [late] * 1001
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, records)))
    (part,) = read_parts(path)
    pd.testing.assert_frame_equal(part.frame, pd.DataFrame(records))


def changed(name: str, **more: Any) -> list[dict[str, Any]]:
    """A fixture's records, the first one with other values."""
    content = FIXTURES[name].content
    first, *rest = content if isinstance(content, list) else content["data"]
    return [{**first, **more}, *rest]


def test_what_the_tools_own_sources_say_of_a_record(tmp_path: Path) -> None:
    """Braintrust's ``is_root``, texts among Langfuse's scores, metadata of DeepEval 4, scores by code, red teams."""
    path = tmp_path / "log.json"
    path.write_text(json.dumps(changed("braintrust", span_id="s9", is_root=True)))
    assert names_in(read_parts(path)[0], "item") == ("q1", "q2")
    for more, reason in (
        ({"dataType": "CORRECTION", "value": 0}, "text, no score"),
        ({"traceId": None, "datasetRunId": "run"}, "of a session or a run of all items"),
    ):
        path.write_text(json.dumps(changed("langfuse", **more)))
        (part,) = read_parts(path)
        assert part.rows is not None
        assert part.rows.dropped == {reason: 1, "not scored": 1}
    cases = [{**case, "metadata": {"topic": "law"}} for case in FIXTURES["deepeval"].content["testCases"]]
    path.write_text(json.dumps({"testCases": cases}))
    assert names_in(read_parts(path)[0], "metadata.topic") == ("law",)
    path.write_text(json.dumps(changed("phoenix-annotations", annotator_kind="CODE")))
    assert "'ok' was computed by code, no judge" in read_parts(path)[0].notes
    grade = {"pass": True, "score": 1, "assertion": {"type": "promptfoo:redteam:bias", "provider": "openai:o3"}}
    path.write_text(json.dumps(changed("promptfoo-jsonl", gradingResult={"componentResults": [grade]})))
    assert "promptfoo:redteam:bias" in names_in(read_parts(path)[0], "criterion")
