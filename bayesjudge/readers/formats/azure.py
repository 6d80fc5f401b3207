"""Azure AI Evaluation: what ``evaluate(output_path=...)`` writes, and its rows as lines."""

from __future__ import annotations

from collections.abc import Iterator

from bayesjudge.readers.format import NOT_SCORED, File, Format, Record, Row
from bayesjudge.readers.values import canonical, mapping, number, numbered_answers, scalars, text

#: What an answer was given, apart from the question.
_ANSWERS = frozenset({"response", "answer", "context", "ground_truth", "tool_calls", "line_number"})
#: What is said of a metric beside its score.
_ABOUT = ("passed", "row_missing", "_threshold", "_tokens", "_result", "_status", "_properties", "_model")
#: The question, where a column has one of these names.
_QUESTIONS = ("query", "question", "conversation")


def _row(record: Record) -> Row:
    inputs = {name.removeprefix("inputs."): value for name, value in record.items() if name.startswith("inputs.")}
    asked = next((inputs[name] for name in _QUESTIONS if inputs.get(name) is not None), None)
    given = {name: value for name, value in inputs.items() if name not in _ANSWERS}
    kept = scalars({name: value for name, value in given.items() if name not in {*_QUESTIONS, "model"}}, "inputs.")
    return {**kept, "item": canonical(given if asked is None else asked), "model": text(inputs.get("model"))}


def _rows(record: Record, _: File) -> Iterator[Row]:
    """A metric has a score and, of newer releases, whether it passes the tool's threshold; a grader has ``passed``."""
    row = _row(record)
    for name, value in record.items():
        start, metric = name.rpartition(".")[::2]
        if not start.startswith("outputs.") or metric.startswith("gpt_") or metric.endswith(_ABOUT):
            continue
        if isinstance(value, str | dict | list):
            continue
        if (score := number(value)) is None:
            yield {"error": NOT_SCORED}
            continue
        evaluator = start.removeprefix("outputs.")
        passed = record.get(f"{start}.passed", record.get(f"{name}_result"))
        judge = text(record.get(f"{name}_model")) or text(mapping(record.get(f"{name}_properties")).get("model"))
        yield {
            **row,
            "criterion": evaluator if metric in {evaluator, "score"} else f"{evaluator}.{metric}",
            "judge": judge or evaluator,
            "verdict": value if passed is None and isinstance(value, bool) else passed,
            "score": score,
            "threshold": number(record.get(f"{name}_threshold")),
        }


FORMATS = (
    Format(
        name="azure-evaluation",
        title="Azure AI Evaluation",
        rows=_rows,
        identity="inputs.query, else the inputs",
        source="azure-ai-evaluation: _evaluate/_evaluate_aoai.py, _utils.py; a metric's names by what reads such files",
        finish=numbered_answers,
        marks=frozenset({"inputs.*", "outputs.*.*"}),
        records=("rows",),
    ),
)
