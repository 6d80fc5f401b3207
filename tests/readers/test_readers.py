"""Reading verdicts: every format gives the same table, and every broken file a named error."""

from __future__ import annotations

import gzip
import io
import json
import re
import shutil
import tempfile
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bayesjudge.errors import InputError, UsageError
from bayesjudge.readers import read_battles, read_pairs, read_repeats, read_verdicts
from bayesjudge.readers.aliases import SCORE_ALIASES
from bayesjudge.readers.column_names import recognise
from bayesjudge.readers.inspection import inspect_source
from bayesjudge.readers.log import read
from bayesjudge.tables import Verdicts

FRAME = pd.DataFrame(
    {
        "item": ["q1", "q1", "q2", "q2"],
        "model": ["ä", "b", "ä", "b"],
        "verdict": [1, 0, 1, 1],
        "label": pd.array([1, 0, None, None], dtype="Int64"),
        "subject": ["x", "x", "y", "y"],
    }
)
CSV = FRAME.to_csv(index=False)


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def records(frame: pd.DataFrame) -> str:
    return "".join(json.dumps(row) + "\n" for row in json.loads(frame.to_json(orient="records")))


def parquet(frame: pd.DataFrame) -> bytes:
    stream = io.BytesIO()
    frame.to_parquet(stream, index=False)
    return stream.getvalue()


CONTENTS = {
    "a.csv": CSV,
    "bom.csv": b"\xef\xbb\xbf" + CSV.encode(),
    "semicolons.csv": FRAME.to_csv(index=False, sep=";"),
    "crlf.csv": CSV.replace("\n", "\r\n"),
    "a.csv.gz": gzip.compress(CSV.encode()),
    "UPPER.CSV": CSV,
    "a.tsv": FRAME.to_csv(index=False, sep="\t"),
    "a.jsonl": records(FRAME),
    "lines.json": records(FRAME),
    "bom.jsonl": b"\xef\xbb\xbf" + records(FRAME).encode(),
    "array.json": FRAME.to_json(orient="records", indent=1),
    "a.parquet": parquet(FRAME),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_every_format_gives_the_same_table(tmp_path: Path, name: str) -> None:
    verdicts = read_verdicts(write(tmp_path / name, CONTENTS[name]))
    pd.testing.assert_frame_equal(verdicts.frame, Verdicts.from_frame(FRAME).frame)


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.parquet"])
def test_no_thread_of_arrow_s_holds_a_file_of_python_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """One that still did when Python ended would abort the process: as one command in some eighty did."""
    threads = set()

    class Watched(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            threads.add(threading.get_ident())
            return super().read(size)

    (tmp_path / name).write_bytes(CSV.encode() if "csv" in name else parquet(FRAME))
    monkeypatch.setattr("bayesjudge.readers.sources._open", lambda path, **_: Watched(path.read_bytes()))
    assert len(read_verdicts(tmp_path / name)) == 4
    assert threads <= {threading.get_ident()}


@pytest.mark.parametrize("name", ["a.csv", "bom.csv", "a.tsv", "a.jsonl", "array.json", "a.parquet"])
def test_standard_input_is_sniffed(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    content = CONTENTS[name]
    stream = io.BytesIO(content.encode() if isinstance(content, str) else content)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=stream))
    assert read_verdicts("-").frame["verdict"].tolist() == [1, 0, 1, 1]


def test_tables_in_memory_are_read_whole() -> None:
    ibis, polars, pyarrow = (pytest.importorskip(name) for name in ("ibis", "polars", "pyarrow"))
    arrow = pyarrow.Table.from_pandas(FRAME)
    expected = Verdicts.from_frame(FRAME).frame
    tables = [FRAME, arrow, polars.from_arrow(arrow), polars.from_arrow(arrow).lazy(), ibis.memtable(arrow)]
    for table in tables:
        pd.testing.assert_frame_equal(read_verdicts(table).frame, expected)


def test_long_whole_numbers_keep_every_digit_where_some_are_missing() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"item": [2**60 + 1, None], "model": ["m", "m"], "verdict": [1, 1]})
    verdicts = read_verdicts(table)
    assert verdicts.frame["item"].tolist() == [str(2**60 + 1)]
    assert dict(verdicts.dropped) == {"missing item": 1}


