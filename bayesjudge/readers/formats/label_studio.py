"""Label Studio: tasks with annotations (JSON), and one row an annotation (JSON_MIN, CSV)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayesjudge.readers.format import File, Format, Record, Row, judged, marked
from bayesjudge.readers.values import at, listing, mapping, scalar, scalars, text

#: Names of questions in the tool's templates.
_NAMES = ("label", "choice", "sentiment", "rating")
_SOURCE = "Label Studio documentation, guide/export and guide/task_format"


def _task(record: Record, _: File) -> Iterator[Row]:
    data = mapping(record.get("data"))
    row = scalars(data, "data.")
    row |= {"item": text(data.get("item")) or text(record.get("id")), "model": text(data.get("model"))}
    given = [mapping(one) for one in listing(record.get("annotations"))]
    kept = [one for one in given if not one.get("was_cancelled")]
    for one in kept:
        who = text(at(one, "completed_by.email")) or text(at(one, "completed_by.id")) or text(one.get("completed_by"))
        yield from (marked(row, name, value, who) for name, value in _results(one))
    for one in map(mapping, listing(record.get("predictions"))):
        judge = text(one.get("model_version"))
        yield from (judged(row, name, value, judge=judge) for name, value in _results(one))
    if not kept:
        yield {"error": "cancelled" if given else "not annotated"}


def _results(one: Mapping[str, Any]) -> Iterator[tuple[str, float | str]]:
    for result in map(mapping, listing(one.get("result"))):
        choices = listing(at(result, "value.choices"))
        value = scalar(choices[0] if choices else at(result, "value.rating"))
        if value is not None:
            yield text(result.get("from_name")) or "label", value


def _row(record: Record, _: File) -> Iterator[Row]:
    row = {"item": text(record.get("item")) or text(record.get("id")), "model": text(record.get("model"))}
    name = next((name for name in _NAMES if text(record.get(name))), None)
    if name is None:
        # What people answered has the name of the question, whatever that is.
        other = "no label, choice, sentiment or rating; for another name: --format table --label NAME"
        yield {"error": "not annotated" if any(name in record for name in _NAMES) else other}
    else:
        yield marked(row, name, record[name], text(record.get("annotator")))


FORMATS = (
    Format(
        name="label-studio",
        title="Label Studio tasks (JSON)",
        source=_SOURCE,
        rows=_task,
        marks=frozenset({"data", "annotations"}),
        identity="data.item, else the task's id",
        people="every annotation that was not cancelled",
    ),
    Format(
        name="label-studio-min",
        title="Label Studio annotations (JSON_MIN, CSV)",
        source=_SOURCE,
        rows=_row,
        marks=frozenset({"annotator", "annotation_id", "lead_time"}),
        identity="item, else id",
        people="every row",
    ),
)
