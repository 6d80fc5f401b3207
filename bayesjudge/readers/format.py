"""What a tool's file is: how it is recognised, and how one of its records becomes rows under our names.

A format is a `Format` in a file of `bayesjudge.readers.formats`, or of another package that names it in the
entry point group ``bayesjudge.readers``. Its function ``rows`` takes one record and gives dictionaries with
these keys, those that it knows, and the record's own scalars under their names:

``item, answer, model`` (or ``model_a, model_b``), ``judge, criterion, verdict, score, prob_a, score_a,
score_b, score_gap, threshold, order, trial, human`` (a person's vote) or ``label`` (a person's mark),
``annotator, language, category, length_a, length_b, time``. A row with ``error`` alone says why a record, or
one judgement of it, cannot be used; a record without rows was not scored. What no row has a value of is no column.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pandas as pd

#: What stands between two models in a file's name.
_VERSUS = re.compile(r"[-_. ]+(?:vs|versus)[-_. ]+", re.IGNORECASE)

type Record = Mapping[str, Any]
type Row = dict[str, Any]

#: Why a record, or a judgement of it, gives no row where nothing more is known.
NOT_SCORED = "not scored"
#: What rows have as judge where none judged, but a reference answer, code, or an answer that is known to be right.
BY_REFERENCE, BY_CODE, BY_ASSERTIONS, BY_GOLD = "reference", "code", "assertions", "gold preference"
NO_JUDGES = frozenset({BY_REFERENCE, BY_CODE, BY_ASSERTIONS, BY_GOLD})
#: Names that a row gives a meaning; all others are metadata.
ROW_NAMES = (
    "item",
    "answer",
    "model",
    "model_a",
    "model_b",
    "judge",
    "criterion",
    "verdict",
    "score",
    "prob_a",
    "score_a",
    "score_b",
    "score_gap",
    "threshold",
    "order",
    "trial",
    "human",
    "label",
    "annotator",
    "language",
    "category",
    "length_a",
    "length_b",
    "time",
    "error",
)


@dataclass(frozen=True, eq=False, kw_only=True)
class File:
    """Where records come from.

    taken: Our names that the user gives columns or values, whatever the format has for them.
    """

    name: str
    header: dict[str, Any] = field(default_factory=dict)
    taken: frozenset[str] = frozenset()
    notes: dict[str, None] = field(default_factory=dict)

    def note(self, text: str) -> None:
        """Say something once of the whole file."""
        self.notes[text] = None

    @property
    def path(self) -> Path:
        """Of the file; of no file where a name represents a table."""
        return Path(self.name)

    @property
    def stem(self) -> str:
        """The file's name without its endings."""
        return self.path.name.removesuffix(".gz").rpartition(".")[0] or self.path.name

    @property
    def folder(self) -> str:
        """The name of the folder that holds the file."""
        return self.path.absolute().parent.name

    @property
    def names(self) -> dict[str, str]:
        """What names in braces represent; ``folder.2`` is the folder above, ``file.1`` and ``file.2`` are sides.

        Examples
        --------
        >>> File(name="/logs/night/gpt-4-vs-claude.jsonl").names
        {'file': 'gpt-4-vs-claude', 'folder': 'night', 'folder.2': 'logs', 'file.1': 'gpt-4', 'file.2': 'claude'}
        """
        above = [one.name for one in self.path.absolute().parents if one.name]
        folders = {f"folder.{place}": name for place, name in enumerate(above[1:], start=2)}
        sides = _VERSUS.split(self.stem)
        of_sides = {f"file.{place}": name for place, name in enumerate(sides, start=1)} if len(sides) == 2 else {}
        return {"file": self.stem, "folder": self.folder, **folders, **of_sides}

    def beside(self, pattern: str) -> Any:
        """The content of the one JSON file of this name in the same folder; None where there is none."""
        if pattern not in self.header:
            self.header[pattern] = self._beside(pattern)
        return self.header[pattern]

    def _beside(self, pattern: str) -> Any:
        found = sorted(self.path.parent.glob(pattern)) if self.path.is_file() else []
        if len(found) != 1 or found[0].stat().st_size > 1 << 26:
            return None
        try:
            return json.loads(found[0].read_text(encoding="utf-8"))
        except (ValueError, RecursionError):
            return None


def judged(row: Row, criterion: str | None, value: float | str | None, *, judge: str | None = None) -> Row:
    """The row of a judge's number or word, or why there is none; a judge without a name has the criterion's."""
    if value is None:
        return {"error": NOT_SCORED}
    kind = "verdict" if isinstance(value, str) else "score"
    return {**row, "criterion": criterion, "judge": judge or criterion, kind: value}


def marked(row: Row, criterion: str | None, value: Any, who: str | None) -> Row:
    """The row of a person's mark, or why there is none."""
    if value is None:
        return {"error": NOT_SCORED}
    return {**row, "criterion": criterion, "label": value, "annotator": who or "a person"}


def of_kind(row: Row, criterion: str | None, value: Any, who: str | None, *, kind: str, file: File) -> Row:
    """The row of a person's mark (kind ``HUMAN``), of what code computed (``CODE``), or of a judge's."""
    if kind == "CODE":
        file.note(f"{criterion!r} was computed by code, no judge")
        who = BY_CODE
    return marked(row, criterion, value, who) if kind == "HUMAN" else judged(row, criterion, value, judge=who)


@dataclass(frozen=True, kw_only=True)
class Format:
    """One tool's way to write its results.

    name, title: A short name for ``--format``, and one for people.
    marks: Keys that one record among the first has, all of them; ``*`` represents any text.
    records: Where records lie in an enclosing object: ``"results.results"``; one place after another is tried.
    columns: The only columns read of Parquet, with ``*`` as in marks, and, where no name has one, the only keys of
        JSON Lines, of which ``"prompt.label"`` is one inside an object or a list of them; all where empty.
    cluster: The name that its rows give to what several items belong to, where they do.
    grades: Whether scores are people's grades where the file is given as labels.
    """

    name: str
    title: str
    source: str
    rows: Callable[[Record, File], Iterable[Row]]
    marks: frozenset[str]
    identity: str
    people: str = "none"
    without: frozenset[str] = frozenset()
    records: tuple[str, ...] = ()
    preamble: frozenset[str] = frozenset()
    columns: tuple[str, ...] = ()
    fits: Callable[[Sequence[Record]], bool] = lambda _: True
    finish: Callable[[pd.DataFrame], pd.DataFrame] = lambda frame: frame
    cluster: str | None = None
    grades: bool = False

    def lacks(self, keys: Iterable[str]) -> list[str]:
        """Marks that are not among these keys, in order of name."""
        found = set(map(str, keys))
        return sorted(
            mark
            for mark in self.marks
            if mark not in found and not ("*" in mark and any(fnmatchcase(key, mark) for key in found))
        )

    def recognises(self, first: Sequence[Record]) -> bool:
        """Whether these are this format's records, by the keys of some of them."""
        keys = {str(key) for record in first for key in record}
        if self.without & keys or self.lacks(keys):
            return False
        return any(not self.lacks(record) for record in first) and self.fits(first)
