"""CSV and TSV. Every cell is read as text, so that ``007`` stays what it is; tables do the coding."""

from __future__ import annotations

import csv
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv

from bayesjudge.errors import InputError
from bayesjudge.readers.encoding import not_utf8, require_text
from bayesjudge.readers.sources import Source, file_problem

__all__ = ["read_delimited"]

#: Bytes parsed at a time; a single row, with all its text, must fit.
_BLOCK = 1 << 24


def read_delimited(source: Source) -> pd.DataFrame:
    """Read a CSV (comma, or where the header has none, semicolon, tab or bar) or TSV file.

    Raises
    ------
    InputError
        Not UTF-8, no header, or rows with more or fewer cells than the header: all of them, by number.
    """
    require_text(source)
    header, delimiter = _header(source)
    try:
        table = _parse(source, header, delimiter)
    except pa.ArrowInvalid as error:
        raise _explain(source, header, delimiter, error) from error
    frame: pd.DataFrame = table.to_pandas()
    return frame


def _header(source: Source) -> tuple[list[str], str]:
    with source.open() as stream:
        line = b""
        while not line.strip():
            line = stream.readline(_BLOCK)
            if not line:
                raise InputError([file_problem(source.name, "an empty file", "Check how it was written.")])
    try:
        text = line.decode("utf-8-sig").strip("\r\n")
    except UnicodeDecodeError as error:
        raise (not_utf8(source) or error) from error
    delimiter = "\t" if source.format == "tsv" else next((mark for mark in ",;\t|" if mark in text), ",")
    return _cells(text, delimiter), delimiter


def _cells(text: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error:
        # Arrow reads the same line and says what is wrong with it.
        return []


def _parse(source: Source, header: list[str], delimiter: str, **options: Any) -> pa.Table:
    with source.open() as stream:
        return pyarrow.csv.read_csv(
            stream,
            read_options=pyarrow.csv.ReadOptions(
                block_size=_BLOCK, use_threads="invalid_row_handler" not in options
            ),
            parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, **options),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(header, pa.string()),
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
                null_values=[""],
            ),
        )


def _explain(source: Source, header: list[str], delimiter: str, error: pa.ArrowInvalid) -> InputError:
    wrong = not_utf8(source)
    if wrong is not None:
        return wrong
    ragged: list[tuple[int, int]] = []

    def note(row: Any) -> str:
        # Arrow counts the header as row 1.
        ragged.append(((row.number or 0) - 1, row.actual_columns))
        return "skip"

    try:
        _parse(source, header, delimiter, invalid_row_handler=note)
    except pa.ArrowInvalid:
        ragged.clear()
    if not ragged:
        return InputError(
            [
                file_problem(
                    source.name,
                    f"text that is no table ({error})",
                    "Check the quotes: each opening one needs its closing one.",
                )
            ]
        )
    sizes = sorted({size for _, size in ragged})
    found = f"rows with {', '.join(map(str, sizes))} cells under a header of {len(header)}"
    return InputError(
        [
            file_problem(
                source.name,
                found,
                "Quote cells that hold the delimiter or a line break.",
                rows=tuple(row for row, _ in ragged),
            )
        ]
    )
