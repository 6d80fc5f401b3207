"""Which values of a column mean yes, where the user names them, and what is said of the others."""

from __future__ import annotations

import difflib
import math
import re
import shlex
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from bayesjudge.errors import UsageError
from bayesjudge.readers.column_names import listed_columns
from bayesjudge.readers.parts import Part
from bayesjudge.readers.reading import Reading
from bayesjudge.tables.coding import shown
from bayesjudge.tables.words import read_number

#: Values that a message names.
MOST_NAMED = 5
#: Values that are compared with what was typed: of replies as long as a page there are as many as rows.
_MOST_COMPARED = 200


def means_yes(column: pd.Series[Any], values: Collection[str]) -> pd.Series[Any]:
    """1 for what is one of these values in any spelling, 0 for others, missing for missing.

    Examples
    --------
    >>> means_yes(pd.Series(["Correct", "- [correct].", "Wrong", None]), ["Correct"]).tolist()
    [1.0, 1.0, 0.0, nan]
    >>> means_yes(pd.Series(["A", "A+", "A-"]), ["A"]).tolist()
    [1.0, 0.0, 0.0]
    """
    wanted = _spellings(values)
    return column.map(lambda value: float(_folded(_word(value)) in wanted), na_action="ignore")


def values_said(
    parts: Sequence[Part], reading: Reading, columns: Mapping[str, str] | None, *, options: Sequence[str]
) -> tuple[str, ...]:
    """Which values mean yes and which mean no, with counts, of each option that names some.

    Raises
    ------
    UsageError
        None of the words that are said to mean yes is there; grades that nothing got may be on the scale.
    """
    said = {"verdict": reading.criterion, "label": reading.label_criterion}
    found = []
    for option in options:
        name, values = said[option]
        cells = [cell for part in parts for cell in _cells(part, option, name or option, columns or {})]
        if values and cells:
            counts = Counter(_word(value) for column in cells for value in column.dropna())
            found.append(_said(f"--{option}", name or option, values, counts))
    return tuple(found)


def _cells(part: Part, option: str, name: str, columns: Mapping[str, str]) -> list[pd.Series[Any]]:
    """The columns that an option is about, or the rows of a tool's criterion."""
    frame = part.frame
    if part.tool is None:
        there = list(map(str, frame.columns))
        name = columns.get(option, name)
        names = [name] if name in there else listed_columns(there, name)[0]
        return [column for one in names if isinstance(column := frame.set_axis(there, axis=1)[one], pd.Series)]
    mine = (frame["criterion"] == name).to_numpy() if "criterion" in frame else np.zeros(len(frame), dtype=bool)
    if not mine.any():
        return [frame[name]] if name in frame else []
    held = [frame.loc[mine, one] for one in ("verdict", "score", "label") if one in frame]
    judged = held[0].astype(object)
    for other in held[1:] if option == "label" else []:
        judged = judged.where(judged.notna(), other)
    return [judged]


def _said(option: str, name: str, values: Collection[str], counts: Counter[str]) -> str:
    wanted = _spellings(values)
    yes = {word: n for word, n in counts.most_common() if _folded(word) in wanted}
    no = {word: n for word, n in counts.most_common() if word not in yes}
    if not yes and any(map(_no_number, counts)):
        near = sorted(list(no)[:_MOST_COMPARED], key=lambda word: -_likeness(word, values))
        typed = shlex.quote(f"{name}={near[0]}")
        raise UsageError(
            f"{option} {name}={','.join(sorted(values))}: {name!r} has no such value; it has "
            f"{_counted({word: no[word] for word in near}, len(no))}. Type for instance {option} {typed}"
        )
    return f"values of {name!r} read as yes: {_counted(yes)}; read as no: {_counted(no)}"


def _counted(counts: Mapping[str, int], most: int = 0) -> str:
    """The first values with their counts, and how many others there are."""
    some = ", ".join(f"{shown(word)} {n}" for word, n in list(counts.items())[:MOST_NAMED])
    more = max(most, len(counts)) - MOST_NAMED
    return (some + (f" and {more} other{'s' * (more > 1)}" if more > 0 else "")) or "none"


def _likeness(word: str, values: Collection[str]) -> float:
    folded = _folded(word)[:100]
    return max(difflib.SequenceMatcher(None, folded, _folded(value)[:100]).ratio() for value in values)


def _no_number(word: str) -> bool:
    return math.isinf(read_number(word))


def _spellings(values: Collection[str]) -> frozenset[str]:
    return frozenset(_folded(_word(value)) for value in values)


def _word(value: object) -> str:
    """A value as it is typed: a grade of 2 is 2.0 in a column of numbers that misses some, in a file of text too."""
    return re.sub(r"(?<=\d)\.0+$", "", f"{value:g}" if isinstance(value, float) else str(value))


@lru_cache(maxsize=10_000)
def _folded(word: str) -> str:
    """A word without case, brackets, stops and what else is no part of it; a sign may be one, as in A+ and -1."""
    if not _no_number(word):
        return word
    bare = re.sub(r"^\s*[-\N{EN DASH}\N{BULLET}]\s+", "", word)
    return " ".join(re.sub(r"[^\w\s+\-<>=%$/&]|_", " ", bare).casefold().split()) or word
