"""Which of a user's columns holds what, by the names that known formats give them."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

import pandas as pd

from bayesjudge.errors import InputError, Problem
from bayesjudge.readers.aliases import (
    ANY_HUMAN,
    BATTLE_ALIASES,
    LAST_OF,
    PAIR_ALIASES,
    REFERENCES,
    SCORE_ALIASES,
    TRIAL_ALIASES,
    VERDICT_ALIASES,
    Aliases,
)
from bayesjudge.tables.coding import MISSING, code_binary, distinct_values, shown

#: Ways to choose among columns that could be meant, of which a message names as many.
MOST_WAYS = 4
#: Share of rows in which a column must have a value to be offered for one of ours.
_HARDLY = 0.01


def recognise(
    found: Iterable[str],
    columns: Mapping[str, str] | None = None,
    *,
    aliases: Aliases = VERDICT_ALIASES,
    people: bool = True,
    empty: Collection[str] = (),
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Complete a user's mapping with the column names of known formats.

    people: Several columns of labels may be one person's each, as ``--label`` says.
    empty: Columns with a value in hardly any row, of which none is meant where another could be.
    """
    columns = dict(columns or {})
    taken = set(columns.values())
    free = [name for name in found if name not in taken]
    mapping, warnings = dict(columns), []
    problems: dict[str, list[str]] = {}
    used = {word for others in aliases.values() for words in others for word in words}
    for name, (strong, weak) in aliases.items():
        if name in columns:
            continue
        named = ([name], strong, weak, [word for word in LAST_OF.get(name, ()) if word not in used])
        candidates = next((found for words in named if (found := _matching(free, words))), [])
        candidates = [one for one in candidates if one not in empty] or candidates
        if name in free:
            also = _matching(free, strong)
            warnings += [_ignored(name, also)] if also else []
        elif len(candidates) > 1:
            problems[name] = candidates
        elif candidates:
            mapping[name] = candidates[0]
    if problems:
        raise InputError(
            [_ambiguous(name, candidates, people) for name, candidates in problems.items()],
            options=_each(problems, people),
        )
    return mapping, tuple(warnings)


def hardly_filled(frame: pd.DataFrame) -> set[str]:
    """Columns with a value in at most one of a hundred rows, as what one row says of all others.

    Examples
    --------
    >>> hardly_filled(pd.DataFrame({"id": range(200), "prompt": ["as published", *[None] * 199]}))
    {'prompt'}
    """
    shares = frame.notna().to_numpy().sum(axis=0) / max(len(frame), 1)
    return {str(name) for name, share in zip(frame.columns, shares, strict=True) if share <= _HARDLY and len(frame)}


def reference_answers(frame: pd.DataFrame, name: str) -> tuple[str, ...]:
    """What to say of columns that look like reference answers, in a table without people's labels.

    A task's own answers may be coded as labels are (``yes`` and ``no`` of a question, 0 and 1), and would be
    taken for a person's judgement of every answer without a sign that anything is wrong.

    Examples
    --------
    >>> print(reference_answers(pd.DataFrame({"gold": ["yes", "no"]}), "label")[0])  # doctest: +ELLIPSIS
    column 'gold' looks like reference answers (yes/no): not used as human labels; `--column label=gold` ...
    """
    if name in frame:
        return ()
    columns = [
        column
        for column in map(str, frame.columns)
        if folded(column) in REFERENCES or (folded(column) == "answer" and _codes(frame[column]))
    ]
    return tuple(
        f"column {column!r} looks like reference answers ({_examples(frame[column])}): not used as "
        f"human labels; `--column {name}={column}` states that they are"
        for column in columns
    )


def _codes(values: pd.Series[Any]) -> bool:
    """Whether an answer, which may be the model's, is written as a label would be."""
    codes = code_binary(values)
    return bool((codes >= 0).any() and (codes >= MISSING).all())


def _examples(values: pd.Series[Any]) -> str:
    """The last values in order of their names (yes before no); the order of rows has no part in it."""
    distinct = sorted({shown(value).strip("'") for value in distinct_values(values)[1]}, reverse=True)
    return "/".join(distinct[:3]) + ("/…" if len(distinct) > 3 else "")


