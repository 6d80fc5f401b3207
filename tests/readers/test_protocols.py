"""Tables of any library, by the protocols they offer."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import bayesjudge as bj
from bayesjudge.errors import UsageError
from bayesjudge.estimates import Estimates
from bayesjudge.readers import read_verdicts
from bayesjudge.readers.sources import is_frame, to_pandas

FRAME = pd.DataFrame({"item": ["1", "2"], "model": "m", "verdict": [1, 0], "label": [1, 0]})


class Stream:
    """A table of an unknown library: nothing but an Arrow stream."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return pa.Table.from_pandas(FRAME).__arrow_c_stream__(requested_schema)


class Interchange:
    """The same with nothing but the data frame interchange protocol."""

    def __dataframe__(self, *args: Any, **options: Any) -> Any:
        return pa.Table.from_pandas(FRAME).__dataframe__(*args, **options)


@pytest.mark.parametrize("source", [Stream(), Interchange()])
def test_an_unknown_library_s_table_is_read(source: Any) -> None:
    assert is_frame(source)
    assert read_verdicts(source).frame.equals(read_verdicts(FRAME).frame)


def test_estimates_are_an_arrow_stream() -> None:
    estimates = Estimates.from_rows([{"estimand": "accuracy", "unit": "a", "point": 0.5}, {"estimand": "x"}])
    table = pa.table(estimates)
    assert table.column_names == list(estimates.frame.columns)
    assert to_pandas(estimates)["unit"].tolist() == ["a", ""]


def test_an_object_that_is_no_table_is_refused() -> None:
    with pytest.raises(UsageError, match="__arrow_c_stream__"):
        to_pandas(object())


def test_any_log_is_read_under_our_names_and_given_to_any_library(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    FRAME.rename(columns={"item": "question_id", "model": "model_name"}).to_csv(path, index=False)
    log = bj.read(path)
    assert (len(log), log.format, log.source[0]["rows"]) == (2, "table", 2)
    assert {"item", "model", "verdict"} <= set(pa.table(log).column_names)
    assert bj.read_verdicts(log).frame["verdict"].tolist() == [1, 0]
    polars = pytest.importorskip("polars")
    assert isinstance(log.to_polars(), polars.DataFrame)


def test_without_polars_what_to_install_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(UsageError, match="pip install polars"):
        bj.read(FRAME).to_polars()


def test_a_column_of_several_kinds_is_text_in_arrow() -> None:
    log = bj.read(pd.DataFrame({"size": [1, "x", None], "item": ["a", "b", "c"]}))
    assert log.to_arrow()["size"].to_pylist() == ["1", "x", None]


TABLE = pd.DataFrame({"question_id": ["q1", "q2"], "model_name": "m", "score": ["pass", "fail"], "better": ["a", "b"]})


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"verdict": "nope"}, "no column 'nope'"),
        ({"verdct": "score"}, "cannot map a column to 'verdct'"),
        ({"verdict": "score", "label": "score"}, "mapped to two names"),
    ],
)
def test_a_mapping_that_no_question_takes_is_refused(columns: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        bj.read(TABLE, columns=columns)


def test_a_mapping_of_any_question_is_taken() -> None:
    assert "verdict" in bj.read(TABLE, columns={"verdict": "score"}).frame
    assert "outcome" in bj.read(TABLE, columns={"outcome": "better"}).frame
    assert "human" in bj.read(TABLE, columns={"human": "better"}).frame
