"""Which values of a column mean yes, where the user names them, and what is said of the others."""

from __future__ import annotations

import difflib
import itertools
import math
import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.errors import UsageError
from bayesjudge.readers.column_names import listed_columns
from bayesjudge.readers.parts import Part
from bayesjudge.readers.reading import Reading
from bayesjudge.readers.wide import Wide
from bayesjudge.tables.coding import MISSING, UNKNOWN, code_binary, distinct_values, shown
from bayesjudge.tables.words import SENTINELS, UNDECIDED, code_numbers, read_number

#: Values that a message names.
MOST_NAMED = 5
#: Values that are compared with what was typed: of replies as long as a page there are as many as rows.
_MOST_COMPARED = 200
#: Characters of the longest word that may state that nothing was decided.
_LONGEST = 40
#: Numbers from here on may be names, which no rounding may make equal.
_MOST_EXACT = 1e15


def means_yes(column: pd.Series[Any], values: Collection[str]) -> pd.Series[Any]:
    """1 for what is one of these values in any spelling, 0 for others, missing for missing.

    Examples
    --------
    >>> means_yes(pd.Series(["Correct", "- [correct].", "Wrong", None]), ["Correct"]).tolist()
    [1.0, 1.0, 0.0, nan]
    >>> means_yes(pd.Series(["A", "A+", "A-"]), ["A"]).tolist()
    [1.0, 0.0, 0.0]
    >>> means_yes(pd.Series(["0.50", "0.6666666667", "1"]), ["0.5", "0.666667"]).tolist()
    [1.0, 1.0, 0.0]
    """
    wanted = _spellings(values)
    return column.map(lambda value: float(_folded(_word(value)) in wanted), na_action="ignore")


def decided(
    column: pd.Series[Any], name: str, values: Collection[str] = (), *, among: Iterable[Any] = ()
) -> tuple[pd.Series[Any], tuple[str, ...]]:
    """A column of verdicts or labels in which values that decide nothing are missing, and what is said of them.

    values: Words that the user says mean yes, which decide; without any, others than numbers and yes and no stay.
    among: Values that the column has in other files.

    Examples
    --------
    >>> column, said = decided(pd.Series(["yes", "no", "unsure", "-1", None]), "x")
    >>> column.tolist(), said
    (['yes', 'no', None, None, nan], ("2 of 4 values of 'x' are no decision, count as missing: 'unsure' 1, '-1' 1",))
    """
    lost = undecided(column, values, among=among)
    rest = column[~lost]
    understood = (code_binary(rest) >= MISSING).all() or (code_numbers(rest)[0] >= MISSING).all()
    if not lost.any() or not (values or understood):
        return column, ()
    counts = Counter(map(_word, column[lost]))
    said = f"{lost.sum()} of {column.notna().sum()} values of {name!r} are no decision, count as missing"
    return column.astype(object).mask(lost, None), (f"{said}: {_counted(dict(counts.most_common()))}",)


def undecided(column: pd.Series[Any], values: Collection[str] = (), *, among: Iterable[Any] = ()) -> NDArray[np.bool_]:
    """The rows with a word, or a number next to 0 and 1 or to words, that decides nothing where two others do.

    Examples
    --------
    >>> undecided(pd.Series(["good", "bad", "can't tell", "-1"])).tolist()
    [False, False, True, True]
    """
    codes, distinct = distinct_values(column)
    words, every = list(map(_word, distinct)), [*distinct, *among]
    kinds = dict(zip(map(_word, every), code_binary(pd.Series(every, dtype=object)).tolist(), strict=True))
    wanted, known = _spellings(values), _spellings(UNDECIDED)
    free = {word for word in kinds if len(word) <= _LONGEST and _folded(word) not in wanted}
    rest = {word for word, code in kinds.items() if code != MISSING}
    silent = {word for word in free & rest if kinds[word] == UNKNOWN and _folded(word) in known}
    # What denies another word, or is part of it, decides too: invalid next to valid, error next to no error.
    silent -= {word for word in silent if _answers(word, rest - silent)}
    rest -= silent
    numbers = {word for word in rest & free if read_number(word) in SENTINELS}
    if all(_no_number(word) or kinds[word] >= 0 for word in rest - numbers) and _several(rest - numbers, kinds):
        silent, rest = silent | numbers, rest - numbers
    lost = [word in silent and _several(rest, kinds) for word in words]
    return np.array([*lost, False])[codes]


