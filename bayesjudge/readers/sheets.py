"""A sheet of a workbook (``.xlsx``, ``PATH.xlsx::SHEET``) as a table of text, as a CSV file of it would be read."""

from __future__ import annotations

import datetime as dt
import shlex
import warnings
import zipfile
import zlib
from collections.abc import Sequence
from typing import Any
from xml.etree.ElementTree import ParseError

import pandas as pd

from bayesjudge.errors import InputError, UsageError, did_you_mean
from bayesjudge.readers.json_records import most_bytes
from bayesjudge.readers.sources import Source, file_error

#: What openpyxl raises for a file that is no workbook, or a damaged one.
_DAMAGED = (ArithmeticError, AttributeError, EOFError, LookupError, OSError, ParseError, TypeError, ValueError)
_SAVE = "Save the sheet as CSV, or as a workbook anew."


def read_sheet(source: Source) -> pd.DataFrame:
    """Read the sheet that is named, or the one that is not empty: a header, then rows."""
    try:
        import openpyxl
    except ImportError as error:
        raise UsageError(
            f"{source.name}: save the sheet as CSV, or let workbooks be read: pip install 'bayesjudge[xlsx]'"
        ) from error
    try:
        with source.open() as stream, warnings.catch_warnings():
            # Of fonts and validations that are lost: cells are all that is read.
            warnings.simplefilter("ignore")
            _require_small(source, zipfile.ZipFile(stream))
            book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
            sheets = {sheet.title: _rows(sheet) for sheet in book.worksheets}
    except InputError:
        raise
    except (*_DAMAGED, zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
        raise file_error(source.name, f"no readable workbook ({error})", _SAVE) from error
    filled = {title: rows for title, rows in sheets.items() if rows}
    if not filled:
        raise file_error(source.name, "a workbook without a filled cell", _SAVE)
    if source.sheet and source.sheet not in filled:
        near = did_you_mean(source.sheet, filled)
        raise UsageError(
            f"{source.name}: no filled sheet {source.sheet!r}{near}; it has {', '.join(map(repr, filled))}"
        )
    if len(filled) > 1 and not source.sheet:
        each = ", ".join(shlex.quote(f"{source.name}::{title}") for title in filled)
        raise UsageError(f"{source.name} has several sheets; name the one that is meant: {each}")
    return _table(source, filled[source.sheet] if source.sheet else next(iter(filled.values())))


def _table(source: Source, rows: list[list[str | None]]) -> pd.DataFrame:
    width = max(map(len, rows))
    header, *cells = [[*row, *[None] * (width - len(row))] for row in rows]
    nameless = [place for place, name in enumerate(header, start=1) if name is None]
    if nameless:
        found = f"column {nameless[0]} without a name in the first row"
        raise file_error(source.name, found, "Write the names of columns into the first row.")
    columns = pd.Index(header, dtype="str")
    return pd.DataFrame(cells, columns=columns, dtype="str")


def _require_small(source: Source, archive: zipfile.ZipFile) -> None:
    size, most = sum(info.file_size for info in archive.infolist()), most_bytes()
    if size > most:
        raise file_error(source.name, f"a workbook of more than {most:,} bytes", _SAVE)


def _rows(sheet: Any) -> list[list[str | None]]:
    """Rows of text up to the last that has any, each up to its last filled cell."""
    # What a file says of its size need not be so.
    sheet.reset_dimensions()
    rows = [_filled([_text(value) for value in row]) for row in sheet.iter_rows(values_only=True)]
    return _filled(rows)


def _filled[T](values: Sequence[T]) -> list[T]:
    last = max((place for place, value in enumerate(values, start=1) if value), default=0)
    return list(values[:last])


def _text(value: Any) -> str | None:
    """A cell as CSV has it: whole numbers without a point."""
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value.isoformat() if isinstance(value, dt.date | dt.time) else str(value)
