"""What lies in a tool's records: names, numbers, mappings and lists, whatever type the tool gave them."""

from __future__ import annotations

import hashlib
import json
import math
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.text import written

#: Longest text of metadata that is kept: a longer one is no group but an answer or a prompt.
LONGEST = 200
_NUMBERS = (bool, int, float)
#: Columns that a message lists.
_LISTED = 40
#: Objects inside one another past which no path is named: nobody types more, and a damaged file may have thousands.
_DEEPEST = 20
#: Keys of an object that name what it is of.
_NAMING = ("name", "id")
#: Words that are hashed at a time.
_TOGETHER = 2_000
#: A place in a list.
_PLACE = re.compile(r"[1-9][0-9]{0,5}")
#: Joins the hashes of two words to one number that knows their order; odd, so that nothing of the first is lost.
_ODD = np.uint64(0x9E3779B97F4A7C15)


def at(value: Any, path: str) -> Any:
    """What lies at a path of keys; None where any of them is not there."""
    for key in _keys(path):
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


@lru_cache
def _keys(path: str) -> tuple[str, ...]:
    return tuple(path.split("."))


def mapping(value: Any) -> Mapping[str, Any]:
    """A mapping, also one that a cell of text holds as JSON; an empty one for anything else."""
    if isinstance(value, dict):
        return value
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = _decoded(value)
    return value if isinstance(value, dict) else {}


def listing(value: Any) -> Sequence[Any]:
    """A list, also one that a cell of text holds as JSON; an empty one for anything else."""
    if isinstance(value, list):
        return value
    if isinstance(value, str) and value.lstrip().startswith("["):
        value = _decoded(value)
    if hasattr(value, "tolist") and not isinstance(value, str):
        value = value.tolist()
    return value if isinstance(value, list | tuple) else ()


