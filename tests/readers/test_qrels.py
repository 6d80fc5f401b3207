"""Relevance judgements as TREC writes them, people's in a second file, and grades that are labels."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from format_fixtures import FIXTURES

from bayesjudge.errors import InputError
from bayesjudge.readers import read_verdicts
from bayesjudge.readers.inspection import inspect_source

JUDGE = "t1 0 d1 1\nt1 0 d2 0\nt2 0 d1 1\n"
PEOPLE = "t1 Q0 d1 3\nt1 Q0 d2 1\nt2\tQ0\td1  0\r\nt2 Q0 d9 2\n"


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("name", ["judge.qrels", "judge.txt", "judge", "qrels.2019", "QRELS.dl-19"])
def test_they_are_recognised_by_what_they_hold(name: str, tmp_path: Path) -> None:
    found = inspect_source(write(tmp_path, name, JUDGE))
    assert (found.format, found.rows, found.items) == ("trec-qrels", 3, 3)


def test_people_are_a_second_file_and_topics_are_clusters(tmp_path: Path) -> None:
    judge, people = write(tmp_path, "judge.qrels", JUDGE), write(tmp_path, "nist.txt", PEOPLE + "t3 Q0 d1 x\n")
    table = read_verdicts(judge, labels=people, label="label=2,3")
    rows = table.frame.set_index("item")
    assert rows["verdict"].to_dict() == {"t1/d1": 1, "t1/d2": 0, "t2/d1": 1}
    assert rows["label"].to_dict() == {"t1/d1": 1, "t1/d2": 0, "t2/d1": 0}
    assert (table.cluster, rows.loc["t2/d1", "topic"], set(rows["judge"])) == ("topic", "t2", {"judge"})
    reasons = ("no grade that is a number", "row that matches no verdict")
    assert table.dropped == {f"labels table: {reason}": 1 for reason in reasons}


def test_files_of_several_judges_are_several_judges(tmp_path: Path) -> None:
    for name in ("a.qrels", "b.qrels"):
        write(tmp_path, name, JUDGE)
    rows = read_verdicts(tmp_path).frame
    assert set(rows["judge"]) == {"a", "b"}
    assert set(rows["model"]) == {"documents"}


def test_grades_need_to_be_said_to_mean_yes(tmp_path: Path) -> None:
    judge, people = write(tmp_path, "judge.qrels", JUDGE), write(tmp_path, "nist.txt", PEOPLE)
    with pytest.raises(InputError, match=r"grades 0, 1, 2, 3 in .*nist\.txt") as caught:
        read_verdicts(judge, labels=people)
    assert caught.value.options == ("--label label=1,2,3", "--label label=2,3", "--label label=3")
    assert "--label label=2,3 50%" in str(caught.value)
    # On one scale a threshold is for both.
    graded = write(tmp_path, "graded.qrels", "t1 0 d1 3\nt1 0 d2 2\nt2 0 d1 0\n")
    table = read_verdicts(graded, labels=people, threshold=2)
    assert table.frame.sort_values("item")[["verdict", "label"]].to_numpy().tolist() == [[1, 1], [1, 0], [0, 0]]
    assert not any("passes" in text for text in table.warnings)


def test_what_means_yes_nowhere_is_said(tmp_path: Path) -> None:
    judge, people = write(tmp_path, "judge.qrels", JUDGE), write(tmp_path, "nist.txt", PEOPLE)
    low = read_verdicts(judge, labels=people, threshold=2)
    assert any("no score of the judge passes the threshold 2" in text for text in low.warnings)
    none = read_verdicts(judge, labels=people, label="label=7")
    assert any("no label is one of those that mean yes: 7" in text for text in none.warnings)


def test_grades_in_a_column_of_decimals_are_the_same_grades() -> None:
    frame = pd.DataFrame({"item": ["a", "b", "c"], "model": "m", "verdict": [1, 0, 1], "human": [2.0, 0.0, None]})
    with pytest.raises(InputError, match="grades 0, 2 in the table") as caught:
        read_verdicts(frame)
    assert caught.value.options == ("--label human=2",)
    rows = read_verdicts(frame, label="human=2").frame
    assert rows["label"].tolist()[:2] == [1, 0]
    assert pd.isna(rows["label"].tolist()[2])


def test_a_run_and_lines_that_lack_something_are_refused(tmp_path: Path) -> None:
    run = write(tmp_path, "run.txt", "t1 Q0 d1 1 9.5 bm25\nt1 Q0 d2 2 9.1 bm25\n")
    with pytest.raises(InputError, match="a run, which ranks documents and judges none"):
        read_verdicts(run)
    latin = tmp_path / "latin.qrels"
    latin.write_bytes("t1 0 é 1\n".encode("latin-1"))
    with pytest.raises(InputError, match="byte 0xe9 at offset 5"):
        read_verdicts(latin)
    short = write(tmp_path, "short.qrels", JUDGE + "t3 0 d4\n")
    with pytest.raises(InputError, match=r"lines of 3 words.*") as caught:
        read_verdicts(short)
    assert caught.value.problems[0].rows == (4,)


@pytest.mark.parametrize("text", ["item,model,verdict\nq1,m,1\n", "0 0 1\n", "a b c d\n1 2 3 4\n"])
def test_other_text_is_a_table(text: str, tmp_path: Path) -> None:
    assert inspect_source(write(tmp_path, "log.txt", text)).format == "table"


def test_a_judges_scores_are_no_labels_of_people(tmp_path: Path) -> None:
    judge = FIXTURES["deepeval"].write(tmp_path)
    with pytest.raises(InputError, match=r"labels\.label"):
        read_verdicts(judge, labels=judge, threshold=0.5)
