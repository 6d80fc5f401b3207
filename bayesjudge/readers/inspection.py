"""What a file is, and which questions it can answer with which command: nothing is counted or fitted."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any, Unpack, cast

import pandas as pd

from bayesjudge.errors import InputError, UsageError
from bayesjudge.readers.battles import read_battles
from bayesjudge.readers.filters import conditions
from bayesjudge.readers.log import named_rows
from bayesjudge.readers.pairs import read_pairs
from bayesjudge.readers.parts import Part, read_parts, summed
from bayesjudge.readers.questions import FURTHER_ANSWERS
from bayesjudge.readers.reading import Choices, Reading
from bayesjudge.readers.recognition import FORMAT, TABLE
from bayesjudge.readers.trials import read_repeats
from bayesjudge.readers.verdicts import read_verdicts
from bayesjudge.tables.coding import distinct_values


@dataclass(frozen=True, kw_only=True)
class QuestionAnswer:
    """Whether a question can be put to a file."""

    possible: bool
    readable: bool
    why: str
    lacks: list[str]
    commands: list[str]


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """What a file holds.

    format, title: The tool's format; ``table`` for a plain table.
    files: ``file``, ``bytes``, ``sha256``, and what was read of each.
    items, answers: Items, and answers of a model to an item (or comparisons).
    """

    format: str
    title: str
    identity: str
    people: str
    files: list[dict[str, Any]]
    records: int
    rows: int
    dropped: dict[str, int]
    items: int
    answers: int
    models: list[str]
    judges: list[str]
    criteria: list[str]
    annotators: list[str]
    labels: int
    shared: int
    questions: dict[str, QuestionAnswer]
    notes: list[str]

    @property
    def usable(self) -> bool:
        """Whether any question can be asked, or could be with what can be added: labels, a threshold, repeats."""
        return self.format != TABLE or any(one.readable or one.commands for one in self.questions.values())

    def to_json(self) -> str:
        """One JSON object; its schema is `inspection_schema`."""
        return json.dumps(asdict(self), ensure_ascii=False)


def inspection_schema() -> dict[str, Any]:
    """The JSON Schema of `Inspection.to_json`."""
    text = (files("bayesjudge.readers") / "inspection.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def inspect_source(
    source: Any, *, columns: Mapping[str, str] | None = None, gold: str | None = None, **choices: Unpack[Choices]
) -> Inspection:
    """Read a file once, with labels from a second one, and try every question's reader on it."""
    parts = read_parts(source, Reading(**choices), taken=(columns or {}).values())
    if gold is not None:
        read_parts(gold)  # what cannot be read is no reason to say that the log lacks something
    name = shlex.quote(str(source)) if isinstance(source, str | Path) else "FILE"
    asks: dict[str, Callable[..., _Asked]] = {**_QUESTIONS, "accuracy": partial(_accuracy, gold=gold)}
    labelled = {"accuracy": f" --gold {shlex.quote(gold)}"} if gold else {}
    asked = {
        key: _asked(
            f"bayesjudge {key} {name}{typed_options(columns, choices if key == 'accuracy' else _of_rows(choices))}"
            f"{labelled.get(key, '')}",
            partial(ask, parts, columns, choices),
        )
        for key, ask in asks.items()
    }
    tables = [table for _, found in asked.values() for table in found]
    frames = [part.frame for part in parts] if parts[0].tool else [table.frame for table in tables[:1]]
    frame = pd.concat(frames or [named_rows(part, columns) for part in parts])
    tool = parts[0].tool
    notes = [note for part in parts for note in part.notes]
    notes += [] if tool else [text for table in tables[:1] for text in table.warnings]
    read = [part.rows for part in parts if part.rows]
    return Inspection(
        format=tool.name if tool else TABLE,
        title=tool.title if tool else "a table",
        identity=tool.identity if tool else "column item, or one of its other names",
        people=tool.people if tool else "columns label, human and other names of people",
        files=[dict(part.origin) or {"file": part.name} for part in parts],
        records=sum(part.rows.records if part.rows else len(part.frame) for part in parts),
        rows=sum(len(part.frame) for part in parts),
        dropped=summed([rows.dropped for rows in read] or [table.dropped for table in tables[:1]]),
        questions={key: answer for key, (answer, _) in asked.items()},
        notes=list(dict.fromkeys(notes)),
        **{**_named(frame), **(_labelled(asked["accuracy"][1]) if gold else {})},
    )


def _named(frame: pd.DataFrame) -> dict[str, Any]:
    """Items, answers and everybody's names."""
    models = [name for name in ("model", "model_a", "model_b") if name in frame]
    items = [name for name in ("question", "item") if name in frame][:1]
    answers = frame[[*items, *models]].astype("str").drop_duplicates() if items else frame.iloc[:0]
    marks = [frame[name].notna() for name in ("label", "human", "human_prefers") if name in frame]
    per_item = answers.groupby(items[0])["model"].nunique() if models == ["model"] and items else pd.Series()
    every = _names(frame, *models)
    return {
        "items": len(_names(frame, *items)),
        "answers": len(answers),
        "models": every,
        "judges": _names(frame, "judge"),
        "criteria": _names(frame, "criterion"),
        "annotators": _names(frame, "annotator", "voter"),
        "labels": int(sum(mark.sum() for mark in marks)),
        "shared": int((per_item == len(every)).sum()) if len(every) > 1 else 0,
    }


