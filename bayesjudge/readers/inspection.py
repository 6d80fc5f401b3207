"""What a file is, and which questions it can answer with which command: nothing is counted or fitted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Any, Unpack

import numpy as np
import pandas as pd

from bayesjudge.errors import InputError
from bayesjudge.readers.aliases import BATTLE_ALIASES, PAIR_ALIASES, TRIAL_ALIASES, VERDICT_ALIASES, Aliases
from bayesjudge.readers.asking import QuestionAnswer, ask_each
from bayesjudge.readers.column_names import means_any
from bayesjudge.readers.log import named_rows
from bayesjudge.readers.parts import Part, read_parts, said_once, summed
from bayesjudge.readers.reading import Choices, Reading
from bayesjudge.readers.recognition import TABLE, complete_but_one
from bayesjudge.tables.coding import distinct_values

#: Columns, or keys within one, that a note names.
MOST_NAMED = 8

#: How reasons begin that are of rows of a second file of labels.
_LABELS = "labels table: "
_MODELS = ["model", *VERDICT_ALIASES["model"][0]]
#: What a table's items are called where no column is.
_ANY_ITEM = "column item, or one of its other names"
#: The names of columns of each question, and where none can be asked.
_ALIASES = {
    "accuracy": VERDICT_ALIASES,
    "elo": BATTLE_ALIASES,
    "reliability": TRIAL_ALIASES,
    "audit": PAIR_ALIASES,
    "": VERDICT_ALIASES,
}


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
    source: Any, *, columns: Mapping[str, str] | None = None, gold: Sequence[str] = (), **choices: Unpack[Choices]
) -> Inspection:
    """Read a file once, with labels from others, and try every question's reader on it."""
    parts = read_parts(source, Reading(**choices), taken=columns)
    asked = ask_each(source, columns=columns, gold=gold, choices=choices, parts=parts)
    # Repeated verdicts last: they leave out what people said.
    ordered = sorted(asked.items(), key=lambda one: one[0] == "reliability")
    tables = [table for _, (_, found) in ordered for table in found]
    frames = [part.frame for part in parts] if parts[0].tool else [table.frame for table in tables[:1]]
    frame = pd.concat(frames or [named_rows(part, columns) for part in parts])
    tool = parts[0].tool
    kind = next((key for key, (_, found) in ordered if found), "elo" if {"model_a", "model_b"} <= {*frame} else "")
    identity, decided = (tool.identity, True) if tool else _items_of(parts[0], columns, _ALIASES[kind])
    frame = frame if decided or tables else frame.drop(columns="item", errors="ignore")
    if not tool and "model" not in frame and means_any(map(str, parts[0].frame.columns), _MODELS):
        # Scores repeated by one judge are of responses, which models' are known by the model.
        frame = frame.rename(columns={"response": "model"})
    notes = list(said_once([(part, part.notes) for part in parts]))
    notes += [] if tool else [text for table in tables[:1] for text in table.warnings]
    if not (tool or any(answer.readable for answer, _ in asked.values())):
        offered = any(answer.commands for answer, _ in asked.values())
        # Where no column has a name of verdicts or labels, what is offered is a guess.
        near = () if offered and {"verdict", "label"} & {*frame} else parts[0].near
        notes[:0] = [*([] if offered else [_columns_of(parts[0].frame)]), *(one.found for one in near)]
    elif not (tool or any(answer.possible for answer, _ in asked.values())):
        lacks = [one for answer, _ in asked.values() for one in answer.lacks]
        notes[:0] = complete_but_one(map(str, parts[0].frame.columns), lacks)
    read = [part.rows for part in parts if part.rows]
    lost = summed([rows.dropped for rows in read] or [table.dropped for table in tables[:1]])
    # What is wrong with the labels' own rows is no row of the log.
    of_labels = {
        reason: n for table in asked["accuracy"][1] for reason, n in table.dropped.items() if _LABELS in reason
    }
    notes[:0] = [f"left out of the {reason}: {n}" for reason, n in of_labels.items()]
    # Of labels from a second file, how many verdicts have one.
    labels = {"labels": int(sum(table.frame["label"].notna().sum() for table in asked["accuracy"][1]))} if gold else {}
    return Inspection(
        format=tool.name if tool else TABLE,
        title=tool.title if tool else "a table",
        identity=identity,
        people=tool.people if tool else "columns label, human and other names of people",
        files=[dict(part.origin) or {"file": part.name} for part in parts],
        records=sum(part.rows.records if part.rows else len(part.frame) for part in parts),
        rows=sum(len(part.frame) for part in parts),
        dropped={reason: n for reason, n in lost.items() if _LABELS not in reason},
        questions={key: answer for key, (answer, _) in asked.items()},
        notes=list(dict.fromkeys(notes)),
        **{**_named(frame, of_pairs=bool(tool) or kind == "audit"), **labels},
    )


