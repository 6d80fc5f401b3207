"""Ragas: result tables, and annotations of a metric's outputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bayesjudge.readers.aliases import REFERENCES
from bayesjudge.readers.format import File, Format, Record, Row, judged, marked
from bayesjudge.readers.values import canonical, listing, mapping, number, numbered_answers, text

_INPUTS = REFERENCES | frozenset(
    {
        "user_input",
        "response",
        "reference",
        "retrieved_contexts",
        "reference_contexts",
        "rubrics",
        "model",
        "multi_responses",
    }
)


def _table(record: Record, _: File) -> Iterator[Row]:
    row = {"item": canonical(record.get("user_input")), "model": text(record.get("model"))}
    yield from (judged(row, name, number(value)) for name, value in record.items() if name not in _INPUTS)


def _annotations(record: Record, _: File) -> Iterator[Row]:
    """Where a person accepts, the metric's output is right; elsewhere the person's own value is given."""
    for metric, given in record.items():
        for one in map(mapping, listing(given)):
            score, accepted = number(one.get("metric_output")), one.get("is_accepted")
            row = judged({"item": canonical(one.get("metric_input"))}, metric, score)
            edited = number(mapping(one.get("target")).get("value", one.get("target")))
            label = score if accepted is True else edited
            yield row if label is None or score is None else marked(row, metric, label, None)


def _annotated(first: Sequence[Record]) -> bool:
    return bool(first) and any(
        "metric_output" in mapping(one) for given in first[0].values() for one in listing(given)[:1]
    )


FORMATS = (
    Format(
        name="ragas",
        title="Ragas result table",
        rows=_table,
        identity="user_input",
        source="ragas 0.3: dataset_schema.py, EvaluationResult.to_pandas",
        finish=numbered_answers,
        marks=frozenset({"user_input", "response"}),
    ),
    Format(
        name="ragas-annotations",
        title="Ragas annotations",
        rows=_annotations,
        marks=frozenset(),
        source="ragas 0.3: dataset_schema.py, MetricAnnotation",
        fits=_annotated,
        identity="metric_input",
        people="is_accepted, else target",
    ),
)
