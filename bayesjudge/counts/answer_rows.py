"""Answers with the columns that formulas name, one row for each judge of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from bayesjudge.counts.rows import UNLABELLED, Cells, IbisTable, fetch
from bayesjudge.errors import InputError, Problem, UsageError, did_you_mean
from bayesjudge.tables import Verdicts

if TYPE_CHECKING:
    import ibis.expr.types as ir


def answer_rows(verdicts: Verdicts | ir.Table, cells: Cells, columns: Sequence[str]) -> pd.DataFrame:
    """One row for each judge of an answer, ordered by judge, system and item.

    Columns ``judge, item, system, runs, positives, label`` (-1: none), ``cluster`` and ``probability`` where there are
    such, then ``columns``, which have one value for each answer or none.
    """
    frame = fetch(cells.table).rename(columns={"model": "system"})
    known = [name for name in ("label", "probability") if name in frame]
    # A label may stand on the rows of another judge of the same answer.
    frame[known] = frame.groupby(["item", "system"])[known].transform("max")
    frame["label"] = frame["label"].fillna(UNLABELLED).astype("int64")
    kept = ["judge", "item", "system", "runs", "positives", "cluster", *known]
    frame = frame[[name for name in kept if name in frame]].sort_values(["judge", "system", "item"], ignore_index=True)
    return frame.merge(columns_of_answers(verdicts, columns), on=["item", "system"], how="left", validate="m:1")


def columns_of_answers(verdicts: Verdicts | ir.Table, columns: Sequence[str]) -> pd.DataFrame:
    """One row an answer: item, system and the columns, each of which has one value for an answer or none."""
    there = verdicts.frame.columns if isinstance(verdicts, Verdicts) else verdicts.columns
    columns = [name for name in columns if name not in {"item", "system"}]
    if missing := [name for name in columns if name not in there]:
        raise UsageError(f"no column {missing[0]!r}{did_you_mean(missing[0], there)}; the table has {list(there)}")
    if isinstance(verdicts, Verdicts):
        named = verdicts.frame.rename(columns={"model": "system"})[["item", "system", *columns]]
    else:
        table: IbisTable = verdicts
        ids = {"item": table["item"].cast("string"), "system": table["model"].cast("string")}
        named = fetch(table.select(**ids, **{name: table[name] for name in columns}).distinct())
    answers = named.groupby(["item", "system"], as_index=False)
    if not columns:
        return answers.size().drop(columns="size")
    several = answers[columns].nunique()
    problems = [
        Problem(
            column=name,
            found=f"several values for item {several['item'][bad].iloc[0]!r}",
            allowed="one value for each answer (item and model), to be used in a formula",
            fix="Give each answer one value before counting.",
        )
        for name in columns
        if (bad := several[name] > 1).any()
    ]
    if problems:
        raise InputError(problems)
    return answers[columns].first()
