"""The one object of a JSON file that is no tool's: rows that lie inside it, as people and pandas write them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

from bayesjudge.errors import UsageError
from bayesjudge.readers.column_names import VERDICT_ALIASES, means_any, means_known
from bayesjudge.readers.format import Record

#: What an object may say of all its rows at once.
_OF_ALL = ("model", "judge")


def enclosed_rows(name: str, record: Record) -> tuple[Sequence[Record], str] | None:
    """Rows of a table and where they were, if the object is one: ``DataFrame.to_json`` in any of its orients too.

    Raises
    ------
    UsageError
        Several lists of objects, each of which could be the table.

    Examples
    --------
    >>> enclosed_rows("log.json", {"judge": "heron", "results": [{"item": "q1", "verdict": 1}]})
    ([{'judge': 'heron', 'item': 'q1', 'verdict': 1}], "the objects in 'results' (1)")
    >>> enclosed_rows("log.json", {"item": {"0": "q1", "1": "q2"}, "verdict": {"0": 1, "1": 0}})
    ([{'item': 'q1', 'verdict': 1}, {'item': 'q2', 'verdict': 0}], 'columns of 2 values')
    """
    lists = [key for key, value in record.items() if _are_records(value) and _means_something(value[0])]
    if lists and any(name in record and not isinstance(record[name], dict | list) for name in ("item", "verdict")):
        return None  # a row of its own, with details
    if len(lists) > 1:
        commands = " or ".join(
            f"jq {shlex.quote(f'.[{json.dumps(key)}]')} {shlex.quote(name)} > rows.json" for key in lists
        )
        raise UsageError(
            f"{name} holds {len(lists)} lists of objects: {', '.join(map(repr, lists))}; "
            f"write the one with the verdicts to a file of its own: {commands}"
        )
    if lists:
        rows = record[lists[0]]
        common = {key: value for key, value in record.items() if _says_of_all(key, value, rows[0])}
        return [{**common, **row} for row in rows], f"the objects in {lists[0]!r} ({len(rows)})"
    values = list(record.values())
    return (_by_column(record, values) or _by_key(record, values) or _split(record)) if values else None


def _by_column(record: Record, values: Sequence[Any]) -> tuple[Sequence[Record], str] | None:
    """A column each: lists of one length, or objects with the same keys, which are rows' numbers."""
    if not _means_something(record):
        return None
    if all(isinstance(value, list) and len(value) == len(values[0]) for value in values):
        return _zipped(record, values)
    if all(isinstance(value, dict) and value.keys() == values[0].keys() for value in values):
        return _zipped(record, ([value[row] for row in values[0]] for value in values))
    return None


def _by_key(record: Record, values: Sequence[Any]) -> tuple[Sequence[Record], str] | None:
    """An object each, under a key that is the item where nothing else is."""
    if not (all(isinstance(value, dict) for value in values) and _means_something(values[0])):
        return None
    has_item = means_any(values[0], ["item", *VERDICT_ALIASES["item"][0], *VERDICT_ALIASES["item"][1]])
    rows = [value if has_item else {"item": key, **value} for key, value in record.items()]
    return rows, f"the objects under their keys ({len(rows)})"


def _split(record: Record) -> tuple[Sequence[Record], str] | None:
    """Names, and a list of values for each row."""
    names, data = record.get("columns"), record.get("data")
    if not (isinstance(names, list) and isinstance(data, list) and all(isinstance(name, str) for name in names)):
        return None
    whole = all(isinstance(row, list) and len(row) == len(names) for row in data)
    return _zipped(names, zip(*data, strict=True)) if whole and _means_something(names) else None


def _zipped(names: Iterable[str], columns: Iterable[Sequence[Any]]) -> tuple[Sequence[Record], str]:
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    return rows, f"columns of {len(rows)} values"


def _are_records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def _means_something(names: Iterable[str]) -> bool:
    return any(map(means_known, names))


def _says_of_all(key: str, value: Any, row: Record) -> bool:
    """Whether it names the model or judge of rows that name none themselves."""
    named = [(name, *VERDICT_ALIASES[name][0]) for name in _OF_ALL]
    return isinstance(value, str) and any(means_any([key], words) and not means_any(row, words) for words in named)
