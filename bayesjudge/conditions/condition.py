"""A condition as text, ``difference(new, old) < 0``: read by recursive descent, never executed."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from bayesjudge.errors import UsageError

#: What a condition may be about in addition to estimands: the convergence gate, and figures of the table.
GATE, FACTS = "gate", ("dropped", "labels")
#: Stands for any unit: the condition holds where it is probable that one of them meets it.
EVERY = "*"
_GRAMMAR = (
    "write ESTIMAND(UNIT) or ESTIMAND(UNIT, UNIT), then < or > and a number, as in 'difference(new, old) < 0'; "
    "or dropped > .05, labels < 40, gate. Names with commas, brackets or < > go in double quotes"
)
_TOKEN = re.compile(r'\s*("(?:[^"]|"")*"|[(),<>]|[^(),<>]+)')


@dataclass(frozen=True, kw_only=True)
class Condition:
    """A condition on an answer.

    Attributes
    ----------
    text : str
        As it was written.
    name : str
        An estimand, ``gate``, ``dropped`` or ``labels``.
    units : tuple of str
        One or two names of units, or `EVERY`; none for what has no units.
    sign : str
        ``<`` or ``>``; empty for the gate.
    bound : float
        What it is compared with.
    """

    text: str
    name: str
    units: tuple[str, ...] = ()
    sign: str = ""
    bound: float = math.nan


def condition_of(text: str) -> Condition:
    """Read a condition.

    Raises
    ------
    UsageError
        What was expected where, and how conditions are written.

    Examples
    --------
    >>> found = condition_of("difference(new, old) < -.02")
    >>> found.name, found.units, found.sign, found.bound
    ('difference', ('new', 'old'), '<', -0.02)
    >>> condition_of('gain (held out)("a, b") > 0').name
    'gain (held out)'
    """
    left = [token.strip() for token in _TOKEN.findall(text) if token.strip()]
    try:
        return _condition(text, left)
    except _ExpectedError as wrong:
        raise UsageError(f"condition {text!r}: expected {wrong}; {_GRAMMAR}") from None


def quoted(name: str) -> str:
    """A name as a condition has it, in quotes where it needs them."""
    if re.fullmatch(r'[^\s(),<>"]([^(),<>]*[^\s(),<>])?', name):
        return name
    return '"' + name.replace('"', '""') + '"'


class _ExpectedError(Exception):
    """What was expected, and is not there."""


def _condition(text: str, left: list[str]) -> Condition:
    name, units = _name(left, "an estimand"), _units(left)
    if units and left[:1] == ["("]:  # the first bracket belongs to the name: gain (held out)(all)
        name, units = f"{name} ({', '.join(units)})", _units(left)
    if name == GATE and not units:
        return _whole(Condition(text=text, name=name), left)
    if not units and name not in FACTS:
        raise _ExpectedError(f"a unit in brackets after {name!r}")
    sign = _one_of(left, "<>", "< or >")
    return _whole(Condition(text=text, name=name, units=units, sign=sign, bound=_number(left)), left)


def _whole(found: Condition, left: list[str]) -> Condition:
    if left:
        raise _ExpectedError(f"nothing more, not {' '.join(left)!r}")
    return found


def _units(left: list[str]) -> tuple[str, ...]:
    """One or two names in brackets, where there are brackets."""
    if left[:1] != ["("]:
        return ()
    left.pop(0)
    names = [_name(left, "a unit")]
    while (mark := _one_of(left, ",)", ", or )")) == ",":
        names.append(_name(left, "a unit"))
    if mark == ")" and len(names) > 2:
        raise _ExpectedError("one or two units")
    return tuple(names)


def _name(left: list[str], what: str) -> str:
    if not left or left[0] in "(),<>":
        raise _ExpectedError(what)
    token = left.pop(0)
    plain = token[0] != '"'
    if not plain and (len(token) < 3 or token[-1] != '"'):
        raise _ExpectedError("a name that ends its quotes")
    return token if plain else token[1:-1].replace('""', '"')


def _one_of(left: list[str], marks: str, what: str) -> str:
    if not left or left[0] not in marks:
        raise _ExpectedError(what)
    return left.pop(0)


def _number(left: list[str]) -> float:
    try:
        value = float(left[0]) if left else math.nan
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise _ExpectedError("a number")
    left.pop(0)
    return value
