"""Records of Argilla, as its SDK writes them to JSON."""

from __future__ import annotations

from collections.abc import Iterator

from bayesjudge.readers.format import File, Format, Record, Row, judged, marked
from bayesjudge.readers.values import listing, mapping, scalar, scalars, text


def _rows(record: Record, _: File) -> Iterator[Row]:
    metadata = mapping(record.get("metadata"))
    item = text(metadata.get("item")) or text(record.get("external_id")) or text(record.get("id"))
    row = scalars(metadata, "metadata.") | {"item": item, "model": text(metadata.get("model"))}
    for question, given in mapping(record.get("responses")).items():
        for one in map(mapping, listing(given)):
            submitted = (text(one.get("status")) or "submitted") == "submitted"
            value = scalar(one.get("value")) if submitted else None
            yield marked(row, question, value, text(one.get("user_id"))) if submitted else {"error": "not submitted"}
    for question, given in mapping(record.get("suggestions")).items():
        yield judged(row, question, scalar(mapping(given).get("value")), judge=text(mapping(given).get("agent")))


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
