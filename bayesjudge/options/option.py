"""One statement of an option, ``name: Annotated[type, Option(...)] = default``, and the check of a value."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import KW_ONLY, MISSING, dataclass, fields
from inspect import Parameter
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from bayesjudge.errors import UsageError, did_you_mean


@dataclass(frozen=True)
class Option:
    """What an option is for and which values it may have, beyond its type.

    Parameters
    ----------
    help : str
        Its description, on the command line and in Python.
    least, most : float, optional
        Limits that belong to the values allowed.
    above, below : float, optional
        Limits that do not.
    flag : str, optional
        Its name on the command line where that is not ``--name``; empty for an option of Python alone.
    metavar : str
        Its value in the command's help, for instance ``verdict=score``.
    panel : str
        Part of the command's help where it stands; by default that of the class it is stated in.
    hidden : bool
        Leave it out of the command's help.
    recorded : {"always", "given", "never"}
        Whether the manifest of an answer has it: always, where it differs from its default, or never.
    """

    help: str
    _: KW_ONLY
    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    flag: str | None = None
    metavar: str = ""
    panel: str = ""
    hidden: bool = False
    recorded: Literal["always", "given", "never"] = "always"


@dataclass(frozen=True, kw_only=True)
class Stated:
    """An option with its name, its type and its default, which a question may have ``fixed``."""

    name: str
    kind: Any
    option: Option
    default: Any
    fixed: bool = False

    def checked(self, value: Any) -> Any:
        """The value as the option's type has it."""
        for kind in alternatives(self.kind):
            try:
                taken = _taken(value, kind)
            except (TypeError, ValueError, KeyError):
                continue
            if not isinstance(taken, int | float) or self._within(taken):
                return taken
        shown = repr(value) if isinstance(value, str) else value
        raise UsageError(f"{self.name}={shown} {self._allowed(value)}")

    def _within(self, number: float) -> bool:
        limits = self.option
        least = -math.inf if limits.least is None else limits.least
        most = math.inf if limits.most is None else limits.most
        above = limits.above is None or number > limits.above
        return above and least <= number <= most and (limits.below is None or number < limits.below)

    def _allowed(self, value: Any) -> str:
        choices = [get_args(kind) for kind in alternatives(self.kind) if get_origin(kind) is Literal]
        words = [str(word) for part in choices for word in part]
        if words:
            return f"is not one of {', '.join(words)}{did_you_mean(value, words)}"
        limits = self.option
        if limits.above is not None and limits.below is not None:
            return f"must lie between {limits.above:g} and {limits.below:g}, for instance {self.default}"
        bounds = {"above": limits.above, "of at least": limits.least, "at most": limits.most}
        stated = [f"{word} {limit:.12g}" for word, limit in bounds.items() if limit is not None]
        kinds = [_named(kind) for kind in alternatives(self.kind) if kind is not NoneType]
        return f"must be {' '.join([' or '.join(kinds), ' and '.join(stated)]).strip()}"


class Options:
    """Base of frozen dataclasses whose fields are ``Annotated[type, Option(...)]``: values are checked."""

    def __post_init__(self) -> None:
        for one in stated(type(self)):
            object.__setattr__(self, one.name, one.checked(getattr(self, one.name)))


def stated(options: type[Any]) -> tuple[Stated, ...]:
    """Every option of a class, in order."""
    hints = get_type_hints(options, include_extras=True)
    found = []
    for field in fields(options):
        kind, option = get_args(hints[field.name])
        default = field.default if field.default_factory is MISSING else field.default_factory()
        default = Parameter.empty if default is MISSING else default
        found.append(Stated(name=field.name, kind=kind, option=option, default=default, fixed=not field.init))
    return tuple(found)


def alternatives(kind: Any) -> tuple[Any, ...]:
    """Types of a union, or the one type."""
    if get_origin(kind) in {UnionType, Union}:
        return tuple(part for one in get_args(kind) for part in alternatives(one))
    return (kind,)


def _taken(value: Any, kind: Any) -> Any:
    """The value as a type other than a union has it; raises where it does not fit."""
    origin, parts = get_origin(kind) or kind, get_args(kind)
    if origin in {int, float}:
        return _number(value, origin)
    if origin in {Iterable, Sequence, tuple}:
        return _several(value, parts)
    if origin in {Mapping, Path}:
        return (dict if origin is Mapping else Path)(value)
    if origin is bool:  # NumPy has booleans of its own
        return {"True": True, "False": False}[str(value)]
    fits = value in parts if origin is Literal else origin is Any or isinstance(value, origin)
    if not fits:
        raise TypeError(kind)
    return value


def _number(value: Any, kind: type) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(kind)
    if kind is int and not float(value).is_integer():
        raise ValueError(value)
    return kind(value)  # type: ignore[no-any-return]  # int or float


def _several(value: Any, parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """Values of a sequence; a single text is one of them, and a pair has two."""
    if isinstance(value, Mapping):
        raise TypeError(parts)
    values = (value,) if isinstance(value, str) else tuple(value)
    if len(parts) > 1 and parts[1] is not ... and len(values) != len(parts):
        raise ValueError(values)
    if parts[:1] == (str,) and not all(isinstance(one, str) for one in values):
        raise TypeError(parts)
    return values


def _named(kind: Any) -> str:
    """A type as a reader calls it."""
    origin, parts = get_origin(kind) or kind, get_args(kind)
    if origin is tuple and parts[1:] != (...,):
        return f"{len(parts)} names"
    known = {bool: "True or False", int: "an integer", float: "a number", str: "a name", Path: "a path"}
    known |= {Executor: "an executor of concurrent.futures"}
    return known.get(origin, "a mapping" if origin is Mapping else "names")
