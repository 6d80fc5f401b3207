"""Relevance judgements of a TREC track (qrels): a judge's, or people's where the file is given as labels."""

from __future__ import annotations

from collections.abc import Iterator

from bayesjudge.readers.format import File, Format, Record, Row
from bayesjudge.readers.qrels import COLUMNS
from bayesjudge.readers.values import number, text


def _rows(record: Record, file: File) -> Iterator[Row]:
    topic, document, grade = text(record.get("topic")), text(record.get("document")), number(record.get("grade"))
    if grade is None:
        yield {"error": "no grade that is a number"}
        return
    # Documents are judged, no system: the accuracy of all of them is the share that is relevant.
    row = {"item": f"{topic}/{document}", "topic": topic, "document": document, "model": "documents"}
    yield {**row, "judge": file.stem, "score": grade}


FORMATS = (
    Format(
        name="trec-qrels",
        title="TREC relevance judgements (qrels)",
        rows=_rows,
        identity="topic and document",
        source="qrels of TREC Deep Learning 2019",
        marks=frozenset(COLUMNS),
        people="grades, where the file is given as labels",
        cluster="topic",
        grades=True,
    ),
)
