"""A table of a DuckDB file, named ``PATH.duckdb::TABLE`` and opened read-only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bayesjudge.errors import UsageError
from bayesjudge.readers.sources import file_error, find_sources
from bayesjudge.tables.columns import near_names

#: What stands between the file and its table.
_MARK = ".duckdb::"


def is_database(source: object) -> bool:
    """Whether a source names a table of a DuckDB file.

    Examples
    --------
    >>> is_database("logs.duckdb::verdicts"), is_database("logs.duckdb")
    (True, False)
    """
    return _MARK in str(source)


def open_table(source: str | Path) -> Any:
    """The Ibis table that ``PATH.duckdb::TABLE`` or ``PATH.duckdb::SCHEMA.TABLE`` names, to read and no more."""
    import duckdb
    import ibis

    stem, _, name = str(source).partition(_MARK)
    path = Path(f"{stem}.duckdb").expanduser()
    if not path.is_file():
        find_sources(path)  # says what is there instead
    try:
        connection = ibis.duckdb.connect(path, read_only=True)
    except duckdb.Error as error:
        fix = "Check that it is complete, and that no other program has it open."
        found = f"no readable DuckDB database ({str(error).splitlines()[0]})"
        raise file_error(str(path), found, fix) from error
    schema, _, table = name.rpartition(".")
    # Ibis 12 lists tables by a method that DuckDB 2 no longer has.
    query = "SELECT table_name FROM information_schema.tables WHERE table_schema = ? ORDER BY table_name"
    there = [row[0] for row in connection.con.execute(query, [schema or "main"]).fetchall()]
    if table not in there:
        near = near_names(table, there)
        hint = f" Did you mean {', '.join(map(repr, near))}?" if near else ""
        raise UsageError(f"no table {name!r} in {str(path)!r}; it has {there}.{hint}")
    return connection.table(table, database=schema or None)
