"""Single results of openevals and autoevals, which name neither an item nor a model."""

from __future__ import annotations

from collections.abc import Iterator

from bayesjudge.readers.format import File, Format, Record, Row, judged
from bayesjudge.readers.values import at, number, text


def _rows(record: Record, _: File) -> Iterator[Row]:
    name, score = text(record.get("key")) or text(record.get("name")), number(record.get("score"))
    item = text(record.get("source_run_id")) or text(record.get("item"))
    row = {"item": item, "model": text(record.get("model")) or text(at(record, "metadata.model"))}
    nameless = {"error": "no item: write the question's id next to each result, as item"}
    yield judged(row, name, score) if item else nameless


FORMATS = (
    Format(
        name="openevals",
        title="openevals results",
        rows=_rows,
        identity="source_run_id",
        source="openevals 0.1: types.py, EvaluatorResult",
        marks=frozenset({"key", "score", "comment"}),
        without=frozenset({"feedback_source"}),
    ),
    Format(
        name="autoevals",
        title="autoevals results",
        rows=_rows,
        identity="item",
        source="autoevals 0.0.130: score.py, Score",
        marks=frozenset({"name", "score", "metadata"}),
        without=frozenset({"annotator_kind", "key"}),
    ),
)
