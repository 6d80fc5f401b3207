"""Errors that a user can act on: what was wrong, where, what is allowed, what to do instead."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Real

from bayesjudge.text import visible


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing wrong with a table.

    column: The column at fault, or ``"(table)"`` or the like for the whole of something.
    rows: Row numbers of the user's input, counted from 1 without the header.
    theirs: The user's own name of the column, where it is another.
    """

    column: str
    found: str
    allowed: str
    fix: str
    rows: Sequence[int] = ()
    theirs: str = ""

    @property
    def whole(self) -> bool:
        """Whether it is about the whole of something, not a column."""
        return self.column.startswith("(") and self.column.endswith(")")

    @property
    def place(self) -> str:
        """The column, under the user's name and ours, or what it is about the whole of."""
        if self.whole:
            return f"the {self.column[1:-1]}"
        return f"column {_cut(self.theirs or self.column)!r}" + (f" (read as {self.column})" if self.theirs else "")

    def __str__(self) -> str:
        where = f"{self.place}, row {_numbers(self.rows)}" if self.rows else self.place
        return visible(f"{where}: found {_cut(self.found)}; allowed: {self.allowed}. {_cut(self.fix)}")


def _numbers(rows: Sequence[int]) -> str:
    more = f" and {len(rows) - 5} more" if len(rows) > 5 else ""
    return ", ".join(map(str, rows[:5])) + more


def _sentences(problems: Iterable[Problem]) -> list[str]:
    """Each problem as a sentence; those that differ in what rows hold alone, in one."""
    same: dict[object, list[Problem]] = {}
    for place, problem in enumerate(problems):
        key = (problem.place, problem.allowed, problem.fix) if problem.rows else place
        same.setdefault(key, []).append(problem)
    return [str(mine[0] if len(mine) == 1 else _together(mine)) for mine in same.values()]


def _together(problems: Sequence[Problem]) -> Problem:
    counts = [f" in {len(one.rows)} rows" if len(one.rows) > 1 else "" for one in problems]
    first, *others = (f"{one.found}{count}" for one, count in zip(problems, counts, strict=True))
    rest = [f"row {_numbers(one.rows)}: found {found}" for one, found in zip(problems[1:], others, strict=True)]
    return replace(problems[0], found="; ".join([first, *rest]))


#: Longest part of a message: a column can be named with a page of text.
_MOST = 1000


def _cut(text: str, most: int = _MOST) -> str:
    if len(text) <= most:
        return text
    return f"{text[: most // 2]} [... {len(text) - most} characters ...] {text[-most // 2 :]}"


class InputError(ValueError):
    """A table cannot be used; carries every problem found, not just the first.

    options: Of which one helps, added to the command; instead: commands that answer, in place of it.

    Examples
    --------
    >>> problem = Problem(column="verdict", found="'maybe'", allowed="0 or 1", fix="Recode it.", rows=[3])
    >>> print(InputError([problem]))
    column 'verdict', row 3: found 'maybe'; allowed: 0 or 1. Recode it.
    >>> print(InputError([problem, replace(problem, found="'hm'", rows=[4, 6])]))
    column 'verdict', row 3: found 'maybe'; row 4, 6: found 'hm' in 2 rows; allowed: 0 or 1. Recode it.
    """

    def __init__(
        self, problems: Iterable[Problem], *, options: Sequence[str] = (), instead: Sequence[str] = ()
    ) -> None:
        self.problems, self.options, self.instead = tuple(problems), tuple(options), tuple(instead)
        super().__init__("\n".join(_sentences(self.problems)))


class UsageError(ValueError):
    """An option or argument is not one of those allowed; the message says which are.

    Of a file that a question cannot be put to, ``lacks`` is what it lacks; ``options, instead`` as in `InputError`.
    """

    def __init__(
        self, message: str, *, lacks: str = "", options: Sequence[str] = (), instead: Sequence[str] = ()
    ) -> None:
        self.lacks, self.options, self.instead = lacks, tuple(options), tuple(instead)
        super().__init__(visible(_cut(message, most=4 * _MOST)))


class EngineError(RuntimeError):
    """An inference engine could not produce draws; the message says why and what to try."""


def did_you_mean(word: object, words: Iterable[object]) -> str:
    """The nearest word as a question, where one is near."""
    near = difflib.get_close_matches(str(word), list(map(str, words)), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def require_choice(option: str, value: object, allowed: Iterable[str]) -> None:
    """Raise `UsageError` unless an option has one of the values allowed.

    Examples
    --------
    >>> require_choice("votes", "stars", ("binary", "graded"))
    Traceback (most recent call last):
        ...
    bayesjudge.errors.UsageError: votes='stars' is not one of binary, graded
    """
    if value not in (choices := list(allowed)):
        raise UsageError(f"{option}={value!r} is not one of {', '.join(choices)}")


def require_judges(judges: Sequence[str], known: Sequence[str]) -> None:
    """Raise `UsageError` unless judges are selected and the table has each of them.

    Examples
    --------
    >>> require_judges(["gtp-4"], ["gpt-4", "claude"])
    Traceback (most recent call last):
        ...
    bayesjudge.errors.UsageError: no judge 'gtp-4' (did you mean 'gpt-4'?); the table has 'gpt-4', 'claude'
    """
    unknown = [judge for judge in judges if judge not in known]
    if unknown or not judges:
        wrong = f"no judge {unknown[0]!r}{did_you_mean(unknown[0], known)}" if unknown else "no judge selected"
        raise UsageError(f"{wrong}; the table has {', '.join(map(repr, known))}")


def require_positive(**numbers: float) -> None:
    """Raise `UsageError` unless every number, for instance a scale of a prior, is above 0.

    Examples
    --------
    >>> require_positive(strength_scale=0.0)
    Traceback (most recent call last):
        ...
    bayesjudge.errors.UsageError: strength_scale must be above 0, got 0.0
    """
    for name, value in numbers.items():
        if not value > 0:
            raise UsageError(f"{name} must be above 0, got {value}")


def require_whole(name: str, value: object, *, least: int) -> None:
    """Raise `UsageError` unless a number is an integer that is not too small.

    Examples
    --------
    >>> require_whole("draws", 0, least=1)
    Traceback (most recent call last):
        ...
    bayesjudge.errors.UsageError: draws=0 must be an integer of at least 1
    """
    number = math.nan if isinstance(value, bool) or not isinstance(value, Real) else float(value)
    if not number.is_integer() or number < least:
        shown = repr(value) if isinstance(value, str) else value
        raise UsageError(f"{name}={shown} must be an integer of at least {least}")


def require_prob(prob: object) -> None:
    """Raise `UsageError` unless an interval's probability is one.

    Examples
    --------
    >>> require_prob(95)
    Traceback (most recent call last):
        ...
    bayesjudge.errors.UsageError: prob=95 must lie between 0 and 1, for instance 0.95
    """
    if isinstance(prob, bool) or not isinstance(prob, Real) or not 0 < float(prob) < 1:
        shown = repr(prob) if isinstance(prob, str) else prob
        raise UsageError(f"prob={shown} must lie between 0 and 1, for instance 0.95")