def _labelled(tables: Sequence[Any]) -> dict[str, int]:
    """How many verdicts have a label, where labels came from a second file."""
    return {"labels": int(sum(table.frame["label"].notna().sum() for table in tables))}


def _names(frame: pd.DataFrame, *columns: str) -> list[str]:
    found = {str(name) for column in columns if column in frame for name in distinct_values(frame[column])[1]}
    return sorted(found)


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """What a question found: its tables, what they hold, what they lack, and what to add to its command."""

    tables: Sequence[Any]
    why: str
    lacks: str = ""
    options: str = ""


#: What the file to fill in is called.
_TO_LABEL = "to_label.csv"


def _asked(command: str, ask: Callable[[], _Asked]) -> tuple[QuestionAnswer, Sequence[Any]]:
    """Whether the question can be asked, and the tables that it would be asked of."""
    try:
        found = ask()
    except (InputError, UsageError) as error:
        why, *_ = str(error).splitlines()
        problems = [] if isinstance(error, UsageError) else [one for one in error.problems if one.column != FORMAT]
        lacks = [error.lacks] if isinstance(error, UsageError) else [one.allowed for one in problems]
        commands = [f"{command} {option}" for option in error.options]
        lost = list(dict.fromkeys(filter(None, lacks)))
        return QuestionAnswer(possible=False, readable=False, why=why, lacks=lost, commands=commands), []
    lost = [found.lacks] if found.lacks else []
    commands = [command + found.options] if found.options or not lost else []
    if _TO_LABEL in found.options:
        # A file to fill in is written first.
        commands.insert(0, f"{command.replace('bayesjudge', 'bayesjudge next', 1)} --out {_TO_LABEL}")
    answer = QuestionAnswer(possible=not lost, readable=True, why=found.why, lacks=lost, commands=commands)
    return answer, found.tables


def typed_options(columns: Mapping[str, str] | None, choices: Choices) -> str:
    """What was typed of how to read the file, as a command has it."""
    pairs = {"column": columns or {}, "set": choices.get("put") or {}}
    given = [(option, f"{name}={value}") for option, each in pairs.items() for name, value in each.items()]
    given += [("where", text) for one in conditions(choices.get("where")) for text in one.typed]
    others = {name: value for name, value in choices.items() if name not in {"put", "where"} and value is not None}
    given += [(name, str(value)) for name, value in others.items()]
    return "".join(f" --{option} {shlex.quote(value)}" for option, value in given)


def _accuracy(parts: list[Part], columns: Any, choices: Choices, *, gold: str | None = None) -> _Asked:
    table = read_verdicts(parts, columns=columns, labels=gold, **choices)
    labels = int(table.frame["label"].notna().sum())
    why = f"{len(table)} verdicts, {labels} of them on answers with a label"
    if labels:
        return _Asked(tables=[table], why=why)
    needed = "385 of each model's answers give ± .05 however the judge errs, fewer where it is good"
    lacks = f"people's labels on some answers: {needed}"
    return _Asked(tables=[table], why=why, lacks=lacks, options="" if gold else f" --gold {_TO_LABEL}")


def _elo(parts: list[Part], columns: Any, choices: Choices) -> _Asked:
    table = read_battles(parts, columns=columns, **_of_rows(choices))
    votes = int(table.frame["human"].notna().sum())
    return _Asked(tables=[table], why=f"{len(table)} comparisons, {votes} with a person's vote")


def _reliability(parts: list[Part], columns: Any, choices: Choices) -> _Asked:
    tables = [table for table in read_repeats(parts, columns=columns, **_of_rows(choices)) if table is not None]
    counts = [
        table.frame.groupby([name for name in ("item", "judge", "response") if name in table.frame]).size()
        for table in tables
    ]
    again = max((int((count > 1).sum()) for count in counts), default=0)
    further = any(FURTHER_ANSWERS in table.warnings for table in tables)
    lacks = "a second judgement of any item by one judge" + (f"; {FURTHER_ANSWERS}" if further else "")
    why = f"{again or 'no'} items judged more than once"
    return _Asked(tables=tables, why=why, lacks="" if again else lacks)


def _audit(parts: list[Part], columns: Any, choices: Choices) -> _Asked:
    table = read_pairs(parts, columns=columns, **_of_rows(choices))
    known = int(table.frame["human_prefers"].notna().sum())
    why = f"{len(table.frame)} decisions, {known} with what people preferred"
    items = "" if known else " --items ITEMS.csv   # item, human_prefers"
    return _Asked(tables=[table], why=why, lacks="" if known else "what people preferred", options=items)


def _of_rows(choices: Choices) -> Choices:
    """The choices that are not about verdicts on single answers."""
    kept = {key: value for key, value in choices.items() if key in {"format", "put", "where", "items", "wide"}}
    return cast("Choices", kept)


_QUESTIONS = {"accuracy": _accuracy, "elo": _elo, "reliability": _reliability, "audit": _audit}
