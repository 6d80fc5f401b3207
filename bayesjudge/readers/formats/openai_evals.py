"""OpenAI Evals: the log of a run, and the output items of the API."""

from __future__ import annotations

from collections.abc import Iterator

from bayesjudge.readers.format import NOT_SCORED, File, Format, Record, Row, judged
from bayesjudge.readers.values import at, listing, mapping, number, text


def _event(record: Record, file: File) -> Iterator[Row]:
    data, kind = mapping(record.get("data")), text(record.get("type"))
    named = [text(name) for name in listing(at(file.header, "spec.completion_fns"))]
    row = {"item": text(record.get("sample_id")), "model": named[0] if named else None}
    if kind == "match":
        yield judged(row, kind, number(data.get("correct")))
    elif kind == "metrics" and (data.get("choice") is not None or number(data.get("score")) is not None):
        if len(named) == 1:
            file.note(f"one completion function: the model {named[0]} graded its own answers")
        score, judge = number(data.get("score")), named[-1] if named else None
        value, criterion = (text(data.get("choice")), "choice") if score is None else (score, kind)
        yield judged(row, criterion, value, judge=judge)
    elif kind != "metrics":
        yield {"error": f"an event of type {kind}"}


def _item(record: Record, file: File) -> Iterator[Row]:
    if file.header.get("has_more"):
        file.note("has_more is true: pages of this run are missing")
    if record.get("status") == "error" or at(record, "sample.error"):
        yield {"error": "error"}
        return
    row = {"item": text(record.get("datasource_item_id")), "model": text(at(record, "sample.model"))}
    for result in map(mapping, listing(record.get("results"))):
        name, passed = text(result.get("name")), result.get("passed")
        found = {**row, "criterion": name, "judge": name, "score": number(result.get("score")), "verdict": passed}
        yield found if isinstance(passed, bool) else {"error": NOT_SCORED}


FORMATS = (
    Format(
        name="openai-evals",
        title="OpenAI Evals log",
        rows=_event,
        identity="sample_id",
        source="openai/evals: record.py, base.py, elsuite/modelgraded/classify.py",
        marks=frozenset({"run_id", "event_id", "sample_id", "type", "data"}),
        preamble=frozenset({"spec", "final_report"}),
    ),
    Format(
        name="openai-evals-api",
        title="OpenAI Evals API output items",
        rows=_item,
        source="OpenAI API reference, evals/runs/output_items",
        identity="datasource_item_id",
        marks=frozenset({"datasource_item_id", "results", "eval_id"}),
        records=("data",),
    ),
)
