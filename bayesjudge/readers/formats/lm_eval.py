"""Samples of the lm-evaluation-harness: metrics by reference, not a judge's verdicts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bayesjudge.readers.format import BY_REFERENCE, File, Format, Record, Row, judged
from bayesjudge.readers.values import at, listing, number, text

_NAME = re.compile(r"samples_(.+)_\d{4}-\d\d-\d\dT[\d.:-]+")


def _rows(record: Record, file: File) -> Iterator[Row]:
    file.note("metrics by reference, no judge: nothing to correct; labels are not needed")
    task = _NAME.fullmatch(file.stem)
    results = file.beside("results_*.json")
    doc = text(record.get("doc_id"))
    row = {
        "item": f"{task[1]}/{doc}" if task and doc else doc,
        "model": text(at(results, "model_name")) or (file.folder if task else None),
    }
    for name in map(str, listing(record.get("metrics"))):
        yield judged(row, f"{name},{record.get('filter')}", number(record.get(name)), judge=BY_REFERENCE)


FORMATS = (
    Format(
        name="lm-eval",
        title="lm-evaluation-harness samples",
        rows=_rows,
        source="lm-eval 0.4.5 and later: evaluator.py (logged_samples), loggers/evaluation_tracker.py",
        identity="task and doc_id",
        marks=frozenset({"doc_id", "doc", "target", "metrics", "filter"}),
    ),
)
