"""A tool's records to one frame of rows: what was made of each record, and why some gave none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bayesjudge.errors import InputError, Problem
from bayesjudge.readers.filters import ROW
from bayesjudge.readers.format import NOT_SCORED, ROW_NAMES, File, Format, Record, Row
from bayesjudge.readers.sources import file_problem
from bayesjudge.readers.values import is_unicode

#: Columns of metadata that are kept: more are no groups.
MOST_COLUMNS = 200
#: Places of records without rows that are named, a reason.
PLACES = 5
#: Columns that are there though no row has a value: rows that lack it are refused in words.
_ALWAYS = frozenset({"item", "model_a", "model_b"})


@dataclass(frozen=True, eq=False, kw_only=True)
class Rows:
    """What the records of one file gave.

    frame: One row a judgement or a person's mark; the index is the record's place in the file, from 0.
    records: Records read: those that gave a row, and those in ``dropped``.
    places: The first five of each reason, counted from 1.
    """

    frame: pd.DataFrame
    records: int
    dropped: Mapping[str, int]
    places: Mapping[str, Sequence[int]]
    unscored: Mapping[str, int]


class _Columns:
    """Columns that grow row by row; equal texts are stored once."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.cells: dict[str, list[Any]] = {}
        self.places: list[int] = []
        self.texts: dict[str, str] = {}

    def add(self, row: Row, place: int) -> None:
        if not row.keys() <= self.cells.keys():
            for name in row.keys() - self.cells.keys():
                if name in ROW_NAMES or len(self.cells) < MOST_COLUMNS:
                    self.cells[require_unicode(name, place + 1, self.name)] = [None] * len(self.places)
        texts = self.texts
        for name, values in self.cells.items():
            value = row.get(name)
            if isinstance(value, str):
                value = texts.get(value) or texts.setdefault(require_unicode(value, place + 1, self.name), value)
            elif isinstance(value, dict | list):
                require_unicode(value, place + 1, self.name)
            values.append(value)
        self.places.append(place)


def collect_rows(records: Iterator[Record], tool: Format, file: File) -> Rows:
    """All rows of a file."""
    columns, dropped, unscored = _Columns(file.name), Counter[str](), Counter[str]()
    places: dict[str, list[int]] = {}
    number = 0
    for record in records:
        if tool.preamble & record.keys():
            file.header.update(record)
            continue
        reasons, before = [], len(columns.places)
        for row in tool.rows(record, file):
            if row.get("error"):
                reasons.append(str(row["error"]))
            else:
                columns.add(row, number)
        number += 1
        if len(columns.places) > before:
            unscored.update(reasons)
            continue
        reason = reasons[0] if reasons else NOT_SCORED
        dropped[reason] += 1
        if len(places.setdefault(reason, [])) < PLACES:
            places[reason].append(number)
    if not columns.places:
        raise InputError([_nothing(tool, file, dropped, places)])
    cells = {
        name: values
        for name, values in columns.cells.items()
        if name in _ALWAYS or any(value is not None for value in values)
    }
    names = [name for name in ROW_NAMES if name in cells]
    names += sorted(cells.keys() - set(names))
    index = pd.Index(columns.places, name=ROW)
    frame = pd.DataFrame({name: cells[name] for name in names}, index=index)
    return Rows(frame=tool.finish(frame), records=number, dropped=dict(dropped), places=places, unscored=dict(unscored))


def require_unicode[T](value: T, number: int, name: str) -> T:
    """The value of a record, whose texts are all text."""
    if not is_unicode(value):
        found, fix = f"record {number} holds half of a surrogate pair, which is no text", "Write the record again."
        raise InputError([file_problem(name, found, fix)])
    return value


def frame_records(frame: pd.DataFrame) -> Iterator[Record]:
    """The rows of a table as records, missing values as None."""
    names = list(map(str, frame.columns))
    for start in range(0, len(frame), 10_000):
        some = frame.iloc[start : start + 10_000]
        columns = [_plain(some.iloc[:, place]) for place in range(len(names))]
        for values in zip(*columns, strict=True):
            yield dict(zip(names, values, strict=True))


def _plain(values: pd.Series[Any]) -> list[Any]:
    missing = values.isna().to_numpy()
    found: list[Any] = values.astype(object).tolist()
    return [None if lost else value for value, lost in zip(found, missing, strict=True)]


def _nothing(tool: Format, file: File, dropped: Mapping[str, int], places: Mapping[str, Sequence[int]]) -> Problem:
    reasons = "; ".join(
        f"{reason}: {n} (first: {', '.join(map(str, places[reason]))})" for reason, n in dropped.items()
    )
    return Problem(
        column="(file)",
        found=f"{tool.title} without one judgement: {reasons or 'no record'}",
        allowed="at least one record with a score or a person's mark",
        fix=f"Check {file.name}.",
    )
