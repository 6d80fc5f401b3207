"""AlpacaEval's annotations: a judge's preference between the answers of two generators."""

from __future__ import annotations

from collections.abc import Iterator

from bayesjudge.readers.format import NOT_SCORED, File, Format, Record, Row
from bayesjudge.readers.values import canonical, number, scalars, text

_KEPT = ("dataset", "datasplit", "time_per_example", "price_per_example")


def _rows(record: Record, _: File) -> Iterator[Row]:
    """The preference runs from 1 (output 1 is better) to 2; what lies between is a probability, and 0 is a draw."""
    preference = number(record.get("preference"))
    if preference is None and record.get("preference") in (None, ""):
        yield {"error": NOT_SCORED}
        return
    row = scalars({name: record.get(name) for name in _KEPT})
    row |= {
        "item": text(record.get("item")) or canonical(record.get("instruction")),
        "model_a": text(record.get("generator_1")) or text(record.get("generator")),
        "model_b": text(record.get("generator_2")),
        "judge": text(record.get("annotator")),
        "human": record.get("human"),
    }
    if preference in (0.0, 1.0, 1.5, 2.0):
        yield {**row, "verdict": 2.0 - (preference or 1.5)}
    else:
        yield {**row, "prob_a": record["preference"] if preference is None else 2.0 - preference}


FORMATS = tuple(
    Format(
        name=name,
        title="AlpacaEval annotations",
        rows=_rows,
        identity="instruction",
        source="tatsu-lab/alpaca_eval 0.6: keys of results/*/weighted_alpaca_eval_gpt4_turbo/annotations.json",
        marks=frozenset({"preference", *marks}),
        without=without,
    )
    for name, marks, without in (
        ("alpaca-eval", ("generator_1", "output_1"), frozenset[str]()),
        ("alpaca-eval-outputs", ("output_2",), frozenset({"generator_1"})),
    )
)
