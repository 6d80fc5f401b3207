"""Test runs of DeepEval."""

from __future__ import annotations

from collections.abc import Iterator

from bayesjudge.readers.format import File, Format, Record, Row
from bayesjudge.readers.values import at, canonical, listing, mapping, number, numbered_answers, scalars, text


def _rows(record: Record, file: File) -> Iterator[Row]:
    settings = mapping(file.header.get("hyperparameters")) or mapping(at(file.header, "testRunData.hyperparameters"))
    row = scalars(record.get("additionalMetadata"), "metadata.")
    row |= {"item": canonical(record.get("input"))}
    if text(settings.get("model")):
        row["model"] = text(settings.get("model"))
    metrics = [mapping(metric) for metric in listing(record.get("metricsData"))]
    for metric in metrics:
        # The tool's own threshold is in its verdict; the case's success is that of all metrics together.
        verdict, name = metric.get("success"), text(metric.get("name"))
        judged = {
            **row,
            "criterion": name,
            "judge": text(metric.get("evaluationModel")) or name,
            "verdict": verdict,
            "score": number(metric.get("score")),
            "threshold": number(metric.get("threshold")),
        }
        failed = metric.get("error") or not isinstance(verdict, bool)
        yield {"error": "error" if metric.get("error") else "not scored"} if failed else judged
    if not metrics:
        yield {"error": "not scored"}


FORMATS = (
    Format(
        name="deepeval",
        title="DeepEval test run",
        rows=_rows,
        identity="input",
        people="none",
        source="deepeval 3: test_run/api.py, test_run/test_run.py",
        finish=numbered_answers,
        marks=frozenset({"input", "metricsData"}),
        records=("testCases", "testRunData.testCases"),
    ),
)
