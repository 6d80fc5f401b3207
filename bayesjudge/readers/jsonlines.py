"""JSON Lines (one object a line) and JSON arrays of objects."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Iterator
from typing import Any

import pandas as pd

from bayesjudge.errors import InputError
from bayesjudge.readers.encoding import not_utf8, require_text
from bayesjudge.readers.sources import Source, file_problem

__all__ = ["read_json"]

#: Objects held as Python values at a time; a data frame is ten times smaller.
_CHUNK = 100_000


def read_json(source: Source) -> pd.DataFrame:
    """Read objects as rows; keys that a row does not have are missing.

    Raises
    ------
    InputError
        Not UTF-8, not JSON, or not objects; with the line.
    """
    require_text(source)
    try:
        frames = [pd.DataFrame(chunk) for chunk in _chunks(_records(source))]
    except UnicodeDecodeError as error:
        raise (not_utf8(source) or error) from error
    if not frames:
        raise InputError([file_problem(source.name, "no objects", "Check how the file was written.")])
    return frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)


def _records(source: Source) -> Iterator[dict[str, Any]]:
    with source.open() as stream, io.TextIOWrapper(stream, encoding="utf-8-sig") as text:
        lines = ((number, line) for number, line in enumerate(text, start=1) if line.strip())
        first, start = next(lines, (1, ""))
        if start.lstrip().startswith("["):
            values = _parsed(source, start + text.read(), first)
            for number, value in enumerate(values, start=1):
                yield _object(source, value, f"element {number}")
            return
        for number, line in itertools.chain([(first, start)] if start else [], lines):
            yield _object(source, _parsed(source, line.rstrip(), number), f"line {number}")


def _parsed(source: Source, text: str, line: int) -> Any:
    try:
        value = json.loads(text)
        if "\\ud" in text.lower():
            # Half of a surrogate pair is legal JSON but no Unicode text.
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        where = (
            f"line {line + error.lineno - 1}" if isinstance(error, json.JSONDecodeError) else f"line {line}"
        )
        reason = getattr(error, "msg", None) or getattr(error, "reason", None) or type(error).__name__
        raise InputError(
            [
                file_problem(
                    source.name,
                    f"{where} is not JSON ({reason})",
                    "Write one object a line, or one array of objects.",
                )
            ]
        ) from error
    return value


def _object(source: Source, value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(
            [
                file_problem(
                    source.name,
                    f"{where} is not an object but {type(value).__name__}",
                    'Write each row as an object, {"item": ..., "model": ...}.',
                )
            ]
        )
    return value


def _chunks(records: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    chunk: list[dict[str, Any]] = []
    for record in records:
        chunk.append(record)
        if len(chunk) == _CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
