"""What a file is, and which questions it can answer with which command: nothing is counted or fitted."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any, Unpack, cast

import pandas as pd

from bayesjudge.errors import InputError, UsageError
from bayesjudge.readers.battles import read_battles
from bayesjudge.readers.pairs import read_pairs
from bayesjudge.readers.parts import Part, read_parts, unread
from bayesjudge.readers.reading import Choices, Reading
from bayesjudge.readers.trials import read_repeats
from bayesjudge.readers.verdicts import read_verdicts


@dataclass(frozen=True, kw_only=True)
class QuestionAnswer:
    """Whether a question can be put to a file.

    Parameters
    ----------
    possible : bool
        Whether the command gives an answer.
    why : str
        What it would be of, or why there is none.
    commands : list of str
        What to type.
    """

    possible: bool
    why: str
    commands: list[str]


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """What a file holds.

    Parameters
    ----------
    format, title : str
        The tool's format; ``table`` for a plain table.
    identity, people : str
        What an item is, and what marks a person's judgement.
    files : list of dict
        ``name``, and of files ``size`` and ``sha256``.
    records, rows : int
        Read, and judgements made of them.
    dropped : dict of str to int
        Reason to number of records or rows that cannot be used.
    items, answers : int
        Items, and answers of a model to an item (or comparisons).
    models, judges, criteria, annotators : list of str
        Names, in order.
    labels : int
        Rows with a person's mark or vote.
    shared : int
        Items that every model answered.
    questions : dict
        By question, see `QuestionAnswer`.
    notes : list of str
        What was assumed.
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
    def possible(self) -> bool:
        """Whether any question can be asked."""
        return any(question.possible for question in self.questions.values())

    def to_json(self) -> str:
        """One JSON object; its schema is `inspection_schema`."""
        return json.dumps(asdict(self), ensure_ascii=False)


def inspection_schema() -> dict[str, Any]:
    """The JSON Schema of `Inspection.to_json`."""
    text = (files("bayesjudge.readers") / "inspection.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def inspect_source(source: Any, *, columns: Mapping[str, str] | None = None, **choices: Unpack[Choices]) -> Inspection:
    """Read a file once and ask every question's reader of it.

    Raises
    ------
    InputError, UsageError
        A file that cannot be read at all.

    Examples
    --------
    >>> found = inspect_source(pd.DataFrame({"item": [1, 2], "verdict": [1, 0], "human": [1, None]}))
    >>> found.items, found.labels, found.questions["accuracy"].possible, found.questions["elo"].possible
    (2, 1, True, False)
    """
    parts = read_parts(source, Reading(**choices), taken=(columns or {}).values())
    name = shlex.quote(str(source)) if isinstance(source, str | Path) else "FILE"
    asked = {
        key: _asked(f"bayesjudge {key} {name}", partial(ask, parts, columns, choices))
        for key, ask in _QUESTIONS.items()
    }
    tables = [table for _, found in asked.values() for table in found]
    frames = [part.frame for part in parts] if parts[0].tool else [table.frame for table in tables[:1]]
    frame = pd.concat(frames) if frames else pd.DataFrame()
    tool = parts[0].tool
    notes = [note for part in parts for note in part.notes]
    notes += [] if tool else [text for table in tables[:1] for text in table.warnings]
    counted = unread(parts) if tool else {key: n for table in tables[:1] for key, n in table.dropped.items()}
    return Inspection(
        format=tool.name if tool else "table",
        title=tool.title if tool else "a table",
        identity=tool.identity if tool else "column item, or one of its other names",
        people=tool.people if tool else "columns label, human and other names of people",
        files=[_file(part) for part in parts],
        records=sum(part.rows.records if part.rows else len(part.frame) for part in parts),
        rows=sum(len(part.frame) for part in parts),
        dropped=counted,
        questions={key: answer for key, (answer, _) in asked.items()},
        notes=list(dict.fromkeys(notes)),
        **_named(frame),
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


def _names(frame: pd.DataFrame, *columns: str) -> list[str]:
    found = {str(name) for column in columns if column in frame for name in frame[column].dropna().unique()}
    return sorted(found)


def _file(part: Part) -> dict[str, Any]:
    path = Path(part.name)
    if not path.is_file():
        return {"name": part.name}
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return {"name": part.name, "size": path.stat().st_size, "sha256": digest}


#: What the file to fill in is called.
_TO_LABEL = "to_label.csv"

type _Answer = tuple[bool, str, str, list[Any]]


def _asked(command: str, ask: Callable[[], _Answer]) -> tuple[QuestionAnswer, list[Any]]:
    """Whether the question can be asked, and the tables that it would be asked of."""
    try:
        possible, why, options, tables = ask()
    except (InputError, UsageError) as error:
        return QuestionAnswer(possible=False, why=str(error).splitlines()[0], commands=[]), []
    first = [f"{command.replace('bayesjudge', 'bayesjudge next', 1)} --out {_TO_LABEL}"] if _TO_LABEL in options else []
    return QuestionAnswer(possible=possible, why=why, commands=[*first, command + options]), tables


def _accuracy(parts: list[Part], columns: Any, choices: Choices) -> _Answer:
    table = read_verdicts(parts, columns=columns, **choices)
    labels = int(table.frame["label"].notna().sum())
    if labels:
        return True, f"{len(table)} verdicts, {labels} of them on answers with a label", "", [table]
    why = "after some labels: 385 of each model's answers give ± .05 however the judge errs, fewer where it is good"
    return False, why, f" --gold {_TO_LABEL}", [table]


def _elo(parts: list[Part], columns: Any, choices: Choices) -> _Answer:
    table = read_battles(parts, columns=columns, **_of_rows(choices))
    votes = int(table.frame["human"].notna().sum())
    return True, f"{len(table)} comparisons, {votes} with a person's vote", "", [table]


def _reliability(parts: list[Part], columns: Any, choices: Choices) -> _Answer:
    tables = [table for table in read_repeats(parts, columns=columns, **_of_rows(choices)) if table is not None]
    counts = [
        table.frame.groupby([name for name in ("item", "judge", "response") if name in table.frame]).size()
        for table in tables
    ]
    again = max((int((count > 1).sum()) for count in counts), default=0)
    why = f"{again} items judged more than once" if again else "every item was judged once"
    return again > 0, why, "", tables


def _audit(parts: list[Part], columns: Any, choices: Choices) -> _Answer:
    table = read_pairs(parts, columns=columns, **_of_rows(choices))
    known = int(table.frame["human_prefers"].notna().sum())
    why = f"{len(table.frame)} decisions, {known} with what people preferred"
    return known > 0, why if known else "no decision with what people preferred", "", [table]


def _of_rows(choices: Choices) -> Choices:
    """The choices that are not about verdicts on single answers."""
    kept = {key: value for key, value in choices.items() if key in {"format", "put", "where"}}
    return cast("Choices", kept)


_QUESTIONS = {"accuracy": _accuracy, "elo": _elo, "reliability": _reliability, "audit": _audit}
