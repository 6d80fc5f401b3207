"""Arize Phoenix: evaluated data frames and annotations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayesjudge.readers.format import File, Format, Record, Row
from bayesjudge.readers.values import at, canonical, mapping, number, numbered_answers, text


def _item(record: Record) -> Row:
    inputs = record.get("input", record.get("attributes.input.value"))
    row: Row = {"item": canonical(inputs) or text(record.get("span_id", record.get("context.span_id")))}
    model = text(at(record, "metadata.model_name")) or text(record.get("metadata.model_name"))
    return {**row, "model": model} if model else row


def _evaluated(record: Record, _: File) -> Iterator[Row]:
    for name, value in record.items():
        if not name.endswith("_score"):
            continue
        criterion, score = name.removesuffix("_score"), mapping(value)
        status = text(at(mapping(record.get(f"{criterion}_execution_details")), "status"))
        if (status or "COMPLETED").upper() != "COMPLETED":
            yield {"error": "not scored"}
            continue
        person = text(score.get("kind")) in {"human", "HUMAN"}
        yield _judged(_item(record), score, criterion, at(score, "metadata.model"), person=person)


def _judged(row: Row, score: Mapping[str, Any], criterion: str | None, judge: Any, *, person: bool) -> Row:
    found = number(score.get("score"))
    word = text(score.get("label")) if found is None else None
    if found is not None and text(score.get("direction")) == "minimize":
        found = 1 - found
    value = word if found is None else found
    if value is None:
        return {"error": "not scored"}
    if person:
        return {**row, "criterion": criterion, "label": value, "annotator": text(judge) or "a person"}
    kind = "verdict" if found is None else "score"
    return {**row, "criterion": criterion, "judge": text(judge) or criterion, kind: value}


def _annotation(record: Record, _: File) -> Iterator[Row]:
    kind = (text(record.get("annotator_kind")) or "").upper()
    name = text(record.get("annotation_name")) or text(record.get("name"))
    flat: Mapping[str, Any] = {"score": record.get("score"), "label": record.get("label")}
    flat = flat if flat["score"] is not None or flat["label"] is not None else mapping(record.get("result"))
    who = text(record.get("user_id")) if kind == "HUMAN" else text(at(record, "metadata.model"))
    yield _judged(_item(record), flat, name, who, person=kind == "HUMAN")


FORMATS = (
    Format(
        name="phoenix",
        title="Phoenix evaluated data frame",
        rows=_evaluated,
        identity="input",
        source="arize-phoenix-evals 2: evaluators.py, evaluate_dataframe",
        finish=numbered_answers,
        marks=frozenset({"*_score", "*_execution_details"}),
        people="a score of kind human",
    ),
    Format(
        name="phoenix-annotations",
        title="Phoenix annotations",
        rows=_annotation,
        identity="input, else span",
        source="arize-phoenix-client: spans, get_span_annotations_dataframe",
        marks=frozenset({"annotator_kind"}),
        people="annotator_kind HUMAN",
    ),
)
