"""Scores of Langfuse, by its API and by its export."""

from __future__ import annotations

from collections.abc import Iterator

from bayesjudge.readers.format import File, Format, Record, Row, judged, marked
from bayesjudge.readers.values import number, text


def _first(record: Record, *names: str) -> str | None:
    for name in names:
        if found := text(record.get(name)):
            return found
    return None


def _rows(record: Record, file: File) -> Iterator[Row]:
    kind = (_first(record, "dataType", "data_type") or "").upper()
    item, trace = _first(record, "dataset_item_id", "datasetItemId"), _first(record, "traceId", "trace_id")
    if kind in {"TEXT", "CORRECTION"}:
        yield {"error": "text, no score"}
        return
    if item is None and trace is None:
        yield {"error": "of a session or a run of all items"}
        return
    if item is None:
        file.note("traces are the items: no two models are paired; join dataset_item_id for that")
    name, source = text(record.get("name")), (text(record.get("source")) or "").upper()
    model = _first(record, "datasetRunName", "dataset_run_name", "datasetRunId", "dataset_run_id")
    row = {"item": item or trace, "model": model}
    score = None if kind == "CATEGORICAL" else number(record.get("value"))
    value = _first(record, "stringValue", "string_value") if score is None else score
    if source == "ANNOTATION":
        yield marked(row, name, value, _first(record, "authorUserId", "author_user_id"))
    else:
        if source != "EVAL":
            file.note(f"score {name!r} has source {source}: if people gave it, use --label '{name}'")
        yield judged(row, name, value)


FORMATS = tuple(
    Format(
        name=name,
        title=title,
        rows=_rows,
        source=source,
        identity="the dataset item, else the trace",
        people="source ANNOTATION",
        marks=frozenset({"name", "value", "source", trace}),
        records=records,
    )
    for name, title, trace, records, source in (
        ("langfuse", "Langfuse scores (API)", "traceId", ("data",), "langfuse 3: public API v2, domain/scores"),
        ("langfuse-export", "Langfuse scores (export)", "trace_id", (), "Langfuse batch export; from memory"),
    )
)
