"""A registered model by name and options, as text has them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeAliasType, Union, get_args, get_origin, get_type_hints

from bayesjudge.errors import UsageError, did_you_mean
from bayesjudge.priors import FAMILIES

if TYPE_CHECKING:
    from bayesjudge.model import Model


#: One of the parts of a name: an option with its value, a formula, or a prior.
_PART = re.compile(r"(\w+)\s*(=|~)\s*(.+)")


def named(text: str) -> Model:
    """The model of a text: its name and options, as in ``judge_error[pooling=shared]``, or as a table prints it."""
    name, bracket, inside = text.removeprefix("bayes:").partition("[")
    if bracket and not inside.endswith("]"):
        raise UsageError(f"model {text!r}: close the bracket, as in judge_error[pooling=shared]")
    options: dict[str, str] = {}
    formulas: list[str] = []
    priors: dict[str, str] = {}
    for part in map(str.strip, _split(inside[:-1])):
        found = _PART.fullmatch(part)
        if found is None:
            options |= _printed_as(name, part, text)
        elif found[2] == "~" and found[3].partition("(")[0] in FAMILIES:
            priors[found[1]] = found[3]
        elif found[2] == "~":
            formulas.append(part)
        else:
            options[found[1]] = found[3]
    if formulas:
        options["formulas"] = json.dumps(formulas)
    return _believing(registered(name, options), priors)


def _believing(model: Model, priors: Mapping[str, str]) -> Model:
    from bayesjudge.model import GenerativeModel

    if not priors:
        return model
    if not isinstance(model, GenerativeModel):
        raise UsageError(f"{model.label} has no priors that can be stated")
    return model.with_priors(priors)


def _printed_as(name: str, word: str, text: str) -> dict[str, str]:
    """The option that puts a word into the model's name; none where it is there by default."""
    from bayesjudge.model import find_model

    make: Any = find_model(name)
    if word in getattr(make(), "options", ()):
        return {}
    for option, kind in _kinds(make).items():
        plain = kind.__value__ if isinstance(kind, TypeAliasType) else kind
        if get_origin(plain) is Literal and word in get_args(plain):
            return {option: word}
        if plain is bool and word in getattr(make(**{option: True}), "options", ()):
            return {option: "true"}
    raise UsageError(
        f"model {text!r}: {word!r} is no option of {name}; write option=value in brackets, or a formula, as in "
        "judge_error[pooling=shared], judge_error[sensitivity ~ 1 + length]"
    )


def _split(text: str) -> list[str]:
    """Parts between commas, those within brackets or backticks aside."""
    parts, depth, quoted = [""] if text else [], 0, False
    for letter in text:
        quoted ^= letter == "`"
        depth += (letter in "[{(") - (letter in "]})")
        if letter == "," and not depth and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def registered(name: str, options: Mapping[str, str]) -> Model:
    """The registered model with options; values are JSON where they are JSON, and words otherwise."""
    from bayesjudge.model import find_model

    make: Any = find_model(name)
    known = [field.name for field in fields(make) if field.name != "given"]
    if unknown := [option for option in options if option not in known]:
        raise UsageError(
            f"{name} has no option {unknown[0]!r}{did_you_mean(unknown[0], known)}; it has: {', '.join(known)}"
        )
    given, kinds = {option: _value(text) for option, text in options.items()}, _kinds(make)
    for option, value in given.items():
        if not _fits(value, kinds.get(option, Any)):
            hint = f": write it by itself, as in {name}[{value}]" if option == "formulas" and "~" in str(value) else ""
            raise UsageError(f"{option} of {name} is {_called(kinds[option])}, not {options[option]!r}{hint}")
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
        # The model itself refuses other words, with those that there are.
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
