"""Experiments of Braintrust."""

from __future__ import annotations

from collections.abc import Iterator

from bayesjudge.readers.format import File, Format, Record, Row, judged
from bayesjudge.readers.values import canonical, mapping, number, numbered_answers, scalars, text


def _rows(record: Record, _: File) -> Iterator[Row]:
    same = record.get("span_id") == record.get("root_span_id")
    if not (same if record.get("is_root") is None else record["is_root"]):
        yield {"error": "not a root span"}
    elif record.get("error"):
        yield {"error": "error"}
    else:
        metadata = mapping(record.get("metadata"))
        row = scalars(metadata, "metadata.") | {"item": canonical(record.get("input"))}
        row["model"] = text(metadata.get("model"))
        yield from (judged(row, name, number(value)) for name, value in mapping(record.get("scores")).items())


FORMATS = (
    Format(
        name="braintrust",
        title="Braintrust experiment",
        rows=_rows,
        identity="input",
        source="Braintrust API v1, experiment/{id}/fetch: ExperimentEvent (span_id, root_span_id, is_root, error)",
        finish=numbered_answers,
        people="in the same scores, not marked: use --label NAME",
        marks=frozenset({"scores", "input", "span_id", "root_span_id"}),
        records=("events",),
    ),
)
