"""What was asked and what was answered, where a tool's record holds it: for people who are to label."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from bayesjudge.readers.format import File, Format, Record, Row
from bayesjudge.readers.values import at, listing, mapping

#: Our names of the two texts, and where tools keep them, the first that is there.
TEXTS: dict[str, Sequence[str]] = {
    "question_text": (
        "prompt.raw",
        "input",
        "inputs",
        "question",
        "prompt",
        "instruction",
        "user_input",
        "doc.question",
        "doc.query",
        "doc",
        "datasource_item",
        "fields.question",
        "data.question",
        "request",
        "text",
    ),
    "answer_text": (
        "response.output",
        "actualOutput",
        "actual_output",
        "sample.output",
        "output",
        "outputs",
        "fields.answer",
        "data.answer",
        "response",
        "answer",
        "completion",
        "filtered_resps",
        "resps",
    ),
}
#: Keys of an object under which its text is.
_INNER = ("content", "text", "question", "output", "answer", "response", "value")


def with_texts(tool: Format) -> Format:
    """The format, with both texts of a record in each of its rows.

    Examples
    --------
    >>> tool = Format(name="x", title="x", source="", people="", identity="", marks=frozenset({"input"}),
    ...               rows=lambda record, file: [{"item": 1}])
    >>> list(with_texts(tool).rows({"input": "Why?", "output": {"text": "So."}}, File(name="x")))
    [{'item': 1, 'question_text': 'Why?', 'answer_text': 'So.'}]
    """

    def rows(record: Record, file: File) -> Iterator[Row]:
        texts = {name: said for name, paths in TEXTS.items() if (said := text_at(record, paths))}
        yield from (row if row.get("error") else {**row, **texts} for row in tool.rows(record, file))

    return replace(tool, rows=rows)


def text_at(record: Record, paths: Iterable[str]) -> str | None:
    """The text at the first of these paths that holds one."""
    found = (_text(record.get(path, at(record, path)) or _flat(record, path)) for path in paths)
    return next(filter(None, found), None)


def _flat(record: Record, path: str) -> dict[str, Any]:
    """An object whose keys a table has as columns: ``inputs.question``."""
    return {key.removeprefix(f"{path}."): value for key, value in record.items() if key.startswith(f"{path}.")}


def _text(value: Any) -> str | None:
    """A text, the one in an object, the last of a list, or an object as JSON; never what a judge said of it."""
    value = mapping(value) or listing(value) or value
    if isinstance(value, list | tuple):
        return _text(value[-1]) if value else None
    if isinstance(value, dict):
        texts = [one for key in _INNER if isinstance(one := value.get(key), str)]
        rest = {key: one for key, one in value.items() if not str(key).startswith("score")}
        return texts[0] if texts else json.dumps(rest, ensure_ascii=False, default=str) if rest else None
    return value if isinstance(value, str) and value.strip() else None
