"""What a user says of how a file is to be read, beyond which column is which: the same for every question."""

from __future__ import annotations

import itertools
import operator
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypedDict

from bayesjudge.errors import InputError, UsageError, did_you_mean
from bayesjudge.readers.filters import Where, conditions
from bayesjudge.readers.wide import Wide


class Choices(TypedDict, total=False):
    """The same as keywords of a reader; see `Reading`."""

    format: str | None
    verdict: str | None
    label: str | None
    threshold: str | float | None
    put: Mapping[str, str]
    where: Where
    items: Any
    texts: bool
    wide: str | None


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a file is to be read.

    format: Name of a format instead of the one that is recognised; ``table`` for a plain table.
    verdict: The criterion that is the judge's verdict, where a file has several; ``NAME=VALUE,VALUE`` says which of its
        values mean yes.
    label: The criterion that people marked, and its values that mean yes, as ``verdict``; of a labels table too, and
        with a threshold of its own as ``NAME>=7``.
    threshold: Which scores mean yes: ``7`` or ``">=7"``, ``"<=2"``.
    put: Values for all rows by our names; ``{file}`` and ``{folder}`` represent the file's name without its ending and
        that of its folder, ``{folder.2}`` that of the one above, ``{file.1}`` and ``{file.2}`` what is before and after
        ``-vs-`` in the file's name, another name in braces a column's value: ``{"item": "{task}-{sample}"}``; values
        may be replaced, those that are not listed stay: ``{"verdict": "{winner:0=tie,1=a,2=b}"}``.
    where: Use only rows for which all of this holds: ``"prompt=short"``, ``["score>=7", "judge!=gpt-4"]`` (with ``=``,
        ``!=``, ``<``, ``<=``, ``>``, ``>=``; equal signs on one column are alternatives), or a mapping of the file's
        own columns to a value or a list of values.
    texts: Keep what a tool's records say of the question and the answer, as ``question_text, answer_text``.
    wide: Of a table with a column for each model or judge, what cells and names of columns hold: ``"verdict:model"``,
        ``"score:judge"``; with the columns, where not all others are meant, ``"verdict:model=gpt-4,claude"``;
        with one for each order of presentation, ``"shown:order=first,second"``, or one of letters of places next to a
        column of orders, ``"shown:order=winner"``; ``"verdict:order=first,second"`` where a is the same answer in both.
    """

    format: str | None = None
    verdict: str | None = None
    label: str | None = None
    threshold: str | float | None = None
    put: Mapping[str, str] = field(default_factory=dict)
    where: Where = None
    items: Any = None
    texts: bool = False
    wide: str | None = None

    def __new__(cls, **choices: Any) -> Self:
        """Refuse what is no choice: the keywords of every reader end here."""
        known = list(Choices.__annotations__)
        for name in (name for name in choices if name not in known):
            near = f": here it is {_IN_PYTHON[name]}" if name in _IN_PYTHON else did_you_mean(name, known)
            raise UsageError(f"no option {name!r}{near}; how a file is read: {', '.join(known)}")
        return super().__new__(cls)

    def __post_init__(self) -> None:
        if self.threshold is not None:
            threshold(self.threshold)
        conditions(self.where)
        if self.wide is not None:
            Wide.parsed(self.wide)

    def passes(self, score: float) -> bool:
        """Whether a score means yes, by the threshold."""
        compare, bound = threshold(self.threshold)
        return compare(score, bound)

    @property
    def criterion(self) -> tuple[str | None, frozenset[str]]:
        """The criterion of the verdict, and its values that mean yes."""
        return _meaning(self.verdict)

    @property
    def label_criterion(self) -> tuple[str | None, frozenset[str]]:
        """The criterion that people marked, and its values that mean yes."""
        return _meaning(self.label if (own := _OWN.fullmatch(self.label or "")) is None else own[1])

    @property
    def of_labels(self) -> Reading:
        """The same with the threshold that ``label`` has of its own, where it has one."""
        own = _OWN.fullmatch(self.label or "")
        return self if own is None else replace(self, threshold=own[2], label=own[1])


#: Options of a command that have another name in Python, where ``set`` is a type.
_IN_PYTHON = {"set": "put={...}", "column": "columns={...}", "gold": "labels= of read_verdicts"}

#: Options of a command of which the last counts.
_ONCE = frozenset(f"--{name}" for name in Choices.__annotations__) - {"--where"}
#: Options of which the last counts for each of our names.
_BY_NAME = ("--column", "--set")


def last_said(command: str) -> str:
    """A command in which no option stands that a later one replaces.

    Examples
    --------
    >>> last_said("bayesjudge accuracy log.csv --label grade --set judge=g --label 'grade>=4'   # as 7 of 9 do")
    "bayesjudge accuracy log.csv --set judge=g --label 'grade>=4'   # as 7 of 9 do"
    >>> last_said("bayesjudge elo log.csv --column=human=x --where run=1 --column human=y --where run=2")
    'bayesjudge elo log.csv --where run=1 --column human=y --where run=2'
    """
    line, *remark = command.split("   #", 1)
    words = shlex.split(line)
    said: dict[str, list[int]] = {}
    left_out: list[int] = []
    for place, (word, after) in enumerate(itertools.pairwise([*words, ""])):
        flag, inline, value = word.partition("=")
        key = f"{flag} {(value if inline else after).partition('=')[0]}" if flag in _BY_NAME else flag
        if flag in _ONCE or flag in _BY_NAME:
            left_out += said.get(key, [])
            said[key] = [place] if inline else [place, place + 1]
    kept = shlex.join(word for place, word in enumerate(words) if place not in left_out)
    return "   #".join([kept, *remark])


def codes_completed(error: InputError | UsageError, put: Mapping[str, str]) -> InputError | UsageError:
    """The error of values that ``--set`` left as they are, with the option that calls them missing.

    Examples
    --------
    >>> from bayesjudge.errors import Problem
    >>> unread = Problem(column="verdict", found="'-1'", allowed="a, b or tie", fix="Recode it.", rows=[3])
    >>> codes_completed(InputError([unread]), {"verdict": "{score:1=a,2=b}"}).options
    ("--set 'verdict={score:1=a,2=b,-1=}'",)
    """
    if isinstance(error, UsageError) or error.options:
        return error
    for name, value in put.items():
        mine = [one for one in error.problems if name in {one.column, one.theirs} and one.rows]
        words = dict.fromkeys(word[1] for one in mine if (word := _UNREAD.match(one.found)))
        if mine and words and _RECODED.fullmatch(value):
            option = f"--set {shlex.quote(f'{name}={value[:-1]}{"".join(f",{word}=" for word in words)}}}')}"
            fix = f"Values that --set does not list stay as they are: if these are missing, type {option}."
            return InputError(
                [replace(one, fix=fix) if one in mine else one for one in error.problems], options=[option]
            )
    return error


#: A column's values with words in place of some, and another value, as problems have it, that may be listed with them.
_RECODED = re.compile(r"\{[^{}:]+:[^{}]+=[^{}]*\}")
_UNREAD = re.compile(r"'([^',=:{}]+)'")

#: A column of people's grades, and which of them mean yes.
_OWN = re.compile(r"\s*([^=<>]+?)\s*((?:>=|<=|>|<)\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*")


def _meaning(option: str | None) -> tuple[str | None, frozenset[str]]:
    name, _, values = (option or "").partition("=")
    return name or None, frozenset(filter(None, (value.strip() for value in values.split(","))))


_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
    "": operator.ge,
}


def threshold(given: str | float | None) -> tuple[Callable[[float, float], bool], float]:
    """A threshold's comparison and bound."""
    found = re.fullmatch(r"\s*(>=|<=|>|<|)\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*", str(given))
    if found is None:
        raise UsageError(f"threshold {given!r}: write a number, or a comparison such as '>=7' or '<=2'")
    return _COMPARE[found[1]], float(found[2])
