"""Experiments of Braintrust."""

from __future__ import annotations

from collections.abc import Iterator

from bayesjudge.readers.format import File, Format, Record, Row
from bayesjudge.readers.values import at, canonical, mapping, number, numbered_answers, scalars, text


def _rows(record: Record, _: File) -> Iterator[Row]:
    if record.get("span_id") != record.get("root_span_id"):
        yield {"error": "not a root span"}
        return
    if record.get("error"):
        yield {"error": "error"}
        return
    metadata = mapping(record.get("metadata"))
    row = scalars(metadata, "metadata.") | {"item": canonical(record.get("input"))}
    row |= {"model": text(metadata.get("model"))} if text(at(metadata, "model")) else {}
    scores = mapping(record.get("scores"))
    for name, value in scores.items():
        score = number(value)
        judged = {**row, "criterion": str(name), "judge": str(name), "score": score}
        yield judged if score is not None else {"error": "not scored"}
    if not scores:
        yield {"error": "not scored"}


FORMATS = (
    Format(
        name="braintrust",
        title="Braintrust experiment",
        rows=_rows,
        identity="input",
        source="Braintrust documentation, experiment fetch; autoevals SDK for trial_index",
        finish=numbered_answers,
        people="in the same scores, not marked: say --label NAME",
        marks=frozenset({"scores", "input", "span_id", "root_span_id"}),
        records=("events",),
    ),
)
