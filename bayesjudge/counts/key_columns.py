"""Further columns of a log, which have one value for each answer, item or response: those that formulas name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bayesjudge.counts.memory import IbisTable, fetch
from bayesjudge.errors import InputError, Problem, UsageError, did_you_mean

if TYPE_CHECKING:
    import pandas as pd


def columns_by(
    table: pd.DataFrame | IbisTable, keys: Mapping[str, str], columns: Sequence[str], *, of: str
) -> pd.DataFrame:
    """One row for each combination of the keys, which come first, then the columns.

    keys: What each key is called in the result, and in the table.
    of: What has one value, in words.

    Raises: `UsageError` for a column that is not there, `InputError` where a combination has several values.
    """
    import pandas as pd

    columns = [name for name in columns if name not in keys]
    if missing := [name for name in columns if name not in table.columns]:
        there = list(table.columns)
        hint = did_you_mean(missing[0], there)
        raise UsageError(f"no column {missing[0]!r}{hint}; as it was read, the table has {there}")
    named: Any
    if isinstance(table, pd.DataFrame):
        named = table[[*keys.values(), *columns]].set_axis([*keys, *columns], axis=1)
    else:
        ids = {name: table[there].cast("string") for name, there in keys.items()}
        named = fetch(table.select(**ids, **{name: table[name] for name in columns}).distinct())
    grouped = named.groupby(list(keys), as_index=False)
    if not columns:
        found: pd.DataFrame = grouped.size().drop(columns="size")
        return found
    several = grouped[columns].nunique()
    problems = [
        Problem(
            column=name,
            found=f"several values for item {several['item'][bad].iloc[0]!r}",
            allowed=f"one value for each {of}, to be used in a formula",
            fix=f"Give each {of.partition(' ')[0]} one value before counting.",
        )
        for name in columns
        if (bad := several[name] > 1).any()
    ]
    if problems:
        raise InputError(problems)
    first: pd.DataFrame = grouped[columns].first()
    return first