def test_a_pattern_reads_every_file_and_row_numbers_are_the_files(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", "question_id,model,score\nq1,m,1\nq2,m,0\n")
    write(tmp_path / "b.jsonl", '{"item": "q3", "model": "m", "verdict": true}\n')
    assert read_verdicts(tmp_path / "*.*").frame["item"].tolist() == ["q1", "q2", "q3"]
    write(tmp_path / "b.jsonl", '{"item": "q3", "model": "m", "verdict": "eh"}\n')
    with pytest.raises(InputError, match=r"row 1: found 'eh' in .*b\.jsonl"):
        read_verdicts(str(tmp_path / "*"))


def test_labels_come_from_a_second_file(tmp_path: Path) -> None:
    path = write(tmp_path / "v.csv", "item_id,generator,grader,judgment\n1,m,j,yes\n2,m,j,no\n")
    gold = write(tmp_path / "gold.jsonl", '{"question_id": 1, "model_name": "m", "human": "correct"}\n')
    verdicts = read_verdicts(path, labels=gold)
    assert verdicts.frame[["item", "judge", "verdict"]].to_numpy().tolist() == [["1", "j", 1], ["2", "j", 0]]
    assert verdicts.frame["label"].tolist() == [1, pd.NA]
    mapped = read_verdicts(path, labels=gold, columns={"label": "human", "verdict": "judgment"})
    assert mapped.frame["label"].tolist() == [1, pd.NA]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "an empty file"),
        ("\n\n", "an empty file"),
        ("item,model,verdict\n", "a header without rows"),
        ("item,model,verdict\n1,m,1\n2,m\n3,m,1,9\n", r"row 2, 3: found rows with 2, 4 cells under.* 3"),
        (CSV.encode("utf-16"), "text in UTF-16.*UTF-8"),
        (CSV.encode("utf-16-le"), "text in UTF-16"),
        (CSV.encode("latin-1"), r"byte 0xe4 at offset 36 \(line 2\), which is not UTF-8.*UTF-8"),
        (b"it\xe4m,model\n", r"line 1\), which is not UTF-8"),
        (b"item,model,verdict\n\x00\x01\x02", "binary content"),
        ('item,model,verdict\n"1,m,1\n', "rows with|quotes"),
        ("item,item,model\n1,2,3\n", "2 columns of this name"),
    ],
)
def test_broken_csv_says_what_is_wrong(tmp_path: Path, content: str | bytes, said: str) -> None:
    with pytest.raises(InputError, match=f"(?s){said}"):
        read_verdicts(write(tmp_path / "a.csv", content))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"item": 1}\n{"item": \n', "line 2 is not JSON"),
        ('[{"item": 1},\n {"item": }]', "line 2 is not JSON"),
        ('{"item": 1}\n\n[1, 2]\n', "line 3 is not an object but list"),
        ("[]", "no objects"),
        ('{"item": "\\ud800", "model": "m", "verdict": 1}\n', "record 1 holds half of a surrogate pair"),
        (b'{"item": "\xe4"}\n', "not UTF-8"),
    ],
)
def test_broken_json_names_the_line(tmp_path: Path, content: str | bytes, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_verdicts(write(tmp_path / "a.jsonl", content))


def test_broken_archives_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no readable Parquet"):
        read_verdicts(write(tmp_path / "a.parquet", b"PAR1 not really"))
    with pytest.raises(InputError, match="cannot be read"):
        read_verdicts(write(tmp_path / "a.csv.gz", b"not gzip"))
    with pytest.raises(InputError, match="cannot be read"):
        read_verdicts(write(tmp_path / "b.csv.gz", gzip.compress(CSV.encode())[:-12]))


def test_files_that_are_not_there_or_not_files(tmp_path: Path) -> None:
    write(tmp_path / "verdicts.csv", CSV)
    with pytest.raises(InputError, match=r"no such file.*Did you mean '.*verdicts\.csv'"):
        read_verdicts(tmp_path / "verdict.csv")
    assert len(read_verdicts(tmp_path)) == len(FRAME)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="a folder without a file of a known ending"):
        read_verdicts(tmp_path / "empty")
    # What is not known by its ending is by its first bytes, where it is named.
    (tmp_path / "of trec").mkdir()
    (tmp_path / "of trec" / "run.txt").write_text("1 0 d1 1\n1 0 d2 0\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"Name a file, or a pattern: '(.*/\*\.txt)'; known endings") as raised:
        read_verdicts(tmp_path / "of trec")
    pattern = str(raised.value).partition("a pattern: '")[2].partition("'")[0]
    assert len(read_verdicts(pattern)) == 2
    with pytest.raises(InputError, match="no file that matches"):
        read_verdicts(str(tmp_path / "*.jsonl"))
    with pytest.raises(UsageError, match=r"known endings are \.csv"):
        read_verdicts(write(tmp_path / "a.docx", "x"))
    with pytest.raises(UsageError, match="cannot be the name"):
        read_verdicts("a\0.csv")


@pytest.mark.parametrize("source", [3, None, ["a.csv"], FRAME["item"]])
def test_other_things_are_refused(source: object) -> None:
    with pytest.raises(UsageError, match="give a path"):
        read_verdicts(source)


def test_a_list_of_paths_is_refused_with_what_reads_several_files() -> None:
    """An empty one ended in an IndexError."""
    for paths in ([], ["a.csv", "b.csv"]):
        with pytest.raises(UsageError, match="of several files their folder or a pattern"):
            read_battles(paths)


def test_two_names_that_could_be_meant_are_a_named_error() -> None:
    frame = FRAME.drop(columns="label").assign(gold_label=1, human=0)
    with pytest.raises(
        InputError, match=r"2 columns that could be meant: 'gold_label', 'human'.*--column label=gold_label"
    ):
        read_verdicts(frame)
    assert read_verdicts(frame, columns={"label": "human"}).frame["label"].tolist() == [0] * 4


def test_our_own_name_wins_with_a_warning() -> None:
    verdicts = read_verdicts(FRAME.assign(gold_label=0))
    assert verdicts.frame["label"].tolist()[:2] == [1, 0]
    assert "'gold_label' could be meant too" in verdicts.warnings[0]


@pytest.mark.parametrize(
    ("found", "mapping"),
    [
        (
            ["question_id", "model_name", "judge_model", "score", "human_label"],
            {
                "item": "question_id",
                "model": "model_name",
                "judge": "judge_model",
                "verdict": "score",
                "label": "human_label",
            },
        ),
        (
            ["instanceId", "Generator", "Annotator", "is_correct", "Gold Label"],
            {
                "item": "instanceId",
                "model": "Generator",
                "judge": "Annotator",
                "verdict": "is_correct",
                "label": "Gold Label",
            },
        ),
        (
            ["id", "question_id", "system", "judgement", "human_rating", "trial"],
            {"item": "question_id", "model": "system", "verdict": "judgement", "label": "human_rating", "run": "trial"},
        ),
        # Who labelled is no label, and a task's own answer is no person's judgement.
        (["id", "verdict", "human_id", "target"], {"item": "id"}),
        (["id", "model", "verdict"], {"item": "id"}),
        # Where there is no better name, and where a better one is.
        (["response_id", "source_model", "verdict"], {"item": "response_id", "model": "source_model"}),
        (["uuid", "question", "dialogue_system", "system", "verdict"], {"item": "question", "model": "system"}),
    ],
)
def test_names_of_known_formats_are_recognised(found: list[str], mapping: dict[str, str]) -> None:
    assert recognise(found) == (mapping, ())


def test_an_answer_s_name_is_no_item_where_answers_are_scored() -> None:
    found = ["response_id", "judge", "trial", "score"]
    assert recognise(found, aliases=SCORE_ALIASES)[0] == {"response": "response_id"}


def read_or_refuse(name: str, content: bytes) -> None:
    """Whatever the bytes, the result is a table or one of the two named errors."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            verdicts = read_verdicts(write(Path(folder) / name, content))
        except (InputError, UsageError):
            return
        assert len(verdicts)


@pytest.mark.slow
@settings(max_examples=60)
@given(
    content=st.binary(max_size=200),
    name=st.sampled_from(["a.csv", "a.tsv", "a.jsonl", "a.json", "a.parquet", "a.csv.gz"]),
)
@example(content=b'"', name="a.csv")
@example(content=b"item,model,verdict\r1,m,1", name="a.csv")
@example(content=b"1" * 5000, name="a.json")
@example(content=b"[" * 100_000, name="a.json")
def test_random_bytes_are_read_or_refused(content: bytes, name: str) -> None:
    read_or_refuse(name, content)


CELL = st.text(st.characters(codec="utf-8"), max_size=4) | st.sampled_from(["1", "0", "yes", "", '"', "\n", "q"])


@pytest.mark.slow
@settings(max_examples=60)
@given(
    rows=st.lists(st.lists(CELL, max_size=5), max_size=5),
    header=st.sampled_from(["item,model,verdict", "id,llm,score,gold"]),
)
def test_ragged_tables_are_read_or_refused(rows: list[list[str]], header: str) -> None:
    read_or_refuse("a.csv", "\n".join([header, *(",".join(row) for row in rows)]).encode())


@pytest.mark.slow
@settings(max_examples=40)
@given(
    names=st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1).filter(str.strip),
        min_size=1,
        max_size=5,
        unique=True,
    )
)
def test_any_unicode_name_survives_every_format(names: list[str]) -> None:
    frame = pd.DataFrame({"item": names, "model": names, "verdict": 1})
    with tempfile.TemporaryDirectory() as folder:
        for name, content in {"a.jsonl": records(frame), "a.parquet": parquet(frame)}.items():
            assert read_verdicts(write(Path(folder) / name, content)).frame["item"].tolist() == names


def test_the_real_table_is_recognised(shared_data: Path) -> None:
    path = shared_data / "binary_triviaqa_judges" / "triviaqa_judges.parquet"
    whole = pd.read_parquet(path)
    verdicts = read_verdicts(whole[(whole["version"] == "V1") & (whole["judge_type"] == "llm") & ~whole["suspect"]])
    assert len(verdicts) == 31_825
    assert not verdicts.warnings
    assert {"judge_type", "version", "suspect"} <= set(verdicts.frame.columns)


@pytest.mark.parametrize(
    ("read", "theirs", "ours", "columns"),
    [
        (read_verdicts, "prediction", "verdict", {"item": "q1", "model": "m"}),
        (read_battles, "score_difference", "score_gap", {"item": "q1", "model_a": "m", "model_b": "n"}),
        (read_pairs, "judge_preference", "judge_prefers", {"item": "q1", "human_prefers": "a"}),
        (read_repeats, "winner", "outcome", {"item": "q1", "judge": "j"}),
    ],
)
def test_a_value_is_reported_under_the_users_name_of_its_column(
    read: Any, theirs: str, ours: str, columns: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "log.csv"
    pd.DataFrame([columns | {theirs: "Rome"}]).to_csv(path, index=False)
    with pytest.raises(InputError, match=rf"^column '{theirs}' \(read as {ours}\), row 1: found 'Rome'"):
        read(path)


def test_each_of_several_files_has_its_own_names_in_messages(tmp_path: Path) -> None:
    for file, theirs, value in (("one.csv", "prediction", "Rome"), ("two.csv", "verdict", "Oslo")):
        pd.DataFrame({"item": ["q1"], "model": [file], theirs: [value]}).to_csv(tmp_path / file, index=False)
    with pytest.raises(InputError) as raised:
        read_verdicts(str(tmp_path / "*.csv"))
    first, second = str(raised.value).splitlines()
    assert first.startswith("column 'prediction' (read as verdict), row 1: found 'Rome' in ")
    assert second.startswith("column 'verdict', row 1: found 'Oslo' in ")


def test_words_of_many_files_are_few_lines(tmp_path: Path) -> None:
    for k in range(5):
        frame = pd.DataFrame({"item": range(8), "model": f"m{k}", "verdict": ["yes", "eh"] * 4})
        frame.to_csv(tmp_path / f"{k}.csv", index=False)
        words = ["1_full", "2_none"] * 4 if k else ["I cannot, sorry", *["1_full"] * 7]
        frame.assign(verdict=words).to_json(tmp_path / f"{k}.json", orient="records")
    with pytest.raises(InputError, match=r"found 'eh' in .*1\.csv and 3 more files") as raised:
        read_verdicts(str(tmp_path / "*.csv"))
    assert len(raised.value.problems) == 2
    # Words of the same kinds are offered for all files, and a reply among them is none of the kinds.
    with pytest.raises(InputError, match=r"'1_full', '2_none' and 1 other in 5 files, here of .*0\.json") as raised:
        read_verdicts(str(tmp_path / "*.json"))
    assert raised.value.options == ("--verdict verdict=1_full", "--verdict verdict=2_none")


def test_files_named_for_tasks_in_folders_of_judges_are_no_models(tmp_path: Path) -> None:
    """The folder of people holds labels, and what is said of each file is said once."""
    for folder in ("gray_box", "human_as_a_judge"):
        (tmp_path / folder).mkdir()
        for task in ("paint", "sort"):
            met = [k > (folder == "gray_box") for k in range(3)]
            rows = [{"nr": k, "text": f"{task} {k}", "category": "x", "met": one} for k, one in enumerate(met)]
            (tmp_path / folder / f"{task}.json").write_text(json.dumps({"name": task, "rows": rows}))
    with pytest.raises(UsageError, match="4 files of 2 tasks in folders 'gray_box', 'human_as_a_judge'") as raised:
        read_verdicts(tmp_path, columns={"verdict": "met"})
    option = f"--set 'judge={{folder}}' --set model={tmp_path.name} --set 'item={{file}}-{{nr}}'"
    assert raised.value.options == (option,)
    found = inspect_source(tmp_path)
    assert [one.partition(" --column ")[2] for one in found.questions["accuracy"].commands] == [f"verdict=met {option}"]
    assert sum("rows are the objects in 'rows'" in note for note in found.notes) == 1
    put = {"judge": "{folder}", "model": "m", "item": "{file}-{nr}"}
    table = read_verdicts(tmp_path, columns={"verdict": "met"}, put=put)
    assert set(table.frame["judge"]) == {"gray_box"}
    assert table.frame["item"].tolist() == [f"{task}-{k}" for task in ("paint", "sort") for k in range(3)]
    assert (table.frame["verdict"].tolist(), table.frame["label"].tolist()) == ([0, 0, 1] * 2, [0, 1, 1] * 2)
    # Folders of the same names hold several models' answers: one after the other is read.
    (tmp_path / "other").mkdir()
    for folder in ("gray_box", "human_as_a_judge"):
        shutil.copytree(tmp_path / folder, tmp_path / "other" / folder)
    with pytest.raises(UsageError, match="one model's files: name one folder in"):
        read_verdicts(tmp_path, columns={"verdict": "met"})


def test_a_file_of_peoples_judgements_is_no_judges(tmp_path: Path) -> None:
    log = pd.DataFrame({"item": [*"abcd"], "model": "m", "verdict": [1, 0, 1, 1]})
    for name in ("gpt", "human"):
        log.assign(verdict=log["verdict"] * (name == "gpt")).to_csv(tmp_path / f"{name}.csv", index=False)
    with pytest.raises(UsageError, match="makes what is called human people's") as raised:
        read_verdicts(tmp_path, refuse_doubtful=True)
    assert raised.value.options == ("--set 'judge={file}'",)
    assert read_verdicts(tmp_path, put={"judge": "{file}"}).frame["label"].tolist() == [0] * 4


def test_batches_of_mechanical_turk_end_before_the_columns_to_fill_in(tmp_path: Path) -> None:
    path = tmp_path / "batch.csv"
    head, rows = '"HITId","WorkerId","Answer.better","Approve","Reject"', ['"h1","w1","A"', '"h1","w2","B,\nC"']
    path.write_text("\n".join([head, *rows]))
    taken = read(path).frame
    assert list(taken.columns) == ["HITId", "WorkerId", "Answer.better"]
    assert taken.iloc[:, 1:].to_numpy().tolist() == [["w1", "A"], ["w2", "B,\nC"]]
    # One row of another length, and it is refused as any other table is.
    for wrong in ('"h2","w1"', '"h2","w1","A",""'):
        path.write_text("\n".join([head, *rows, wrong]))
        with pytest.raises(InputError, match="cells under a header of 5"):
            read(path)


@pytest.mark.parametrize(
    "chosen",
    [{"columns": {"verdict": "gpt"}}, {"verdict": "gpt"}, {"put": {"verdict": "{gpt}"}}, {"wide": "verdict:judge=gpt"}],
)
def test_a_threshold_cuts_the_column_that_was_chosen_and_no_other_called_score(chosen: dict[str, Any]) -> None:
    """Verdicts were those of ``score``, without a word."""
    log = pd.DataFrame({"item": [1, 2, 3], "model": "m", "gpt": [9, 2, 8], "score": [1, 9, 2]})
    assert read_verdicts(log, threshold="5", **chosen).frame["verdict"].tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("verdict", "threshold", "said"),
    [
        ([1, 0, None], "5", "cuts 'score', not 'verdict', which says otherwise in 2 of 2 rows that have both"),
        (["no", "yes", "yes"], "5", r"otherwise in 1 of 3 .*'verdict', leave --threshold out"),
        ([1, 9, 9], "5", r"otherwise in 1 of 3 .*'verdict', type --column verdict=verdict"),
        ([0, 1, None], "5", None),
        ([1, 0, None], None, None),
    ],
)
def test_verdicts_that_a_threshold_leaves_out_are_named(verdict: list[Any], threshold: Any, said: str | None) -> None:
    """``score`` was cut in their place without a word."""
    log = pd.DataFrame({"item": [1, 2, 3], "model": "m", "score": [1, 9, 2], "verdict": verdict})
    warnings = " ".join(read_verdicts(log, threshold=threshold).warnings)
    assert re.search(said, warnings) if said else "cuts" not in warnings


def test_a_threshold_of_scores_cuts_no_verdict_where_a_score_is_empty() -> None:
    """A verdict of 1 was the lowest score of the scale, so that it was read as 0."""
    log = pd.DataFrame({"item": [1, 2, 3, 4], "model": "m", "verdict": [1, 0, 1, 0], "score": [5, 1, None, None]})
    assert read_verdicts(log, threshold="3").frame["verdict"].tolist() == [1, 0, 1, 0]


def test_a_value_in_a_list_is_named_by_its_place() -> None:
    log = pd.DataFrame({"item": [1, 2, 3], "model": "m", "score": [[9, 1], [2, 8], [7]]})
    for form in (log, log.assign(score=log["score"].map(str))):
        first = read_verdicts(form, columns={"verdict": "score.1"}, threshold="5")
        assert first.frame["verdict"].tolist() == [1, 0, 1]
        second = read_verdicts(form, columns={"verdict": "score.2"}, threshold="5")
        assert (second.frame["verdict"].tolist(), second.dropped) == ([0, 1], {"missing verdict": 1})
    with pytest.raises(UsageError, match=r"no column 'score\.3'"):
        read_verdicts(log, columns={"verdict": "score.3"}, threshold="5")
