"""Single results of openevals and autoevals, which name neither an item nor a model."""

from __future__ import annotations

from collections.abc import Iterator

from bayesjudge.readers.format import File, Format, Record, Row
from bayesjudge.readers.values import at, number, text


def _rows(record: Record, _: File) -> Iterator[Row]:
    name, score = text(record.get("key")) or text(record.get("name")), number(record.get("score"))
    item = text(record.get("source_run_id")) or text(record.get("item"))
    model = text(record.get("model")) or text(at(record, "metadata.model"))
    row = {"item": item, "criterion": name, "judge": name, "score": score}
    if item is None:
        yield {"error": "no item: write the question's id beside each result, as item"}
    elif score is None:
        yield {"error": "not scored"}
    else:
        yield {**row, "model": model} if model else row


FORMATS = (
    Format(
        name="openevals",
        title="openevals results",
        rows=_rows,
        people="none",
        identity="source_run_id",
        source="openevals 0.1: types.py, EvaluatorResult",
        marks=frozenset({"key", "score", "comment"}),
        without=frozenset({"feedback_source"}),
    ),
    Format(
        name="autoevals",
        title="autoevals results",
        rows=_rows,
        people="none",
        identity="item",
        source="autoevals 0.0.130: score.py, Score",
        marks=frozenset({"name", "score", "metadata"}),
        without=frozenset({"annotator_kind", "key"}),
    ),
)
