"""Print what is stored of a benchmark or a proof, every table of it.

``python benchmarks/show.py`` lists the names; ``python benchmarks/show.py resampled``, ``... validation/judge_elo``
or ``... coverage/elo cells --where method=bayes:bradley_terry[human]`` print settings, claims and tables.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.machine import line
from harness.tables import picked

STORED = Path(__file__).resolve().parent / "results"
#: What a result has besides its tables.
FACTS = ("benchmark", "machine", "settings", "must_hold")


def names() -> list[str]:
    """Every stored result, as a command names it."""
    return sorted(str(path.relative_to(STORED).with_suffix("")) for path in STORED.rglob("*.json"))


def tables(result: Mapping[str, Any]) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """Tables of a result by name; single figures together are one row of a table without a name."""
    single = {name: value for name, value in result.items() if name not in FACTS and not isinstance(value, list | dict)}
    if single:
        yield "", [single]
    for name, value in result.items():
        if name in FACTS or not value or not isinstance(value, list | dict):
            continue
        if isinstance(value, dict):
            yield name, [{"name": key, "value": part} for key, part in value.items()]
        else:
            yield name, [row if isinstance(row, dict) else {name: row} for row in value]


def shown(rows: Sequence[Mapping[str, Any]]) -> str:
    """A table of all columns of single values: what is a list in each row (a histogram) is in the file."""
    columns = dict.fromkeys(name for row in rows for name, value in row.items() if not isinstance(value, list | dict))
    return picked(rows, list(columns))


def main() -> None:
    """Print one result, or the names of all."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("name", nargs="?", choices=names(), metavar="NAME", help="a stored result; none: list them")
    options.add_argument("table", nargs="?", help="only this table of it")
    options.add_argument("--where", action="append", default=[], metavar="COLUMN=VALUE", help="only such rows")
    chosen = options.parse_args()
    if chosen.name is None:
        print("\n".join(names()))
        return
    path = STORED / f"{chosen.name}.json"
    result = json.loads(path.read_text(encoding="utf-8"))
    known = dict(tables(result))
    if chosen.table is not None and chosen.table not in known:
        options.error(f"{chosen.name} has no table {chosen.table!r}; it has {', '.join(filter(None, known))}")
    if chosen.table is None:
        print(_heading(result, path.with_suffix(".md")))
        known = {"must hold": result.get("must_hold", []), **known}
    for title, rows in known.items():
        kept = [row for row in rows if all(_is(row, where, options) for where in chosen.where)]
        if kept and chosen.table in {None, title}:
            print(f"\n{title}\n\n{shown(kept)}" if title else f"\n{shown(kept)}")


def _heading(result: Mapping[str, Any], note: Path) -> str:
    """Machine and settings, and what was looked into afterwards."""
    settings = ", ".join(f"{key} {value}" for key, value in result.get("settings", {}).items())
    parts = [f"Machine: {line(result['machine'])}.\nSettings: {settings}."] if "machine" in result else []
    return "\n\n".join([*parts, *([note.read_text(encoding="utf-8").rstrip()] if note.is_file() else [])])


def _is(row: Mapping[str, Any], where: str, options: argparse.ArgumentParser) -> bool:
    """Whether a row is of ``COLUMN=VALUE``; rows of tables without the column are."""
    column, sign, value = where.partition("=")
    if not sign:
        options.error(f"--where {where!r}: write COLUMN=VALUE")
    return column not in row or str(row[column]) == value


if __name__ == "__main__":
    main()
