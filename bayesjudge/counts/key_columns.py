"""Further columns of a log, which have one value for each answer, item or response: those that formulas name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from bayesjudge.counts.memory import GivenTable, IbisTable, fetch
from bayesjudge.counts.rows import UNLABELLED, Cells
from bayesjudge.errors import InputError, Problem, UsageError, did_you_mean
from bayesjudge.tables import Verdicts


def columns_by(
    table: pd.DataFrame | IbisTable,
    keys: Mapping[str, str],
    columns: Sequence[str],
    *,
    of: str,
    use: str = "be used in a formula",
) -> pd.DataFrame:
    """One row for each combination of the keys, which come first, then the columns.

    keys: What each key is called in the result, and in the table.
    of: What has one value, in words.
    use: What it has one value for.

    Raises: `UsageError` for a column that is not there, `InputError` where a combination has several values.
    """
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
            allowed=f"one value for each {of}, to {use}",
            fix=f"Give each {of.partition(' ')[0]} one value before counting.",
        )
        for name in columns
        if (bad := several[name] > 1).any()
    ]
    if problems:
        raise InputError(problems)
    first: pd.DataFrame = grouped[columns].first()
    return first


def answer_rows(verdicts: Verdicts | GivenTable, cells: Cells, columns: Sequence[str]) -> pd.DataFrame:
    """One row for each judge of an answer, ordered by judge, system and item.

    Columns ``judge, item, system, runs, positives, label`` (-1: none), ``cluster`` and ``probability`` where there are
    such, then ``columns``, which have one value for each answer or none.

    Raises: `UsageError` for a column that has the name of one of these.
    """
    frame = fetch(cells.table).rename(columns={"model": "system"})
    known = [name for name in ("label", "probability") if name in frame]
    # A label may stand on the rows of another judge of the same answer.
    frame[known] = frame.groupby(["item", "system"])[known].transform("max")
    frame["label"] = frame["label"].fillna(UNLABELLED).astype("int64")
    kept = ["judge", "item", "system", "runs", "positives", "cluster", *known]
    if clash := [name for name in columns if name in {*kept} - {"item", "system"}]:
        raise UsageError(f"column {clash[0]!r} has the name of one that answers are counted by: rename it")
    frame = frame[[name for name in kept if name in frame]].sort_values(["judge", "system", "item"], ignore_index=True)
    return frame.merge(columns_of_answers(verdicts, columns), on=["item", "system"], how="left", validate="m:1")


def columns_of_answers(verdicts: Verdicts | GivenTable, columns: Sequence[str]) -> pd.DataFrame:
    """One row an answer: item, system and the columns, each of which has one value for an answer or none."""
    table = verdicts.frame if isinstance(verdicts, Verdicts) else verdicts
    return columns_by(table, {"item": "item", "system": "model"}, columns, of="answer (item and model)")