def listed_columns(columns: Sequence[str], listed: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns of a list of names and patterns, and which of the list no column has.

    Examples
    --------
    >>> listed_columns(["item", "human 1", "human 2"], "human *, person 3")
    (('human 1', 'human 2'), ('person 3',))
    """
    names = [name for text in listed.split(",") if (name := text.strip())]
    found = {name: [column for column in columns if column == name or fnmatchcase(column, name)] for name in names}
    there = dict.fromkeys(itertools.chain(*found.values()))
    return tuple(there), tuple(name for name, some in found.items() if not some)


def means_any(found: Iterable[str], names: Sequence[str]) -> bool:
    """Whether any column has one of these names, whatever its case and spaces.

    Examples
    --------
    >>> means_any(["Judge Label"], ["judge_label"])
    True
    """
    return any(_means(folded(column), names) for column in found)


def named_like(columns: Sequence[str], name: str) -> list[str]:
    """The columns that are or may be a battle's ``voter``, or ``human``.

    Examples
    --------
    >>> named_like(["Human ID", "human_vote", "judge"], "voter")
    ['Human ID']
    """
    strong, weak = BATTLE_ALIASES[name]
    return _matching(columns, [name, *strong, *weak, *(["human_prefers"] if name == "human" else [])])


def columns_of(frame: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """The columns that have one of these names, whatever its case and spaces."""
    return _matching(list(map(str, frame.columns)), names)


def means_known(name: str) -> bool:
    """Whether a column's name means something to any question, or a reference answer.

    Examples
    --------
    >>> means_known("Judge Label"), means_known("gpt-4")
    (True, False)
    """
    tables = (VERDICT_ALIASES, TRIAL_ALIASES, SCORE_ALIASES, BATTLE_ALIASES, PAIR_ALIASES)
    known = {word for table in tables for ours, (strong, weak) in table.items() for word in (ours, *strong, *weak)}
    return means_any([name], [*known, *itertools.chain(*LAST_OF.values()), *REFERENCES])


def _matching(found: Sequence[str], names: Sequence[str]) -> list[str]:
    return [column for column in found if _means(folded(column), names)]


def _means(word: str, names: Sequence[str]) -> bool:
    person = word.endswith(("_id", "_name"))
    return word in names or (ANY_HUMAN in names and word.startswith("human_") and not person)


@lru_cache(maxsize=10_000)
def folded(name: str) -> str:
    """A column's name in small letters, its words joined by an underscore.

    Examples
    --------
    >>> folded("Judge Label"), folded("responseId")
    ('judge_label', 'response_id')
    """
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[^\w]+", "_", words).casefold()


def _ignored(name: str, others: Sequence[str]) -> str:
    return (
        f"column {name!r} was read as {name}, though {', '.join(map(repr, others))} could be meant too "
        f"(columns={{{name!r}: {others[0]!r}}} or --column {name}={others[0]} to change that)"
    )


def _each(problems: Mapping[str, Sequence[str]], people: bool) -> list[str]:
    """Options that say which column is meant, one for each way to choose; or that all are, where people's may be."""
    ways = itertools.islice(itertools.product(*problems.values()), MOST_WAYS)
    options = [
        " ".join(f"--column {shlex.quote(f'{name}={column}')}" for name, column in zip(problems, way, strict=True))
        for way in ways
    ]
    if not people or len(problems) != 1 or not problems.keys() <= _SAID_BY_PEOPLE:
        return options
    ((name, found),) = problems.items()
    numbered = len({re.sub(r"\d+", "", column) for column in _persons(found)}) == 1
    return [_all_people(name, found), *options] if numbered else [*options, _all_people(name, found)]


#: What people say, of which a table may have a column a person.
_SAID_BY_PEOPLE = frozenset({"label", "human", "human_prefers"})


def _persons(columns: Sequence[str]) -> list[str]:
    """Columns but for those of several people together, where others are there."""
    alone = [column for column in columns if not re.search(r"_(avg|average|mean|majority|consensus)$", folded(column))]
    return alone if len(alone) > 1 else list(columns)


def _all_people(name: str, columns: Sequence[str]) -> str:
    listed = ",".join(_persons(columns))
    return f"--label {shlex.quote(listed)}" if name == "label" else f"--column {shlex.quote(f'{name}={listed}')}"


def _ambiguous(name: str, candidates: Sequence[str], people: bool) -> Problem:
    return Problem(
        column=name,
        found=f"{len(candidates)} columns that could be meant: {', '.join(map(repr, candidates))}",
        allowed=f"a choice of the column for {name!r}: {' or '.join(map(repr, candidates[:MOST_WAYS]))}",
        fix=f"Say which: columns={{{name!r}: {candidates[0]!r}}}, or --column {name}={candidates[0]}."
        + (
            f" Where each is one person's: {_all_people(name, candidates)}."
            if people and name in _SAID_BY_PEOPLE
            else ""
        ),
    )