def only_decisions(
    frame: pd.DataFrame,
    reading: Reading,
    columns: Mapping[str, str],
    *,
    among: Callable[[str], Iterable[Any]] | None = None,
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The table with verdicts and labels that decide nothing as missing; a threshold decides on numbers.

    columns: Those of labels, and ``verdict``, to the file's names of them.
    among: A column's values in all files of a log, as one of few rows may lack what others have.
    """
    notes: tuple[str, ...] = ()
    for ours, theirs in columns.items():
        values = (reading.criterion if ours == "verdict" else reading.label_criterion)[1]
        cut = reading.threshold is not None if ours == "verdict" else reading.of_labels is not reading
        if ours in frame and (values or not cut):
            found, said = decided(frame[ours], theirs, values, among=among(theirs) if among else ())
            frame, notes = frame.assign(**{ours: found}), notes + said
    return frame, notes


def values_among(files: Sequence[Part], name: str) -> list[Any]:
    """The values of a column in all of several files, once each, but for long texts.

    Examples
    --------
    >>> files = [Part(name=str(k), frame=pd.DataFrame({"x": ["yes", "no" * 30, k // 2]})) for k in range(3)]
    >>> values_among(files, "x")
    ['yes', 0, 1]
    """
    columns = [part.frame[name] for part in files if len(files) > 1 and name in part.frame]
    values = itertools.chain(*(distinct_values(one)[1] for one in columns if isinstance(one, pd.Series)))
    few = (value for value in values if not isinstance(value, str) or len(value) <= _LONGEST)
    # Of many files nearly all have the same values, which each of them is compared with.
    return [*{(type(value), _word(value)): value for value in few}.values()]


def denies(word: str, others: Collection[str]) -> bool:
    """Whether a word is the contrary of another, or says not.

    Examples
    --------
    >>> denies("not covered", ["fully covered"]), denies("Invalid", ["valid"]), denies("unit", ["valid"])
    (True, True, False)
    >>> denies("N", ["Y"])
    True
    """
    says = _folded(word)
    return says == "n" or says.startswith(("not ", "no ")) or _contrary(says) in set(map(_folded, others)) - {says}


def _contrary(word: str) -> str:
    return re.sub(r"^(not |no |non[ -]?|un|in|im|ir|il|dis|mis)", "", word)


def _several(words: Collection[str], kinds: Mapping[str, int]) -> bool:
    """Whether words are of two kinds, all that mean yes being one, and all that mean no."""
    return len({kinds[word] if kinds[word] >= 0 else _folded(word) for word in words}) > 1


def _answers(word: str, others: Collection[str]) -> bool:
    says, near = _folded(word), [_folded(one) for one in others if len(one) <= _LONGEST]
    return _contrary(says) in {*near} - {says} or any(f" {says} " in f" {one} " for one in near)


def values_said(
    parts: Sequence[Part], reading: Reading, columns: Mapping[str, str] | None, *, options: Sequence[str]
) -> tuple[str, ...]:
    """Which values mean yes and which mean no, with counts, of each option that names some.

    Words of which none is there are refused; grades that nothing got may be on the scale.
    """
    said = {"verdict": reading.criterion, "label": reading.label_criterion}
    found = []
    for option in options:
        name, values = said[option]
        if not values:
            continue
        whole = [_folded_again(part, reading) for part in parts] if option == "label" else parts
        cells = [cell for part in whole for cell in _cells(part, option, name or option, columns or {})]
        if cells:
            every = list(itertools.chain(*(distinct_values(column)[1] for column in cells)))
            sure = [decided(column, name or option, values, among=every)[0] for column in cells]
            counts = Counter(_word(value) for column in sure for value in column.dropna())
            found.append(_said(f"--{option}", name or option, values, counts))
    return tuple(found)


def _folded_again(part: Part, reading: Reading) -> Part:
    """A wide table with a row of the file once, whose labels stand next to each of its verdicts."""
    frame, names = part.frame, "" if reading.wide is None else Wide.parsed(reading.wide).names
    if names not in frame:
        return part
    # A list in a row of the file has made rows of one place.
    place = frame.index.to_frame().assign(nth=frame.groupby([frame.index, frame[names]]).cumcount())
    return replace(part, frame=frame[~place.duplicated().to_numpy()])


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
    # Whole numbers of thousands of digits have no decimals.
    word = hex(value) if isinstance(value, int) and value.bit_length() > 64 else str(value)
    return re.sub(r"(?<=\d)\.0+$", "", f"{value:g}" if isinstance(value, float) else word)


@lru_cache(maxsize=10_000)
def _folded(word: str) -> str:
    """A word without case, brackets, stops and what else is no part of it; a sign may be one, as in A+ and -1."""
    if not _no_number(word):
        return _figures(word)
    bare = re.sub(r"^\s*[-\N{EN DASH}\N{BULLET}]\s+", "", word)
    return " ".join(re.sub(r"[^\w\s+\-<>=%$/&]|_", " ", bare).casefold().split()) or word


def _figures(word: str) -> str:
    """A number in the digits that a message gives it: files have 0.50, and thirds of as many digits as they like."""
    number = read_number(word)
    if not abs(number) < _MOST_EXACT:
        return word
    return f"{number:.0f}" if number.is_integer() else f"{number:g}"


def of_one_kind(frame: pd.DataFrame, people: pd.DataFrame | None, reading: Reading) -> tuple[str, ...]:
    """What is said of values or a threshold by which every verdict, or no label, means yes."""
    found = []
    if reading.threshold is not None and len(verdict := _distinct(frame, "verdict")) == 1:
        some = "every score" if verdict[0] else "no score"
        grades = "if only people's grades need one, say which mean yes instead: --label label=2,3"
        found.append(f"{some} of the judge passes the threshold {reading.threshold}; {grades}")
    labelled = frame if people is None else people
    for name, table, (_, values) in (
        ("verdict", frame, reading.criterion),
        ("label", labelled, reading.label_criterion),
    ):
        if values and not any(_distinct(table, name)):
            found.append(f"no {name} is one of those that mean yes: {', '.join(sorted(values))}")
    return tuple(found)


def _distinct(frame: pd.DataFrame, name: str) -> list[int]:
    """Which of the codes 0 and 1 a column has."""
    codes = np.unique(code_binary(frame[name])) if name in frame else np.zeros(0, dtype=int)
    found: list[int] = codes[codes >= 0].tolist()
    return found
