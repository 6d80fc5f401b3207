"""Calls of W&B Weave evaluations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayesjudge.readers.format import File, Format, Record, Row, judged, marked
from bayesjudge.readers.values import at, canonical, listing, mapping, number, numbered_answers, text


def _rows(record: Record, _: File) -> Iterator[Row]:
    if "predict_and_score" not in (text(record.get("op_name")) or ""):
        yield {"error": "another call than predict_and_score"}
        return
    if record.get("exception"):
        yield {"error": "error"}
        return
    row: Row = {
        "item": canonical(at(record, "inputs.example")),
        "model": text(at(record, "inputs.model")) or canonical(at(record, "inputs.model")),
    }
    for name, value in _scores(mapping(at(record, "output.scores"))):
        yield judged(row, name, number(value), judge=name.split(".")[0])
    for one in map(mapping, listing(at(record, "summary.weave.feedback") or record.get("feedback"))):
        kind = text(one.get("feedback_type")) or ""
        value = number(at(one, "payload.value"))
        if kind.startswith("wandb.annotation.") and value is not None:
            yield marked(row, kind.removeprefix("wandb.annotation."), value, text(one.get("wb_user_id")))


def _scores(scores: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in scores.items():
        inner = {key: one for key, one in mapping(value).items() if isinstance(one, bool | int | float)}
        yield from ((f"{name}.{key}", one) for key, one in inner.items()) if inner else [(name, value)]


FORMATS = (
    Format(
        name="weave",
        title="W&B Weave evaluation calls",
        rows=_rows,
        identity="inputs.example",
        source="weave 0.51: flow/eval.py, trace_server/trace_server_interface.py",
        finish=numbered_answers,
        marks=frozenset({"op_name", "inputs", "output"}),
        people="feedback of type wandb.annotation.*",
    ),
)
