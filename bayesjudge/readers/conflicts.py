"""Rows that contradict each other because a log holds several prompts, runs or rounds: which column says so."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Sequence
from typing import Any

import pandas as pd

from bayesjudge.errors import InputError, Problem
from bayesjudge.readers.values import as_words
from bayesjudge.tables.coding import distinct_values

#: Most values of a column that rows may be chosen by.
MOST_VALUES = 20
#: Choices that a message names.
MOST_NAMED = 6


def choose_one(
    frame: pd.DataFrame, problems: Sequence[Problem], *, value: str, keys: Sequence[str], known: Sequence[str]
) -> InputError | None:
    """The problems with one for all contradictions, where one or two further columns tell them apart.

    value: The column that must be one within ``keys``.

    Examples
    --------
    >>> frame = pd.DataFrame({"item": [*"qqrr"], "label": [0, 1, 0, 0], "round": ["first", "second"] * 2})
    >>> problem = Problem(column="label", found="0 and 1", allowed="one value for each item", fix="", rows=[1, 2])
    >>> choose_one(frame, [problem], value="label", keys=["item"], known=["item", "label"]).options
    ('--where round=first', '--where round=second')
    """
    mine = [problem for problem in problems if problem.column == value and len(problem.rows) > 1]
    within = [name for name in keys if name in frame]
    if not mine or value not in frame:
        return None
    words = frame[[*within, value]].apply(as_words)
    others = [name for name in frame.columns if name not in known and name not in within]
    free = {name: values for name in others if (values := _words(frame[name])) is not None}
    # What states the value in other words would choose rows by their value.
    free = {name: values for name, values in free.items() if not _states(words, value, values)}
    few = sorted(free, key=lambda name: free[name].nunique())
    for columns in itertools.chain(itertools.combinations(few, 1), itertools.combinations(few, 2)):
        apart = words.assign(**{name: free[name] for name in columns})
        if not apart.drop_duplicates().duplicated([*within, *columns]).any():
            choice = _choice_needed(mine, frame[[*columns]])
            return InputError([*(one for one in problems if one not in mine), choice[0]], options=choice[1])
    return None


def _states(words: pd.DataFrame, value: str, column: pd.Series[str]) -> bool:
    """Whether a column, together with the order of presentation, has one value for each of its own."""
    known = {name: words[name] for name in ("order", value) if name in words}
    stated = pd.DataFrame({**known, "column": column}).drop_duplicates()
    return not stated.duplicated([name for name in stated if name != value]).any()


def _words(values: Any) -> pd.Series[str] | None:
    """A column that rows may be chosen by: some values, few of them, each on several rows, none missing."""
    if not isinstance(values, pd.Series) or values.isna().any():
        return None
    distinct = len(distinct_values(values)[1])
    return as_words(values) if 1 < distinct <= min(MOST_VALUES, len(values) // 2) else None


def _choice_needed(problems: Sequence[Problem], columns: pd.DataFrame) -> tuple[Problem, list[str]]:
    choices = _choices(columns)[:MOST_NAMED]
    names = " and ".join(map(repr, columns.columns))
    problem = Problem(
        column=problems[0].column,
        found=f"several values {problems[0].allowed.removeprefix('one value ')}, but one within {names}",
        allowed=problems[0].allowed,
        fix=f"Choose rows: {'; '.join(choices)}.",
        rows=tuple(row for one in problems for row in one.rows),
    )
    return problem, choices


def _choices(columns: pd.DataFrame) -> list[str]:
    """The options that choose rows, in the order of numbers where the values are numbers."""
    rows = columns.drop_duplicates().to_dict("records")
    options = (" ".join(f"--where {shlex.quote(f'{name}={value}')}" for name, value in row.items()) for row in rows)
    return sorted(options, key=lambda option: (len(option), option))
