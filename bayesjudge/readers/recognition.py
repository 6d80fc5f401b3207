"""Which format a file has, by the fields of its first records, never by its name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from bayesjudge.errors import Problem, UsageError
from bayesjudge.readers.format import Format, Record
from bayesjudge.readers.formats import known_formats
from bayesjudge.readers.values import at

#: Records that are looked at.
FIRST = 20
#: What ``format=`` calls a table whose columns have our names or common ones.
TABLE = "table"
#: The column of a problem that names the nearest formats.
FORMAT = "(format)"


@dataclass(frozen=True, eq=False, kw_only=True)
class Found:
    """A format and, where its records lie in an enclosing object, these and the object's other keys."""

    tool: Format
    records: Sequence[Record] | None = None
    header: Mapping[str, Any] | None = None


def recognise_format(
    name: str,
    first: Sequence[Record],
    *,
    wanted: str | None,
    taken: Mapping[str, str] = MappingProxyType({}),
    alone: bool = False,
) -> Found | None:
    """The one format that these records have; None for a plain table.

    wanted: The user's ``format=``.
    taken: Columns that the user names, by our names: who says which column is the judge has no people's votes alone.
    """
    if wanted == TABLE:
        return None
    among = _wanted(wanted) if wanted else [tool for tool in known_formats() if not tool.without & taken.keys()]
    shown = [{key: value for key, value in record.items() if key not in taken.values()} for record in first]
    keys = _keys(shown)
    # Of many formats few have their marks there: records are looked at one by one for these alone.
    likely = [tool for tool in among if alone or not tool.lacks(keys)]
    found = [fit for tool in likely for fit in [_fits(tool, shown, alone=alone)] if fit is not None]
    if len(found) > 1:
        names = " and ".join(f"{fit.tool.name} ({fit.tool.title})" for fit in found)
        commands = " or ".join(f"--format {fit.tool.name}" for fit in found)
        raise UsageError(f"{name} could be {names}; choose one: {commands}")
    if wanted and not found:
        lost = among[0].lacks({key for record in shown for key in record})
        why = f"its records lack {', '.join(map(repr, lost))}" if lost else "its records differ"
        raise UsageError(f"{name} is not in the format {wanted} ({among[0].title}): {why}")
    return found[0] if found else None


def _wanted(name: str) -> tuple[Format, ...]:
    among = tuple(tool for tool in known_formats() if tool.name == name)
    if not among:
        names = ", ".join([*(tool.name for tool in known_formats()), TABLE])
        raise UsageError(f"no format {name!r}; there are {names}")
    return among


def _fits(tool: Format, first: Sequence[Record], *, alone: bool) -> Found | None:
    body = [record for record in first if not (tool.preamble & record.keys())] if tool.preamble else first
    if body and tool.recognises(body):
        return Found(tool=tool)
    return enclosed(tool, first[0]) if alone and first else None


def enclosed(tool: Format, record: Record) -> Found | None:
    """Records of the format that lie inside this one object, where they do."""
    for path in tool.records:
        records = at(record, path)
        listed = isinstance(records, list) and records and all(isinstance(one, dict) for one in records)
        if listed and tool.recognises(records[:FIRST]):
            return Found(tool=tool, records=records, header=_without(record, path.split(".")))
    return None


def _without(record: Record, path: Sequence[str]) -> dict[str, Any]:
    """The object without what lies at the path."""
    rest = {key: value for key, value in record.items() if key != path[0]}
    if len(path) > 1:
        rest[path[0]] = _without(record[path[0]], path[1:])
    return rest


#: Share of a format's marks that may be missing where it is near.
_NEAR = 0.5


def near_formats(first: Sequence[Record], *, alone: bool = False) -> list[Problem]:
    """The three formats that lack the smallest shares of their marks, for records that fit none and no table."""
    own = _keys(first)
    lost = [
        (len(lacked) / len(tool.marks), tool.name, lacked)
        for tool in known_formats()
        for levels in [[keys for keys in (own, *_inside(tool, first, alone)) if not tool.without & keys]]
        for lacked in [min(map(tool.lacks, levels), key=len, default=[])]
        if lacked and len(lacked) <= _NEAR * len(tool.marks)
    ]
    if not lost:
        return []
    nearest = "; ".join(f"{name} lacks {', '.join(map(repr, lacked))}" for _, name, lacked in sorted(lost)[:3])
    return [
        Problem(
            column=FORMAT,
            found=f"no known tool's records; nearest: {nearest}",
            allowed="records with all fields of one tool, or a table with our column names",
            fix="Export the records again, or map the columns with --column ours=yours.",
        )
    ]


def complete_but_one(found: Iterable[str], lacks: Iterable[str]) -> list[str]:
    """What is said of formats of which a table has all fields but one, where a question lacks a column of that name.

    Examples
    --------
    >>> complete_but_one(["model_b", "winner"], ["a column named 'model_a'"])
    ["all columns of LMArena votes are there but 'model_a'"]
    """
    keys, wanted = set(found), "; ".join(lacks)
    near = [(tool, tool.lacks(keys)) for tool in known_formats() if len(tool.marks) > 2 and not tool.without & keys]
    return [
        f"all columns of {tool.title} are there but {lacked[0]!r}"
        for tool, lacked in near
        if len(lacked) == 1 and f"column named {lacked[0]!r}" in wanted
    ]


def _inside(tool: Format, first: Sequence[Record], alone: bool) -> list[set[str]]:
    """Keys of the records that the one object may enclose."""
    inside = [at(first[0], path) for path in tool.records] if alone and first else []
    return [_keys(found[:FIRST]) for found in inside if isinstance(found, list)]


def _keys(records: Sequence[Any]) -> set[str]:
    return {str(key) for record in records if isinstance(record, Mapping) for key in record}
