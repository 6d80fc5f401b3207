"""A tool's records to one frame of rows: what was made of each record, and why some gave none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bayesjudge.errors import InputError, Problem
from bayesjudge.readers.batches import Columns
from bayesjudge.readers.format import NOT_SCORED, ROW_NAMES, File, Format, Record

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


def collect_rows(records: Iterator[Record], tool: Format, file: File) -> Rows:
    """All rows of a file."""
    columns = Columns(file.name, most=MOST_COLUMNS, always=ROW_NAMES)
    dropped, unscored = Counter[str](), Counter[str]()
    places: dict[str, list[int]] = {}
    number = 0
    for record in records:
        if tool.preamble and tool.preamble & record.keys():
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
            if reasons:
                unscored.update(reasons)
            continue
        reason = reasons[0] if reasons else NOT_SCORED
        dropped[reason] += 1
        if len(places.setdefault(reason, [])) < PLACES:
            places[reason].append(number)
    if not columns.places:
        raise InputError([_nothing(tool, file, dropped, places)])
    kept = {name for name in columns.names() if name in _ALWAYS or not columns.is_empty(name)}
    names = [name for name in ROW_NAMES if name in kept]
    names += sorted(kept.difference(names))
    frame = tool.finish(columns.frame(names))
    return Rows(frame=frame, records=number, dropped=dict(dropped), places=places, unscored=dict(unscored))


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
