"""The one object of a JSON file that is no tool's: rows that lie inside it, as people and pandas write them."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import pandas as pd

from bayesjudge.errors import UsageError
from bayesjudge.readers.aliases import BATTLE_ALIASES, TRIAL_ALIASES, VERDICT_ALIASES
from bayesjudge.readers.column_names import folded, means_any, means_known
from bayesjudge.readers.filters import ROW
from bayesjudge.readers.format import Record
from bayesjudge.readers.values import LONGEST, listing

#: What an object may say of all its rows at once, by these names and others of each.
_OF_ALL = {
    "model": VERDICT_ALIASES["model"][0],
    "judge": VERDICT_ALIASES["judge"][0],
    **{side: BATTLE_ALIASES[side][0] for side in ("model_a", "model_b")},
}
#: Keys of what encloses rows, which name no model.
_CONTAINERS = frozenset(
    {"results", "data", "items", "rows", "records", "samples", "examples", "judgments", "judgements"}
)
#: Share of objects that have a key, and of all keys that are such, where objects are rows of one table.
_LARGELY = 0.8
#: Keys of an object that describes the rows; one of more is a table by itself.
_MOST_KEYS = 20
#: Most lists of objects that a message names.
_MOST_LISTS = 4
#: Names of a verdict, and of the outcome of a comparison.
_VERDICTS = ["verdict", *chain(*VERDICT_ALIASES["verdict"]), "outcome", *chain(*TRIAL_ALIASES["outcome"])]
_LABELS = ["label", *VERDICT_ALIASES["label"][0]]


def enclosed_rows(name: str, record: Record) -> tuple[Sequence[Record], str] | None:
    """Rows of a table and where they were, if the object is one: ``DataFrame.to_json`` in any of its orients too.

    Several lists of objects, each of which could be the table, are refused.

    Examples
    --------
    >>> enclosed_rows("log.json", {"judge": "heron", "results": [{"item": "q1", "verdict": 1}]})
    ([{'judge': 'heron', 'item': 'q1', 'verdict': 1}], "the objects in 'results' (1)")
    >>> enclosed_rows("log.json", {"judge": {"name": "heron"}, "rows": [{"id": "q1", "verdict": 1}]})[0]
    [{'judge.name': 'heron', 'id': 'q1', 'verdict': 1}]
    >>> enclosed_rows("log.json", {"item": {"0": "q1", "1": "q2"}, "verdict": {"0": 1, "1": 0}})
    ([{'item': 'q1', 'verdict': 1}, {'item': 'q2', 'verdict': 0}], 'columns of 2 values')
    """
    lists = [key for key, value in record.items() if _are_records(value) and _means_something(value[0])]
    own = any(name in record and not isinstance(record[name], dict | list) for name in ("item", "verdict"))
    if lists and own:
        return None  # a row of its own, with details
    if len(lists) > 1:
        commands = " or ".join(
            f"jq {shlex.quote(f'.[{json.dumps(key)}]')} {shlex.quote(name)} > rows.json" for key in lists[:_MOST_LISTS]
        )
        more = f" and {len(lists) - _MOST_LISTS} more" if len(lists) > _MOST_LISTS else ""
        raise UsageError(
            f"{name} holds {len(lists)} lists of objects: {', '.join(map(repr, lists[:_MOST_LISTS]))}{more}; "
            f"write the one with the verdicts to a file of its own: {commands}"
        )
    if lists:
        rows = record[lists[0]]
        common = {key: value for key, value in _words(record).items() if _says_of_all(key, rows[0])}
        return [{**common, **row} for row in rows], f"the objects in {lists[0]!r} ({len(rows)})"
    # What describes the rows may stand beside them: texts and numbers, no rows of another kind.
    inner = {key: value for key, value in record.items() if _is_keyed(value)}
    beside = [value for key, value in record.items() if key not in inner]
    within = [one for value in beside for one in (value.values() if isinstance(value, dict) else listing(value))]
    flat = not any(isinstance(one, dict | list) for one in within)
    apart = bool(inner and beside) and flat and not (own or _means_something(inner))
    table, around = (inner, _common(record, inner)) if apart else (record, {})
    key, only = next(iter(table.items()), ("", {}))
    table = only if len(table) == 1 and folded(key) in _CONTAINERS and _is_keyed(only) else table
    values = list(table.values())
    if not values:
        return None
    found = _by_column(table, values) or _by_key(table, values) or _by_two_keys(table, values) or _split(table)
    found = found or _by_item(table, values) or (_under_keys(table) if _alike(values, _LARGELY) else None)
    return found and ([{**around, **row} for row in found[0]], found[1])


def inner_rows(frame: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """A row for each object of the lists in one column, where the records themselves hold no verdict.

    Examples
    --------
    >>> frame = pd.DataFrame({"question": ["q1"], "answers": [[{"model": "x", "verdict": 1}, {"model": "y"}]]})
    >>> inner_rows(frame)[0][["question", "model"]].to_numpy().tolist()
    [['q1', 'x'], ['q1', 'y']]
    """
    if means_any(map(str, frame.columns), _VERDICTS):
        return frame, ()
    words = _VERDICTS if means_any(map(str, frame.columns), _LABELS) else [*_VERDICTS, *_LABELS]
    found = [name for name in map(str, frame.columns) if _holds_rows(frame[name], words)]
    if len(found) != 1:
        return frame, ()
    (name,) = found
    rows = frame.set_axis(pd.RangeIndex(len(frame), name=ROW)).explode(name)
    rows = rows[rows[name].notna()]
    inner = pd.DataFrame.from_records(list(rows[name]), index=rows.index)
    rest = rows.drop(columns=[name, *(column for column in inner if column in rows)])
    empty = len(frame) - rows.index.nunique()
    none = f"; {empty} of {len(frame)} records have none" if empty else ""
    return pd.concat([rest, inner], axis=1), (f"rows are the objects in {name!r} of each record ({len(rows)}){none}",)


def _holds_rows(column: pd.Series[Any], words: Sequence[str]) -> bool:
    """Whether every cell is a list of objects, or missing, with one of these names among what they hold."""
    cells = [cell for cell in column if isinstance(cell, list) and cell]
    whole = len(cells) and all(isinstance(cell, list) for cell in column.dropna()) and all(map(_are_records, cells))
    return bool(whole) and means_any(cells[0][0], words)


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
    return _under_keys(record)


def _under_keys(record: Record) -> tuple[Sequence[Record], str]:
    values = list(record.values())
    has_item = means_any(values[0], ["item", *VERDICT_ALIASES["item"][0], *VERDICT_ALIASES["item"][1]])
    rows = [value if has_item else {"item": key, **value} for key, value in record.items()]
    return rows, f"the objects under their keys ({len(rows)})"


def _alike(values: Sequence[Any], least: float) -> bool:
    """Whether all are objects, and of their keys, none of which numbers rows, a share is in nearly all of them."""
    if len(values) < 2 or not all(isinstance(value, dict) and value for value in values):
        return False
    counts = Counter(chain(*values))
    often = sum(n for n in counts.values() if n >= _LARGELY * len(values))
    return often >= max(1, least * counts.total()) and not all(str(key).isdigit() for key in counts)


def _is_keyed(value: Any) -> bool:
    """Whether it is an object of objects that are rows: of an item each, or of a model."""
    # Labels may be in few of the rows.
    if not isinstance(value, dict) or not _alike(list(value.values()), 0):
        return False
    first = next(iter(value.values()))
    return _means_something(first) or all(isinstance(one, dict) and _means_something(one) for one in first.values())


def _common(record: Record, inner: Record) -> Record:
    """What an object states of the rows under some of its keys."""
    first = next(iter(next(iter(inner.values())).values()))
    words = _words({key: value for key, value in record.items() if key not in inner})
    return {key: value for key, value in words.items() if _says_of_all(key, first)}


def _by_two_keys(record: Record, values: Sequence[Any]) -> tuple[Sequence[Record], str] | None:
    """An object for each item and model, under both; the models are fewer."""
    inner = [one for value in values if isinstance(value, dict) for one in value.values()]
    objects = bool(inner) and all(isinstance(one, dict) for one in (*values, *inner))
    if not (objects and (_means_something(inner[0]) or _alike(inner, _LARGELY))):
        return None
    outer, under = ("model", "item") if len(record) < max(map(len, values)) else ("item", "model")
    rows = [{outer: key, under: other, **one} for key, value in record.items() for other, one in value.items()]
    return rows, f"the objects under two keys, of {outer}s and of {under}s ({len(rows)})"


def _by_item(record: Record, values: Sequence[Any]) -> tuple[Sequence[Record], str] | None:
    """A column each, of objects under whose keys, the items, is what one judge or person said; some may lack items.

    Items are many, and what is said of them is of one kind; columns of a row are few, or texts and numbers.
    """
    if len(values) < 2 or not all(isinstance(value, dict) for value in values):
        return None
    items = dict.fromkeys(chain(*values))
    cells = [cell for value in values for cell in value.values() if cell is not None]
    alike = any(all(isinstance(cell, kind) for cell in cells) for kind in (str, int | float))
    if not alike or len(items) <= max(_MOST_KEYS, len(values)):
        return None
    rows = [{"item": key, **{who: said.get(key) for who, said in record.items()}} for key in items]
    return rows, f"the keys of {len(values)} objects, each a column ({len(rows)})"


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
    """Whether some are known, or counts of outcomes."""
    names = list(names)
    return any(map(means_known, names)) or set(names).issuperset(("n_a", "n_b"))


def _words(record: Record, prefix: str = "") -> Record:
    """The texts of an object that is no row, by their paths: ``judge.name``. Its numbers are of all rows together."""
    found: dict[str, Any] = {}
    for key, value in record.items():
        described = isinstance(value, dict) and len(value) <= _MOST_KEYS
        inner = _words(value, f"{prefix}{key}.") if described else {}
        found |= {f"{prefix}{key}": value} if isinstance(value, str) and len(value) <= LONGEST else inner
    return found


def _says_of_all(key: str, row: Record) -> bool:
    """Whether it names the model or judge of rows that name none themselves, or has a name of its own."""
    named = [(name, *words) for name, words in _OF_ALL.items()]
    ours = [words for words in named if means_any([key], words)]
    return not any(means_any(row, words) for words in ours) if ours else not means_known(key)
