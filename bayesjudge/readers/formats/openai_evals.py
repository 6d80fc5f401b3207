"""OpenAI Evals: the log of a run, and the output items of the API."""

from __future__ import annotations

from collections.abc import Iterator

from bayesjudge.readers.format import File, Format, Record, Row
from bayesjudge.readers.values import at, listing, mapping, number, text


def _event(record: Record, file: File) -> Iterator[Row]:
    data, kind = mapping(record.get("data")), text(record.get("type"))
    named = [text(name) for name in listing(at(file.header, "spec.completion_fns"))]
    row = {"item": text(record.get("sample_id")), "model": named[0] if named else None, "criterion": kind}
    if kind == "match" and isinstance(data.get("correct"), bool):
        yield {**row, "judge": "match", "verdict": data["correct"]}
    elif kind == "metrics" and (data.get("choice") is not None or number(data.get("score")) is not None):
        if len(named) == 1:
            file.note(f"one completion function: the model {named[0]} graded its own answers")
        score = number(data.get("score"))
        judged = {"score": score} if score is not None else {"verdict": text(data.get("choice")), "criterion": "choice"}
        yield {**row, "judge": named[-1] if named else "judge", **judged}
    elif kind in {"match", "metrics"}:
        yield {"error": "not scored"}
    else:
        yield {"error": f"an event of type {kind}"}


def _item(record: Record, file: File) -> Iterator[Row]:
    if file.header.get("has_more"):
        file.note("has_more is true: pages of this run are missing")
    if record.get("status") == "error" or at(record, "sample.error"):
        yield {"error": "error"}
        return
    row = {"item": text(record.get("datasource_item_id")), "model": text(at(record, "sample.model"))}
    results = [mapping(result) for result in listing(record.get("results"))]
    for result in results:
        name, passed = text(result.get("name")), result.get("passed")
        judged = {**row, "criterion": name, "judge": name, "score": number(result.get("score"))}
        yield {**judged, "verdict": passed} if isinstance(passed, bool) else {"error": "not scored"}
    if not results:
        yield {"error": "not scored"}


FORMATS = (
    Format(
        name="openai-evals",
        title="OpenAI Evals log",
        rows=_event,
        people="none",
        identity="sample_id",
        source="openai/evals: record.py, base.py, elsuite/modelgraded/classify.py",
        marks=frozenset({"run_id", "event_id", "sample_id", "type", "data"}),
        preamble=frozenset({"spec", "final_report"}),
    ),
    Format(
        name="openai-evals-api",
        title="OpenAI Evals API output items",
        rows=_item,
        people="none",
        source="OpenAI API reference, evals/runs/output_items",
        identity="datasource_item_id",
        marks=frozenset({"datasource_item_id", "results", "eval_id"}),
        records=("data",),
    ),
)
