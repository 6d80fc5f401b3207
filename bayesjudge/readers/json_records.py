"""Records of JSON files, one at a time: lines, elements of one array, or one object over many lines."""

from __future__ import annotations

import codecs
import io
import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, BinaryIO, TypedDict

import msgspec

from bayesjudge.errors import InputError
from bayesjudge.readers.sources import Source, file_error
from bayesjudge.readers.tabular import not_utf8, require_text

#: Bytes read at a time: lines of nested records are long.
_BUFFER = 1 << 20


def most_bytes() -> int:
    """Largest content that is held as one piece: an eighth of this machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 8


class JsonRecords(Iterator[dict[str, Any]]):
    """Objects in order; a file of lines is never held as a whole."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._decode: Callable[[bytes], Any] = msgspec.json.Decoder().decode
        self._found = self._read()

    def __next__(self) -> dict[str, Any]:
        return next(self._found)

    def only(self, keys: Iterable[str]) -> None:
        """Of lines to come, these keys alone: what is not kept is not made.

        A dot leads into objects, and into those of a list: ``"parts.type"``.
        """
        self._decode = msgspec.json.Decoder(_record(keys)).decode

    def _read(self) -> Iterator[dict[str, Any]]:
        require_text(self._source)
        try:
            yield from self._objects()
        except UnicodeDecodeError as error:
            raise (not_utf8(self._source) or error) from error

    def _objects(self) -> Iterator[dict[str, Any]]:
        source, most = self._source, most_bytes()
        with source.open() as opened, io.BufferedReader(opened, _BUFFER) as stream:  # type: ignore[type-var]  # is one
            lines = enumerate(iter(partial(stream.readline, most), b""), start=1)
            first, start = next(((number, line) for number, line in lines if not line.isspace()), (1, b""))
            start = start.removeprefix(codecs.BOM_UTF8)
            if start.lstrip().startswith(b"["):
                elements = self._parsed(_all(source, start, stream), first)
                for number, value in enumerate(elements, start=1):
                    yield _object(source, value, "element", number)
                return
            if start.lstrip().startswith(b"{") and not start.rstrip().endswith(b"}"):
                yield _object(source, self._parsed(_all(source, start, stream), first), "line", first)
                return
            for number, line in itertools.chain([(first, start)] if start else [], lines):
                if len(line) == most:
                    raise _too_large(source)
                if not line.isspace():
                    yield _object(source, self._parsed(line, number), "line", number)

    def _parsed(self, content: bytes, line: int) -> Any:
        """Twice as fast as ``json``, which reads what only it allows, such as NaN, and says what is wrong."""
        try:
            return self._decode(content)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            text = content.decode()
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            before = text[: error.pos].rstrip() if isinstance(error, json.JSONDecodeError) else ""
            at = line + before.count("\n")
            reason = getattr(error, "msg", None) or getattr(error, "reason", None) or type(error).__name__
            found, fix = f"line {at} is not JSON ({reason})", "Write one object a line, or one array of objects."
            raise file_error(self._source.name, found, fix) from error


def _record(keys: Iterable[str]) -> Any:
    """The type of an object of which these keys are kept; what a value is, if it is no object, does not matter."""
    inside: dict[str, list[str]] = {}
    for key in keys:
        name, _, rest = key.partition(".")
        inside.setdefault(name, []).append(rest)
    kept = {name: Any if "" in rest else _value(_record(rest)) for name, rest in inside.items()}
    typed: Any = TypedDict  # whose names are known late here
    return typed("record", kept, total=False)


def _value(record: Any) -> Any:
    plain = str | int | float | bool | None
    return record | list[record | list[Any] | plain] | plain


def _too_large(source: Source) -> InputError:
    tools = "promptfoo eval -o results.jsonl; inspect log convert --to eval"
    fix = f"Write it as one object a line (.jsonl), which is read piece by piece, or as the tool does: {tools}."
    return file_error(source.name, f"one array or object of more than {most_bytes():,} bytes", fix)


def _all(source: Source, start: bytes, stream: BinaryIO) -> bytes:
    most = most_bytes()
    content = start + stream.read(most)
    if len(content) >= most:
        raise _too_large(source)
    return content


def _object(source: Source, value: Any, place: str, number: int) -> dict[str, Any]:
    if not isinstance(value, dict):
        found = f"{place} {number} is not an object but {type(value).__name__}"
        fix = 'Write each row as an object, {"item": ..., "model": ...}.'
        raise file_error(source.name, found, fix)
    return value
