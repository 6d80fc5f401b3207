"""Results of promptfoo: JSON, JSON Lines and CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from bayesjudge.readers.format import BY_ASSERTIONS, NOT_SCORED, File, Format, Record, Row, marked
from bayesjudge.readers.values import canonical, listing, mapping, number, numbered_answers, scalars, text

type _Part = Mapping[str, Any]

#: Beginnings of the types that its ``usesGradingProvider`` names, but for embeddings and classifiers.
_GRADED = (
    "llm-rubric",
    "g-eval",
    "factuality",
    "model-graded-",
    "context-",
    "answer-relevance",
    "select-best",
    "agent-rubric",
    "conversation-relevance",
    "search-rubric",
    "web-search",
    "trajectory:goal-success",
    "promptfoo:redteam:",
    "pi",
    "moderation",
)
#: What is read of a component's assertion.
_ASKED = tuple(f"assertion.{name}" for name in ("type", "metric", "metricOnly", "provider.label", "provider.id"))


def _rows(record: Record, file: File) -> Iterator[Row]:
    if record.get("failureReason") == 2 or (record.get("error") and not record.get("gradingResult")):
        yield {"error": "error"}
        return
    case = mapping(record.get("testCase"))
    inputs = mapping(case.get("vars")) or mapping(record.get("vars"))
    row = scalars(inputs, "vars.") | scalars(case.get("metadata"), "metadata.")
    row["item"] = canonical(inputs) or text(record.get("testIdx"))
    row["model"] = _provider(record.get("provider"))
    row["prompt label"] = text(mapping(record.get("prompt")).get("label")) or text(record.get("promptIdx"))
    people, graded, code = _parts(record)
    for person in people[-1:]:
        yield marked(row, None, person.get("pass"), None)
    yield from _judged(row, graded)
    if graded:
        return
    # A thumb overwrites the result's own pass, so what is left of it without people counts.
    passed = all(part.get("pass") for part in code) if code else None if people else record.get("success")
    if isinstance(passed, bool):
        file.note("assertions by code, no judge: their verdict is whether all of them pass")
        yield {**row, "criterion": "assertions", "judge": BY_ASSERTIONS, "verdict": passed}
    else:
        yield {"error": NOT_SCORED}


def _parts(record: Record) -> tuple[list[_Part], list[tuple[str, _Part]], list[_Part]]:
    """Components by people, by a model with their assertion's type, and by code."""
    people: list[_Part] = []
    graded: list[tuple[str, _Part]] = []
    code: list[_Part] = []
    for part in map(mapping, listing(mapping(record.get("gradingResult")).get("componentResults"))):
        asked = mapping(part.get("assertion"))
        if asked.get("metricOnly"):
            continue
        kind = (text(asked.get("type")) or "").removeprefix("not-")
        if kind.startswith(_GRADED):
            graded.append((kind, part))
        else:
            (people if kind == "human" else code).append(part)
    return people, graded, code


def _judged(row: Row, graded: list[tuple[str, _Part]]) -> Iterator[Row]:
    """One row a model-graded assertion; a second of one type has a number."""
    names: dict[str, int] = {}
    for kind, part in graded:
        asked, verdict = mapping(part.get("assertion")), part.get("pass")
        named = text(asked.get("metric")) or kind
        names[named] = names.get(named, 0) + 1
        name = named if names[named] == 1 else f"{named} {names[named]}"
        judge = _provider(asked.get("provider")) or kind
        found = {**row, "criterion": name, "judge": judge, "verdict": verdict, "score": number(part.get("score"))}
        yield found if isinstance(verdict, bool) else {"error": NOT_SCORED}


def _provider(value: Any) -> str | None:
    named = mapping(value)
    return text(named.get("label")) or text(named.get("id")) if named else text(value)


def _finish(frame: pd.DataFrame) -> pd.DataFrame:
    """A model is a provider, with the prompt where it has several; a repeat is a new answer."""
    unnamed = {"model": "model", "prompt label": "prompt"}
    named = frame.assign(**{name: None for name in unnamed if name not in frame})[list(unnamed)]
    different = named.drop_duplicates().fillna(unnamed).astype("str")
    models = named["model"].fillna(unnamed["model"]).astype("str")
    if different.groupby("model")["prompt label"].nunique().max() > 1:
        models = models + " · " + named["prompt label"].fillna(unnamed["prompt label"]).astype("str")
    return numbered_answers(frame.assign(model=models).drop(columns="prompt label", errors="ignore"))


def _cells(record: Record, _: File) -> Iterator[Row]:
    """Columns ``[provider] prompt``, each with those that follow it: Status, Score and others."""
    names = list(record)
    outputs = [place for place, name in enumerate(names) if name.startswith("[") and "]" in name]
    inputs = {name: record[name] for name in names[: outputs[0]]} if outputs else {}
    row = scalars(inputs, "vars.") | {"item": canonical(inputs), "judge": "promptfoo"}
    for place, end in zip(outputs, [*outputs[1:], len(names)], strict=True):
        found = {name.split(".")[0]: record[name] for name in reversed(names[place + 1 : end])}
        status = text(found.get("Status"))
        score = number(found.get("Score"))
        judged = {**row, "model": names[place][1:].split("]")[0], "score": score, "verdict": status}
        yield judged if status in {"PASS", "FAIL"} else {"error": "error" if status else NOT_SCORED}


FORMATS = (
    Format(
        name="promptfoo",
        title="promptfoo results (JSON version 3, JSONL)",
        rows=_rows,
        finish=_finish,
        source="promptfoo 0.117 and later: src/types/index.ts, src/evaluator.ts, src/assertions/constants.ts",
        identity="testCase.vars",
        marks=frozenset({"promptIdx", "testIdx"}),
        records=("results.results", "results"),
        columns=(
            *("failureReason", "error", "success", "vars", "testCase.vars", "testCase.metadata"),
            *("provider.label", "provider.id", "prompt.label"),
            *(f"gradingResult.componentResults.{name}" for name in ("pass", "score", *_ASKED)),
        ),
        people="a component of type human (a thumb in promptfoo's view)",
    ),
    Format(
        name="promptfoo-csv",
        title="promptfoo results (CSV)",
        rows=_cells,
        finish=numbered_answers,
        identity="the columns before the first output",
        source="promptfoo documentation, configuration/outputs",
        marks=frozenset({"[[]*] *", "Status*", "Score*", "Grader Reason*"}),
    ),
)