def _decoded(value: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def with_paths(frame: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """The table with a column for each name that is a path into objects of a column: ``metadata.model``.

    Of lists a path is a place, of which the first is 1: ``score.1``.

    names: Also lists of them, with commas, and patterns: ``human.*``.

    Examples
    --------
    >>> frame = pd.DataFrame({"id": [1], "metadata": [{"model": "x", "run": 2}]})
    >>> with_paths(frame, ["metadata.model,id"])["metadata.model"].tolist()
    ['x']
    >>> list(with_paths(frame, ["metadata.*"]))
    ['id', 'metadata', 'metadata.model', 'metadata.run']
    """
    found = {}
    wanted = [one for name in names if "." in name for one in (name, *map(str.strip, name.split(",")))]
    patterns = [one for one in wanted if "*" in one]
    wanted += [
        path for path in (paths_in(frame) if patterns else ()) if any(fnmatchcase(path, one) for one in patterns)
    ]
    for name in (name for name in dict.fromkeys(wanted) if "." in name and name not in frame):
        head, _, path = name.partition(".")
        if head in frame and isinstance(frame[head], pd.Series):
            cells = [_inside(cell, path) for cell in frame[head]]
            if any(cell is not None for cell in cells):
                found[name] = pd.Series(cells, index=frame.index, dtype=object)
    return frame.assign(**found) if found else frame


def _inside(cell: Any, path: str) -> Any:
    """What lies in an object at a path, or in a list, also one in a cell of text, at a place; None where nothing does.

    Examples
    --------
    >>> _inside([7, 9], "2"), _inside("[7, 9]", "1"), _inside([7, 9], "3"), _inside([7, 9], "0")
    (9, 7, None, None)
    """
    if isinstance(cell, dict):
        # A key may have dots of its own: ``metadata.hhem-2.1``.
        return cell.get(path, at(cell, path))
    place = int(path) if _PLACE.fullmatch(path) else 0
    values = listing(cell) if place else ()
    return values[place - 1] if 0 < place <= len(values) else None


def names_of_objects(
    frame: pd.DataFrame, names: Iterable[str], read_as: Mapping[str, str]
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The table with the name that each object of a column states in place of it, and what is said of it.

    names: Our names of columns that hold names; read_as: the file's, where they differ.

    Examples
    --------
    >>> frame = pd.DataFrame({"model": [{"id": "1", "name": "x"}, None, {"id": "2", "name": "y"}]})
    >>> named, said = names_of_objects(frame, ["model"], {"model": "generator"})
    >>> named["model"].tolist(), said[0]
    (['x', nan, 'y'], "'generator' holds objects: their 'name' was read (or `--column model=generator.id`)")
    """
    notes: tuple[str, ...] = ()
    for ours in (name for name in names if name in frame and _of_objects(frame[name])):
        theirs = read_as.get(ours, ours)
        cells = frame[ours].dropna()
        each = {key: [text(at(cell, key)) for cell in cells] for key in _NAMING}
        # Names that several have do not tell them apart, as an id does.
        whole = sorted((key for key in each if None not in each[key]), key=lambda key: -len({*each[key]}))
        if whole:
            frame = frame.assign(**{ours: pd.Series(each[whole[0]], cells.index, dtype=object).reindex(frame.index)})
            others = [f"`--column {shlex.quote(f'{ours}={theirs}.{key}')}`" for key in whole[1:]]
            other = f" (or {others[0]})" if others else ""
            notes += (f"{theirs!r} holds objects: their {whole[0]!r} was read{other}",)
    return frame, notes


def _of_objects(column: pd.Series[Any]) -> bool:
    return column.dtype == object and bool(column.map(lambda cell: isinstance(cell, dict)).any())


def paths_in(frame: pd.DataFrame) -> list[str]:
    """Names of columns, and of what lies in those of objects, as ``metadata.model``.

    Examples
    --------
    >>> paths_in(pd.DataFrame({"id": [1], "metadata": [{"model": "x", "tags": {"kind": "y"}}]}))
    ['id', 'metadata.model', 'metadata.tags.kind']
    """
    found: list[str] = []
    for name in map(str, frame.columns):
        column = frame[name]
        cells = column.dropna() if isinstance(column, pd.Series) and column.dtype == object else ()
        # A record may lack keys that others have.
        paths = dict.fromkeys(path for cell in cells if isinstance(cell, Mapping) for path in _leaves(cell))
        found += [f"{name}.{path}" for path in paths] or [name]
    return found


def _leaves(value: Mapping[str, Any], deep: int = 0) -> list[str]:
    return [
        f"{key}.{path}" if path else str(key)
        for key, inner in value.items()
        for path in (_leaves(inner, deep + 1) if isinstance(inner, Mapping) and inner and deep < _DEEPEST else [""])
    ]


def forty_of(names: Iterable[object]) -> str:
    """Columns as a message lists them: forty at most, each once, and how many more there are.

    Examples
    --------
    >>> forty_of(["item", "judge", "item"]), forty_of(range(42))[-21:]
    ("'item', 'judge'", "'38', '39' and 2 more")
    """
    distinct = list(dict.fromkeys(map(str, names)))
    more = f" and {len(distinct) - _LISTED} more" if len(distinct) > _LISTED else ""
    return ", ".join(map(repr, distinct[:_LISTED])) + more


def as_words(column: pd.Series[Any]) -> pd.Series[Any]:
    """Values of any type as text, the empty one for missing; whole numbers may be too long for decimals."""
    if isinstance(column.dtype, pd.StringDtype):
        return column.fillna("")
    words = [hex(value) if isinstance(value, int) and value.bit_length() > 64 else written(value) for value in column]
    return pd.Series(words, index=column.index).where(column.notna().to_numpy(), "")


def text(value: Any) -> str | None:
    """A name: text that is not empty, or a number's; None for anything else."""
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, bool) or value is None or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(int(value)) if value == int(value) else str(value)


def number(value: Any) -> float | None:
    """A finite number, also one in text, 1 and 0 for true and false; None for anything else."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return {"true": 1.0, "false": 0.0}.get(value.strip().casefold())
    if not isinstance(value, int | float) and hasattr(value, "item"):
        value = value.item()
    if not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def scalar(value: Any) -> float | str | None:
    """A number, else a name; None for anything else."""
    found = number(value)
    return text(value) if found is None else found


_SORTED = json.JSONEncoder(sort_keys=True, ensure_ascii=False, check_circular=False, default=str)


def canonical(value: Any) -> str | None:
    r"""One name for equal inputs, whatever the order of their keys; None where there are none.

    Inputs beyond some hundred characters are named by their start and a digest.

    Examples
    --------
    >>> canonical({"b": 1, "a": "x"}), canonical(" say hi "), canonical({})
    ('{"a": "x", "b": 1}', 'say hi', None)
    >>> texts = {"é": 'a "b"', "a": "\n"}
    >>> canonical(texts) == json.dumps(texts, sort_keys=True, ensure_ascii=False)
    True
    """
    value = mapping(value) or listing(value) or value
    if isinstance(value, dict | list | tuple):
        value = _as_json(value) if value else None
    name = text(value)
    if name is None or len(name) <= LONGEST:
        return name
    return f"{name[:60]}… {hashlib.blake2b(name.encode('utf-8', 'replace'), digest_size=8).hexdigest()}"


def _as_json(value: Any) -> str:
    """JSON with sorted keys; inputs are texts under names mostly, for which no encoder need be made."""
    if not isinstance(value, dict) or {*map(type, value), *map(type, value.values())} != {str}:
        return _SORTED.encode(value)
    return (
        "{" + ", ".join([f"{encode_basestring(key)}: {encode_basestring(value[key])}" for key in sorted(value)]) + "}"
    )


def is_unicode(value: Any) -> bool:
    """Whether every text in a value is one: half of a surrogate pair is legal JSON but no Unicode.

    Examples
    --------
    >>> is_unicode({"item": ["é", 1]}), is_unicode({"item": [chr(0xD800)]})
    (True, False)
    """
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            left += [*one, *one.values()]
        elif isinstance(one, list):
            left += one
        elif isinstance(one, str) and not one.isascii() and one.encode(errors="ignore").decode() != one:
            return False
    return True


def numbered_answers(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows whose ``answer`` is the how-many-eth record of one model on one item.

    Examples
    --------
    >>> frame = pd.DataFrame({"item": ["q", "q", "q"], "model": ["m", "m", "k"]}, index=[0, 1, 2])
    >>> numbered_answers(frame)["answer"].tolist()
    [1, 2, 1]
    >>> numbered_answers(frame.set_axis([0, 0, 0]))["answer"].tolist()
    [1, 1, 1]
    """
    key = np.zeros(len(frame), dtype=np.uint64)
    for name in ("item", "model"):
        if name in frame:
            key = key * _ODD + _hashed(as_words(frame[name]))
    # In order of the keys, since a table of all of them would take as much again.
    order = np.argsort(key, kind="stable")
    begins = _changes(key[order])
    count = np.cumsum(begins | _changes(frame.index.to_numpy()[order]))
    answer = np.empty_like(count)
    answer[order] = count - np.maximum.accumulate(np.where(begins, count - 1, 0))
    return frame.assign(answer=answer)


def _changes(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each value is the first, or another than the one before."""
    return np.append(True, values[1:] != values[:-1])[: len(values)]


def _hashed(words: pd.Series[Any]) -> NDArray[np.uint64]:
    """A number for each word, some words at a time: a table of all of them would take more than the rows do."""
    starts = range(0, len(words), _TOGETHER)
    some = (words.iloc[start : start + _TOGETHER].to_numpy(object) for start in starts)
    return np.concatenate([np.empty(0, np.uint64), *(pd.util.hash_array(one, categorize=False) for one in some)])


def scalars(values: Any, prefix: str = "") -> dict[str, Any]:
    """The scalars of a mapping, to group and choose rows by.

    Examples
    --------
    >>> scalars({"topic": "law", "messages": ["..."]}, "vars.")
    {'vars.topic': 'law'}
    """
    return {
        f"{prefix}{key}": value
        for key, value in mapping(values).items()
        if (len(value) <= LONGEST if isinstance(value, str) else isinstance(value, _NUMBERS))
    }
