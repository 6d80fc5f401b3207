"""Answers with the columns that formulas name, one row for each judge of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from bayesjudge.counts.key_columns import columns_by
from bayesjudge.counts.memory import fetch
from bayesjudge.counts.rows import UNLABELLED, Cells
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
    table = verdicts.frame if isinstance(verdicts, Verdicts) else verdicts
    return columns_by(table, {"item": "item", "system": "model"}, columns, of="answer (item and model)")
