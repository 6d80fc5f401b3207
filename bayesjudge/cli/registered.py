"""A registered model by name and options, and the small table it is judged on, as a command line has them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypeAliasType,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import typer

if TYPE_CHECKING:
    from bayesjudge.model import Model

__all__ = ["Choices", "Kind", "kind_of", "registered"]

Kind = Annotated[
    str | None, typer.Option(help="Kind of small table to judge a model on; for one of another package.")
]
Choices = Annotated[list[str] | None, typer.Option(help="A model's option, for instance pooling=shared.")]


def kind_of(model: str, table: str | None) -> str:
    """The kind of small table that a model takes: the one asked for, or the one that is known."""
    from bayesjudge.datasets.small import KIND_OF_MODEL, table_kinds
    from bayesjudge.errors import UsageError

    if table is None and model not in KIND_OF_MODEL:
        raise UsageError(f"no small table is known for {model!r}: name the kind it takes with --table, one "
                         f"of {', '.join(table_kinds())}")  # fmt: skip
    if table is None or table not in table_kinds() or model not in KIND_OF_MODEL:
        # A kind that there is not is told by `small_table`; what a model of others takes, only it knows.
        return table or KIND_OF_MODEL[model]
    if table not in (fitting := _alike(KIND_OF_MODEL[model])):
        raise UsageError(f"{model} does not take a small table of {table!r}; it takes: {', '.join(fitting)}")
    return table


def _alike(kind: str) -> tuple[str, ...]:
    """Kinds of small table of the same class."""
    from bayesjudge.datasets.small import small_table, table_kinds

    wanted = type(small_table(kind))
    return tuple(name for name in table_kinds() if type(small_table(name)) is wanted)


def registered(name: str, options: Mapping[str, str]) -> Model:
    """The registered model with options; values are JSON where they are JSON, and words otherwise."""
    from bayesjudge.errors import UsageError
    from bayesjudge.model import find_model

    make: Any = find_model(name)
    known = [field.name for field in fields(make)]
    if unknown := [option for option in options if option not in known]:
        raise UsageError(f"{name} has no option {unknown[0]!r}; it has: {', '.join(known)}")
    given, kinds = {option: _value(text) for option, text in options.items()}, _kinds(make)
    for option, value in given.items():
        if not _fits(value, kinds.get(option, Any)):
            raise UsageError(f"{option} of {name} is {_called(kinds[option])}, not {options[option]!r}")
    model: Model = make(**given)
    return model


def _kinds(make: Any) -> dict[str, Any]:
    """Types of a model's options; none where a model of others names what it imports for checkers alone."""
    try:
        return get_type_hints(make)
    except NameError:
        return {}


def _value(text: str) -> Any:
    """What JSON says, lists as tuples, or else the text itself."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return tuple(value) if isinstance(value, list) else value


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value is of an annotated type that a command line can have."""
    if isinstance(kind, TypeAliasType):
        return _fits(value, kind.__value__)
    parts = get_args(kind)
    if isinstance(kind, UnionType) or get_origin(kind) is Union:
        return any(_fits(value, part) for part in parts)
    if get_origin(kind) is Literal:
        # Which words there are is told by the model, with what to type instead.
        return isinstance(value, str | int | float)
    if get_origin(kind) is tuple:
        each = parts[:1] * len(value) if parts[1:] == (...,) and isinstance(value, tuple) else parts
        return isinstance(value, tuple) and len(value) == len(each) and all(map(_fits, value, each))
    if isinstance(value, bool) or value is None:
        return kind in {type(value), Any}
    # Of a container of others' models, for instance dict[str, float], the model judges what is inside.
    return kind is Any or isinstance(value, (int, float) if kind is float else get_origin(kind) or kind)


def _called(kind: Any) -> str:
    """A type's name as a reader of its model would write it."""
    name = kind.__name__ if isinstance(kind, type) and not get_args(kind) else str(kind)
    plain = name in {"str", "int", "float", "bool"} or get_args(kind)
    return f"of type {name}" if plain else f"a {name}, which a command line cannot have"