def _items_of(part: Part, columns: Mapping[str, str] | None, aliases: Aliases) -> tuple[str, bool]:
    """What the items' column is called in a plain table, and whether that is decided."""
    try:
        name = part.recognised(columns, aliases)[0].get("item", "item")
    except InputError as error:
        several = [problem.found for problem in error.problems if problem.column == "item"]
        return (several[0], False) if several else (_ANY_ITEM, True)
    return (f"column {name}" if name in map(str, part.frame.columns) else _ANY_ITEM), True


def _columns_of(frame: pd.DataFrame) -> str:
    """What a table holds from which nothing can be answered: its columns, and what lies in those that are no values.

    Examples
    --------
    >>> _columns_of(pd.DataFrame({"id": [1], "claims": [[{"text": "x", "right": True}]]}))
    "columns are 'id' and 'claims' (lists of objects with 'text', 'right')"
    """
    names = [f"{name!r}{_within(name, frame[name])}" for name in dict.fromkeys(frame.columns)]
    more = [f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
    if not names:
        return "no record has a key"
    *first, last = [*names[:MOST_NAMED], *more]
    return f"columns are {', '.join(first)} and {last}" if first else f"the only column is {last}"


def _within(name: object, column: pd.Series[Any] | pd.DataFrame) -> str:
    first = next((cell for cell in np.ravel(column.to_numpy()) if isinstance(cell, list | dict) and cell), None)
    if first is None:
        return ""
    inner = first[0] if isinstance(first, list) else first
    kind = "lists" if isinstance(first, list) else "objects"
    if not isinstance(inner, dict):
        return f" (lists, the first value of each {f'{name}.1'!r})" if kind == "lists" else f" ({kind})"
    keys = ", ".join(map(repr, list(inner)[:MOST_NAMED]))
    return f" ({kind if kind == 'objects' else 'lists of objects'} with {keys})"


def _named(frame: pd.DataFrame, *, of_pairs: bool) -> dict[str, Any]:
    """Items, answers and everybody's names.

    of_pairs: A column ``question`` is ours, of which pairs or several answers are; in other tables it may be a text.
    """
    models = [name for name in ("model", "model_a", "model_b") if name in frame]
    items = [name for name in (("question", "item") if of_pairs else ("item",)) if name in frame][:1]
    # By number, since the names of many items would be as much again as the rows.
    codes = pd.DataFrame({name: pd.factorize(frame[name].astype("str"))[0] for name in (*items, *models)})
    answers = codes.drop_duplicates() if items else codes.iloc[:0]
    known = answers[(answers >= 0).all(axis=1)]
    marks = [frame[name].notna() for name in ("label", "human", "human_prefers") if name in frame]
    per_item = known.groupby(items[0])["model"].nunique() if models == ["model"] and items else pd.Series()
    every = _names(frame, *models)
    return {
        "items": int(codes[items[0]].to_numpy().max(initial=-1)) + 1 if items else 0,
        "answers": len(answers),
        "models": every,
        "judges": _names(frame, "judge"),
        "criteria": _names(frame, "criterion"),
        "annotators": _names(frame, "annotator", "voter"),
        "labels": int(sum(mark.sum() for mark in marks)),
        "shared": int((per_item == len(every)).sum()) if len(every) > 1 else 0,
    }


def _names(frame: pd.DataFrame, *columns: str) -> list[str]:
    found = {str(name) for column in columns if column in frame for name in distinct_values(frame[column])[1]}
    return sorted(found)
