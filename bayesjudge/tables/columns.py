"""From the user's column names to ours."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from bayesjudge.errors import InputError, Problem, UsageError


def name_columns(
    frame: pd.DataFrame, columns: Mapping[str, str] | None, *, names: Sequence[str]
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Rename a user's columns to ours.

    columns: Our name to the user's column: ``{"verdict": "score"}`` reads verdicts from the column ``score``.

    Returns: frame: Rows numbered from 0, every name a string; a column that a mapped one displaces gets another name.;
        warnings: Which columns were displaced.

    Examples
    --------
    >>> named, _ = name_columns(pd.DataFrame({"score": [1]}), {"verdict": "score"}, names=["verdict"])
    >>> list(named)
    ['verdict']
    """
    frame = frame.rename(columns=str).reset_index(drop=True)
    require_unique(frame.columns)
    columns = dict(columns or {})
    _require_mapping(columns, list(frame.columns), names)
    displaced = [
        name
        for name, source in columns.items()
        if name in frame.columns and name != source and name not in columns.values()
    ]
    moved = {name: _free_name(name, frame.columns) for name in displaced}
    warnings = tuple(
        f"column {columns[name]!r} was used as {name!r}; the column of that name is kept as {new!r}"
        for name, new in moved.items()
    )
    return frame.rename(columns=moved | {source: name for name, source in columns.items()}), warnings


def require_columns(found: Iterable[str], required: Sequence[str], *, where: str = "the table") -> list[Problem]:
    """One problem for each required column that is absent, saying which are there and which look similar."""
    found = list(found)
    free = [name for name in found if name not in required]
    absent = [name for name in required if name not in found]
    return [
        _missing_column(name, near_names(name, free), f"; {where} has {found}" if not k else "")
        for k, name in enumerate(absent)
    ]


def require_table(given: Any, kind: type, *, ibis: bool = True) -> None:
    """Refuse what is no table of a kind, nor one of Ibis where such a table will do."""
    if not isinstance(given, kind) and not (ibis and type(given).__module__.startswith("ibis.")):
        name = kind.__name__
        wanted = f"{name} or an Ibis table" if ibis else name
        reader = f"bayesjudge.read_{name.lower()}(...) reads a file or a data frame"
        raise UsageError(f"a table of type {wanted} is needed, not {type(given).__name__}: {reader}")


def require_frame(given: Any, reader: str) -> None:
    """Refuse what is no data frame, and say what reads files and other tables."""
    if not isinstance(given, pd.DataFrame):
        raise UsageError(
            f"from_frame takes a pandas DataFrame, not {type(given).__name__}; "
            f"bayesjudge.readers.{reader} takes files and other tables"
        )


def label_source(
    columns: Mapping[str, str] | None, frame: pd.DataFrame, name: str, *, by_format: bool = False
) -> str | None:
    """How people's labels were known as such: ``mapped`` by the user, ``format``, ``human`` by their column's name.

    None where the table has none.
    """
    if not frame[name].notna().any():
        return None
    if name in (columns or {}):
        return "mapped"
    return "format" if by_format else "human"


def near_names(name: str, names: Iterable[str]) -> list[str]:
    """Names spelled like this one, or holding it.

    Examples
    --------
    >>> near_names("verdict", ["Verdicts", "judge_verdict", "score"])
    ['Verdicts', 'judge_verdict']
    """
    folded: dict[str, list[str]] = {}
    for other in names:
        folded.setdefault(other.casefold(), []).append(other)
    close = set(difflib.get_close_matches(name.casefold(), folded, n=3, cutoff=0.7))
    close |= {other for other in folded if name.casefold() in other}
    return [other for key, others in folded.items() if key in close for other in others]


def _missing_column(name: str, near: list[str], there: str) -> Problem:
    example = near[0] if near else "your_column"
    return Problem(
        column=name,
        found=f"no such column{there}",
        allowed=f"a column named {name!r}",
        fix=(f"Did you mean {', '.join(map(repr, near))}? " if near else "")
        + f"Say which column it is: columns={{{name!r}: {example!r}}}, or --column {name}={example}.",
    )


def require_unique(found: pd.Index) -> None:
    """Refuse a table with two columns of one name."""
    if not found.is_unique:
        repeated = found[found.duplicated()].unique()
        raise InputError(
            Problem(
                column=name,
                found=f"{int((found == name).sum())} columns of this name",
                allowed="every column name once",
                fix="Rename or remove all but one.",
            )
            for name in repeated
        )


def _require_mapping(columns: Mapping[str, str], found: list[str], names: Sequence[str]) -> None:
    for name, source in columns.items():
        if name not in names:
            turned = f" Did you mean {source}={name}?" if source in names and name in found else ""
            raise UsageError(
                f"cannot map a column to {name!r}; the names to map are {list(names)}, "
                f"written as our name = your column.{turned}"
            )
        if source not in found:
            near = near_names(source, found)
            hint = f" Did you mean {', '.join(map(repr, near))}?" if near else ""
            raise UsageError(f"no column {source!r} to use as {name!r}; the table has {found}.{hint}")
    sources = list(columns.values())
    twice = sorted({source for source in sources if sources.count(source) > 1})
    if twice:
        raise UsageError(f"column {twice[0]!r} is mapped to two names: {dict(columns)}; map it to one")


def _free_name(name: str, taken: Iterable[str]) -> str:
    new = f"{name} (original)"
    while new in taken:
        new += "'"
    return new
