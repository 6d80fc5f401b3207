"""WildBench: pairwise verdicts and scores of a judge that only the path names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bayesjudge.readers.format import NOT_SCORED, File, Format, Record, Row, judged
from bayesjudge.readers.values import number, text

_SOURCE = "WildBench: src/eval.py, eval_results"


def _judge(file: File) -> str:
    found = re.search(r"eval=([^/\\]+)", file.name)
    if found is None:
        file.note("no record names the judge: state it with --set judge=NAME")
    return found[1] if found else "judge"


def _pair(record: Record, file: File) -> Iterator[Row]:
    """The winner is a model's name or tie; the first model was shown first."""
    a, b, winner = (text(record.get(name)) for name in ("model_A", "model_B", "winner"))
    verdict = {a: "a", b: "b", "tie": "tie"}.get(winner) if winner else None
    row = {"item": text(record.get("session_id")), "model_a": a, "model_b": b, "judge": _judge(file)}
    extent = number(record.get("extent"))
    found = {**row, "verdict": verdict, "order": "ab", "extent": extent}
    yield found if verdict else {"error": "unknown winner" if winner else NOT_SCORED}


def _score(record: Record, file: File) -> Iterator[Row]:
    row = {"item": text(record.get("session_id")), "model": text(record.get("model_test"))}
    yield judged(row, None, number(record.get("score")), judge=_judge(file))


FORMATS = (
    Format(
        name="wildbench-pair",
        title="WildBench pairwise verdicts",
        source=_SOURCE,
        rows=_pair,
        identity="session_id",
        marks=frozenset({"session_id", "model_A", "model_B", "winner", "extent"}),
    ),
    Format(
        name="wildbench-score",
        title="WildBench scores",
        source=_SOURCE,
        rows=_score,
        identity="session_id",
        marks=frozenset({"session_id", "model_test", "score"}),
    ),
)
