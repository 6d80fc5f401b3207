"""Queries and where they run: DuckDB for tables in memory, else the engine that holds the table.

Making SQL of the expressions takes Ibis longer than DuckDB needs to count a log of a thousand rows. Those over tables
in memory are equal wherever columns, names and options are, so that SQL is made once for all logs of one kind: the
hundreds of a simulation, or every judge's in turn.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa

if TYPE_CHECKING:
    import duckdb
    import ibis.expr.types as ir


#: Ibis tables and columns get most of their methods when they are made, which type checkers do not see.
type IbisTable = Any
#: A table of Ibis as users give it, on any backend.
type GivenTable = ir.Table
#: Expressions whose SQL is kept.
_MOST_KEPT = 1000
_sql: dict[Any, str] = {}


class Memory:
    """Tables of one count, in Arrow. Expressions carry it along; for their equality any two memories are one."""

    def __init__(self) -> None:
        self._tables: list[pa.Table] = []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Memory)

    def __hash__(self) -> int:
        return hash(Memory)

    def add(self, table: pa.Table) -> IbisTable:
        """The table as an expression."""
        import ibis
        from ibis.expr import operations

        name = _name(len(self._tables))
        self._tables.append(table)
        return operations.DatabaseTable(name=name, schema=ibis.schema(table.schema), source=self).to_expr()

    def run(self, expression: IbisTable) -> pa.Table:
        """What a query over these tables gives."""
        # A connection of its own: names of tables are those of this count alone.
        with _database().cursor() as connection:
            for place, table in enumerate(self._tables):
                connection.register(_name(place), table)
            found = connection.sql(_sql_of(expression)).to_arrow_table()
        # Sums of whole numbers come with more digits than Ibis says.
        return found.cast(expression.schema().to_pyarrow())


def in_memory(table: pa.Table) -> IbisTable:
    """An expression over a table in memory."""
    return Memory().add(table)


def fetch(expression: IbisTable) -> pd.DataFrame:
    """Run a query; through Arrow, since that keeps 64-bit integers and costs no copies."""
    memory = _memory(expression)
    found = expression.to_pyarrow() if memory is None else memory.run(expression)
    frame: pd.DataFrame = found.to_pandas()
    return frame


def fetch_number(expression: Any) -> int:
    """The whole number that a query over a column gives."""
    value: Any = fetch(expression.as_table()).iloc[0, 0]
    return int(value)


def cached(table: IbisTable) -> IbisTable:
    """The table, computed once; backends that cannot keep it compute it again for each count."""
    from ibis.common.exceptions import OperationNotDefinedError, UnsupportedOperationError

    if (memory := _memory(table)) is not None:
        return memory.add(memory.run(table))
    try:
        return table.cache()
    except (NotImplementedError, OperationNotDefinedError, UnsupportedOperationError):
        return table


@functools.cache
def _database() -> duckdb.DuckDBPyConnection:
    import duckdb

    return duckdb.connect()


def _name(place: int) -> str:
    return f"table_{place}"


def _memory(expression: Any) -> Memory | None:
    from ibis.expr import operations

    sources = (table.source for table in expression.op().find(operations.DatabaseTable))
    return next((source for source in sources if isinstance(source, Memory)), None)


def _sql_of(expression: Any) -> str:
    import ibis
    from ibis.expr import operations

    query = expression.op()
    known = _sql.get(query)
    if known is not None:
        return known
    if len(_sql) >= _MOST_KEPT:
        _sql.clear()
    text = str(ibis.to_sql(expression, dialect="duckdb"))
    # Kept over an empty memory: an expression holds the tables that it is about.
    empty = {table: table.copy(source=Memory()) for table in query.find(operations.DatabaseTable)}
    _sql[query.replace(empty)] = text
    return text
