"""Judgments of JudgeBench: a judge's decisions on pairs of which one answer is known to be right."""

from __future__ import annotations

from collections.abc import Iterator

from bayesjudge.readers.format import NOT_SCORED, File, Format, Record, Row
from bayesjudge.readers.values import at, listing, scalars, text

#: Preference for the answer in the first place, whichever that is in the game.
_FIRST = {"A>B": 1.0, "A=B": 0.5, "B=A": 0.5, "B>A": 0.0}
_KEPT = ("source", "original_id", "response_model", "judge_name")


def _rows(record: Record, file: File) -> Iterator[Row]:
    """In game 1 answer A is in the first place, in game 2 answer B."""
    file.note("labels say which answer is right, by a reference: no person made them")
    row = scalars({name: record.get(name) for name in _KEPT})
    right = _FIRST.get(text(record.get("label")) or "")
    row |= {"item": text(record.get("pair_id")), "model_a": "answer A", "model_b": "answer B", "human": right}
    games = listing(record.get("judgments"))[:2]
    named = [text(at(game, "judgment.judge_model")) for game in games]
    judge = next((name for name in named if name), None) or text(record.get("judge_name"))
    for game, order in zip(games, ("ab", "ba"), strict=False):
        first = _FIRST.get(text(at(game, "decision")) or "")
        if first is None:
            yield {"error": NOT_SCORED}
        else:
            yield {**row, "judge": judge, "order": order, "verdict": first if order == "ab" else 1 - first}


FORMATS = (
    Format(
        name="judgebench",
        title="JudgeBench judgments",
        rows=_rows,
        identity="pair_id",
        people="label, the answer that a reference finds right",
        source="ScalerLab/JudgeBench: run_judge.py, utils/metrics.py and README.md",
        marks=frozenset({"pair_id", "judgments", "response_model"}),
    ),
)
