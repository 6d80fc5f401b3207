"""Scores of RewardBench 2: whether a judge preferred the answer that is known to be right."""

from __future__ import annotations

from collections.abc import Iterator

from bayesjudge.readers.format import BY_GOLD, File, Format, Record, Row, judged
from bayesjudge.readers.values import listing, number, text


def _rows(record: Record, file: File) -> Iterator[Row]:
    file.note("the right answer is known for every item: nothing to correct, labels are not needed")
    columns = [listing(record.get(name)) for name in ("id", "results", "subset")]
    models = listing(record.get("model")) or [record.get("model")] * len(columns[0])
    for item, result, subset, model in zip(*columns, models, strict=False):
        row = {"item": text(item), "model": text(model), "subset": text(subset)}
        yield judged(row, None, number(result), judge=BY_GOLD)


FORMATS = (
    Format(
        name="rewardbench",
        title="RewardBench 2 scores",
        rows=_rows,
        identity="id",
        source="reward-bench: scripts/run_v2.py, rewardbench/utils.py",
        fits=lambda first: all(isinstance(record.get("results"), list) for record in first),
        marks=frozenset({"id", "results", "subset", "model"}),
    ),
)
