"""Tables of any library, by the protocols they offer."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

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
