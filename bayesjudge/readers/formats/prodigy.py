"""Annotations of Prodigy."""

from __future__ import annotations

from collections.abc import Iterator

from bayesjudge.readers.format import File, Format, Record, Row
from bayesjudge.readers.values import listing, mapping, scalars, text

_ANSWERS = {"accept": 1, "reject": 0}


def _rows(record: Record, _: File) -> Iterator[Row]:
    meta = mapping(record.get("meta"))
    item = text(meta.get("item")) or text(record.get("_input_hash"))
    row = scalars(meta, "meta.") | {"item": item, "model": text(meta.get("model"))}
    answer = text(record.get("answer")) or ""
    chosen = listing(record.get("accept"))
    if answer not in _ANSWERS:
        yield {"error": "ignored" if answer == "ignore" else "not annotated"}
        return
    label = text(chosen[0]) if chosen and answer == "accept" else _ANSWERS[answer]
    who = text(record.get("_annotator_id")) or text(record.get("_session_id")) or "a person"
    yield {**row, "label": label, "annotator": who}


FORMATS = (
    Format(
        name="prodigy",
        title="Prodigy annotations",
        rows=_rows,
        identity="meta.item, else _input_hash",
        source="Prodigy documentation, api-interfaces; from memory",
        people="answer accept or reject",
        marks=frozenset({"answer", "_input_hash", "_task_hash"}),
    ),
)
