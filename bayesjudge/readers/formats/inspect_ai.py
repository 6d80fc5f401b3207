"""Logs of Inspect: ``.eval`` archives and JSON, and the table that ``samples_df`` gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayesjudge.readers.format import File, Format, Record, Row, judged, marked
from bayesjudge.readers.values import at, listing, mapping, number, scalars, text

_SOURCE = "inspect_ai 0.3: log/_log.py (EvalSampleSummary, EvalScorer), log/_recorders, scorer/_metric.py (ScoreEdit)"
#: As the tool's own ``value_to_float`` reads them.
_LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0, "yes": 1.0, "no": 0.0, "true": 1.0, "false": 0.0}


def _value(value: Any) -> float | None:
    word = _LETTERS.get(value, _LETTERS.get(value.casefold())) if isinstance(value, str) else None
    return number(value) if word is None else word


def _rows(record: Record, file: File) -> Iterator[Row]:
    run = mapping(file.header.get("eval"))
    item, task = text(record.get("id")), text(run.get("task"))
    row = scalars(record.get("metadata"), "metadata.")
    row |= {
        "item": f"{task}/{item}" if task and item else item,
        "answer": text(record.get("epoch")),
        "model": text(run.get("model")),
    }
    if record.get("error"):
        yield {"error": "error"}
        return
    for name, score in mapping(record.get("scores")).items():
        yield from _scored(row, name, mapping(score), _judge(str(name), run, file))


def _scored(row: Row, name: str, score: Mapping[str, Any], judge: str) -> Iterator[Row]:
    """The judge's value is the one before a person's edit; a score that a person added is a label alone."""
    history = [mapping(entry) for entry in listing(score.get("history"))]
    first = history[0].get("value") if history else score.get("value")
    edits = [edit for edit in history if edit.get("provenance") and edit.get("value") not in (None, "UNCHANGED")]
    person = edits[-1] if edits else {}
    if history and history[0].get("provenance"):
        first = None
    values, marks = _criteria(name, first), _criteria(name, person.get("value"))
    for criterion in dict.fromkeys([*values, *marks]):
        one = judged(row, criterion, None if score.get("reason") else values.get(criterion), judge=judge)
        if marks.get(criterion) is None or score.get("reason"):
            yield one
        else:
            who = text(at(person, "provenance.author"))
            yield {**marked({**row, "judge": judge}, criterion, marks[criterion], who), "score": one.get("score")}


def _criteria(name: str, value: Any) -> dict[str, float | None]:
    """A score of several values is several criteria."""
    if value is None:
        return {}
    inner = mapping(value) or {str(k): one for k, one in enumerate(listing(value))}
    return {f"{name}.{key}": _value(one) for key, one in inner.items()} if inner else {name: _value(value)}


def _judge(name: str, run: Mapping[str, Any], file: File) -> str:
    scorers = {str(one.get("name")): one for one in map(mapping, listing(run.get("scorers")))}
    options = mapping(mapping(scorers.get(name, scorers.get(name.rstrip("0123456789")))).get("options"))
    model = text(options.get("model")) or text(at(options, "model.model"))
    model = model or text(at(run, "model_roles.grader.model"))
    if model is None and name.startswith("model_graded"):
        file.note(f"scorer {name!r} names no grader: the model {run.get('model')} graded its own answers")
        return text(run.get("model")) or name
    return model or name


def _sample(record: Record, _: File) -> Iterator[Row]:
    row = {name: value for name, value in scalars(record).items() if name.startswith("metadata_")}
    row |= {
        "item": text(record.get("id")) or text(record.get("sample_id")),
        "answer": text(record.get("epoch")),
        "model": text(record.get("model")) or text(record.get("eval_id")),
    }
    for name, value in record.items():
        if name.startswith("score_"):
            yield judged(row, name[6:], _value(value))


FORMATS = (
    Format(
        name="inspect",
        title="Inspect log",
        source=_SOURCE,
        rows=_rows,
        records=("samples",),
        marks=frozenset({"id", "epoch", "scores", "target"}),
        identity="task and sample id",
        people="an edit of a score (its history, with provenance)",
    ),
    Format(
        name="inspect-samples",
        title="Inspect samples_df table",
        source=_SOURCE,
        rows=_sample,
        marks=frozenset({"sample_id", "eval_id", "epoch", "score_*"}),
        identity="id",
    ),
)
