"""Test runs of DeepEval."""

from __future__ import annotations

from collections.abc import Iterator

from bayesjudge.readers.format import NOT_SCORED, File, Format, Record, Row
from bayesjudge.readers.values import at, canonical, listing, mapping, number, numbered_answers, scalars, text


def _rows(record: Record, file: File) -> Iterator[Row]:
    model = text(at(file.header, "hyperparameters.model")) or text(at(file.header, "testRunData.hyperparameters.model"))
    row = scalars(record.get("additionalMetadata", record.get("metadata")), "metadata.")
    row |= {"item": canonical(record.get("input")), "model": model}
    for metric in map(mapping, listing(record.get("metricsData"))):
        # The tool's own threshold is in its verdict; the case's success is that of all metrics together.
        verdict, name = metric.get("success"), text(metric.get("name"))
        if metric.get("error") or not isinstance(verdict, bool):
            yield {"error": "error" if metric.get("error") else NOT_SCORED}
            continue
        yield {
            **row,
            "criterion": name,
            "judge": text(metric.get("evaluationModel")) or name,
            "verdict": verdict,
            "score": number(metric.get("score")),
            "threshold": number(metric.get("threshold")),
        }


FORMATS = (
    Format(
        name="deepeval",
        title="DeepEval test run",
        rows=_rows,
        identity="input",
        source="deepeval 3 and 4: test_run/api.py (LLMApiTestCase), tracing/api.py (MetricData), test_run/test_run.py",
        finish=numbered_answers,
        marks=frozenset({"input", "metricsData"}),
        records=("testCases", "testRunData.testCases"),
    ),
)
