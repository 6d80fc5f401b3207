"""Records of JSON files, one at a time: lines, elements of one array, or one object over many lines."""

from __future__ import annotations

import codecs
import io
import itertools
import json
import os
from collections.abc import Iterator
from typing import Any, BinaryIO

from bayesjudge.errors import InputError
from bayesjudge.readers.sources import Source, file_problem
from bayesjudge.readers.tabular import not_utf8, require_text

#: Bytes read at a time: lines of nested records are long.
_BUFFER = 1 << 20


def most_bytes() -> int:
    """Largest content that is held as one piece: an eighth of this machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 8


def json_records(source: Source) -> Iterator[dict[str, Any]]:
    """Objects in order; a file of lines is never held as a whole."""
    require_text(source)
    try:
        yield from _objects(source)
    except UnicodeDecodeError as error:
        raise (not_utf8(source) or error) from error


def _objects(source: Source) -> Iterator[dict[str, Any]]:
    with source.open() as opened, io.BufferedReader(opened, _BUFFER) as lines:  # type: ignore[type-var]  # is one
        numbered = ((number, line) for number, line in enumerate(_lines(source, lines), start=1) if not line.isspace())
        first, start = next(numbered, (1, b""))
        start = start.removeprefix(codecs.BOM_UTF8)
        if start.lstrip().startswith(b"["):
            elements = _parsed(source, _all(source, start, lines), first)
            for number, value in enumerate(elements, start=1):
                yield _object(source, value, f"element {number}")
            return
        if start.lstrip().startswith(b"{") and not start.rstrip().endswith(b"}"):
            yield _object(source, _parsed(source, _all(source, start, lines), first), f"line {first}")
            return
        for number, line in itertools.chain([(first, start)] if start.strip() else [], numbered):
            yield _object(source, _parsed(source, line.decode(), number), f"line {number}")


def _lines(source: Source, lines: BinaryIO) -> Iterator[bytes]:
    most = most_bytes()
    while line := lines.readline(most):
        if len(line) == most:
            raise _too_large(source)
        yield line


def _too_large(source: Source) -> InputError:
    fix = "Write it as one object a line (.jsonl), which is read piece by piece."
    return InputError([file_problem(source.name, f"one array or object of more than {most_bytes():,} bytes", fix)])


def _all(source: Source, start: bytes, lines: BinaryIO) -> str:
    most = most_bytes()
    content = start + lines.read(most)
    if len(content) >= most:
        raise _too_large(source)
    return content.decode()


def _parsed(source: Source, text: str, line: int) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        before = text[: error.pos].rstrip() if isinstance(error, json.JSONDecodeError) else ""
        at = line + before.count("\n")
        reason = getattr(error, "msg", None) or getattr(error, "reason", None) or type(error).__name__
        found, fix = f"line {at} is not JSON ({reason})", "Write one object a line, or one array of objects."
        raise InputError([file_problem(source.name, found, fix)]) from error


def _object(source: Source, value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        found = f"{where} is not an object but {type(value).__name__}"
        fix = 'Write each row as an object, {"item": ..., "model": ...}.'
        raise InputError([file_problem(source.name, found, fix)])
    return value
