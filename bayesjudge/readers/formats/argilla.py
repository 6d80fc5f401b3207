"""Records of Argilla, as its SDK writes them to JSON."""

from __future__ import annotations

from collections.abc import Iterator

from bayesjudge.readers.format import File, Format, Record, Row
from bayesjudge.readers.values import listing, mapping, number, scalars, text


def _rows(record: Record, _: File) -> Iterator[Row]:
    metadata = mapping(record.get("metadata"))
    item = text(metadata.get("item")) or text(record.get("external_id")) or text(record.get("id"))
    row = scalars(metadata, "metadata.") | {"item": item}
    row |= {"model": text(metadata.get("model"))} if text(metadata.get("model")) else {}
    made = 0
    for question, given in mapping(record.get("responses")).items():
        for one in map(mapping, listing(given)):
            value = _value(one.get("value"))
            if value is not None and (text(one.get("status")) or "submitted") == "submitted":
                made += 1
                who = text(one.get("user_id")) or "a person"
                yield {**row, "criterion": question, "label": value, "annotator": who}
    for question, given in mapping(record.get("suggestions")).items():
        value = _value(mapping(given).get("value"))
        if value is not None:
            made += 1
            judge = text(mapping(given).get("agent")) or "judge"
            yield {**row, "criterion": question, "verdict": value, "judge": judge}
    if not made:
        yield {"error": "nothing submitted"}


def _value(value: object) -> str | float | None:
    found = number(value)
    return text(value) if found is None else found


FORMATS = (
    Format(
        name="argilla",
        title="Argilla records",
        rows=_rows,
        identity="metadata.item, else the record's id",
        source="argilla 2: records/_io/_json.py, Record.to_dict",
        records=("records",),
        marks=frozenset({"id", "fields", "responses"}),
        people="responses with status submitted",
    ),
)
