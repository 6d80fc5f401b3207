"""Judgments of Arena-Hard: two games of a model against a baseline."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bayesjudge.readers.format import NOT_SCORED, File, Format, Record, Row
from bayesjudge.readers.values import at, listing, scalars, text

_VERDICT = re.compile(r"A(<<|<|=|>|>>)B|B(<<|<|=|>|>>)A")
_KEPT = ("category", "subcategory", "language")


def _rows(record: Record, file: File) -> Iterator[Row]:
    """In game 1 the baseline is answer A, in game 2 the model is."""
    row = scalars({name: record.get(name) for name in _KEPT})
    baseline = text(record.get("baseline"))
    row |= {
        "item": text(record.get("uid")) or text(record.get("question_id")),
        "model_a": text(record.get("model")),
        "model_b": baseline,
        "judge": text(record.get("judge")),
    }
    if baseline is None and "model_b" in file.taken:
        file.note("the records name no baseline by which to check the one stated as model_b (v0.1: gpt-4-0314)")
    elif baseline is None:
        file.note("the records name no baseline (v0.1: gpt-4-0314): state it with --set model_b=gpt-4-0314")
    for number, game in enumerate(listing(record.get("games"))[:2], start=1):
        found = _VERDICT.fullmatch(text(at(game, "score")) or "")
        if found is None:
            yield {"error": NOT_SCORED}
            continue
        sign = found[1] or found[2].translate(str.maketrans("<>", "><"))
        first = 0.5 if sign == "=" else float(">" in sign)
        yield {
            **row,
            "verdict": first if number == 2 else 1 - first,
            "order": "ab" if number == 2 else "ba",
            "extent": len(sign) if sign != "=" else 0,
        }


FORMATS = (
    Format(
        name="arena-hard",
        title="Arena-Hard judgments",
        rows=_rows,
        identity="uid or question_id",
        source="lmarena/arena-hard-auto v0.1 (question_id, no baseline), v2 (uid, baseline): gen_judgment.py",
        marks=frozenset({"model", "judge", "games"}),
    ),
)
