"""LangSmith: experiment tables (``to_pandas().to_csv``) and exported feedback."""

from __future__ import annotations

from collections.abc import Iterator

from bayesjudge.readers.format import File, Format, Record, Row, judged, marked
from bayesjudge.readers.values import at, number, numbered_answers, scalar, scalars, text


def _experiment(record: Record, _: File) -> Iterator[Row]:
    if text(record.get("error")):
        yield {"error": "error"}
        return
    inputs = scalars({name: value for name, value in record.items() if name.startswith("inputs.")})
    row = {**inputs, "item": text(record.get("example_id"))}
    for name, value in record.items():
        if name.startswith("feedback.") and not name.endswith((".comment", ".correction")):
            yield judged(row, name[9:], scalar(value))


def _feedback(record: Record, file: File) -> Iterator[Row]:
    source = text(at(record, "feedback_source.type")) or text(record.get("feedback_source.type"))
    key, score = text(record.get("key")), number(record.get("score"))
    value = scalar(record.get("value")) if score is None else score
    row = {"item": text(record.get("reference_example_id")) or text(record.get("run_id"))}
    if source == "app":
        yield marked(row, key, value, text(at(record, "feedback_source.user_id")))
    else:
        if source != "model":
            file.note(f"feedback {key!r} came by the API: if people gave it, use --label '{key}'")
        yield judged(row, key, value)


FORMATS = (
    Format(
        name="langsmith",
        title="LangSmith experiment table",
        rows=_experiment,
        identity="example_id",
        source="langsmith 0.4: evaluation/_runner.py, _flatten_experiment_results",
        finish=numbered_answers,
        marks=frozenset({"example_id", "feedback.*"}),
        people="not marked in the table: use --label NAME",
    ),
    Format(
        name="langsmith-feedback",
        title="LangSmith feedback",
        rows=_feedback,
        identity="the example, else the run",
        source="langsmith 0.4: schemas.py, FeedbackSourceBase (types api, model); app, of its own pages, from memory",
        marks=frozenset({"key", "score", "run_id", "feedback_source*"}),
        people="feedback_source.type app",
    ),
)
