"""Soft-Elo's annotations: scores by criterion for both answers, and preferences that count 0 for a."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from bayesjudge.readers.cells import criterion_gap, read_scores_cell
from bayesjudge.readers.format import File, Format, Record, Row
from bayesjudge.readers.values import number, scalars

#: Preferences this near to the middle are ties.
_NEAR_TIE = 0.05
_DONE = ("scores_a", "scores_b", "human_pref", "judge_pref", "meta_lang", "row_id")


def _rows(record: Record, _: File) -> Iterator[Row]:
    row = scalars({name: value for name, value in record.items() if name not in _DONE})
    row |= {"item": record.get("item", record.get("row_id")), "language": record.get("meta_lang")}
    cells = [read_scores_cell(record.get(name)) for name in ("scores_a", "scores_b")]
    a, b = cells
    gap: Any = "a cell that is no dictionary of numbers" if a is None or b is None else criterion_gap(a, b)
    row["score_gap"] = None if isinstance(gap, float) and math.isnan(gap) else gap
    for theirs, ours in (("human_pref", "human"), ("judge_pref", "verdict")):
        if theirs in record:
            row[ours] = _code(record[theirs])
    yield row


def _code(value: Any) -> Any:
    """1 where a is preferred; a preference outside 0 to 1 stays what it is, for the table to refuse."""
    found = number(value)
    if found is None or not 0 <= found <= 1:
        return value
    return 0.5 if abs(found - 0.5) <= _NEAR_TIE else float(found < 0.5)


FORMATS = (
    Format(
        name="soft-elo",
        title="Soft-Elo annotations",
        rows=_rows,
        identity="row_id",
        source="github.com/kargibora/SoftElo, data/sample_annotations.csv",
        people="human_pref, which counts 0 for model_a",
        marks=frozenset({"model_a", "model_b", "scores_a", "scores_b"}),
    ),
)
