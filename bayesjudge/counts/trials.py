"""Sufficient statistics of repeated comparisons: outcomes of each judge on each item under each condition.

Whatever treats the trials of a cell as exchangeable depends on the rows only through these counts, so one
pass over the rows (DuckDB by default, any Ibis backend) is all that grows with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.counts.conditions import RepeatCounts, coded_events, event_rows, require_rows
from bayesjudge.counts.key_columns import columns_by
from bayesjudge.counts.memory import GivenTable, IbisTable, fetch
from bayesjudge.errors import InputError, Problem, UsageError
from bayesjudge.tables import Trials
from bayesjudge.tables.columns import require_table
from bayesjudge.tables.trials import TRIALS
from bayesjudge.tables.words import OUTCOME, OUTCOMES

_SIGNS = {"ab": 1, "ba": -1, "": 0}


@dataclass(frozen=True, eq=False, kw_only=True)
class TrialCounts(RepeatCounts):
    """How often each outcome occurred in each of R cells (judge, item, condition, order).

    order: 1 where response a was shown first, -1 where b was, 0 where it was not recorded.
    n: Trials that ended a, b, tie.
    columns: One row an item, ``item`` and the columns that formulas name, where they were asked for.
    single: As in `Trials`.
    """

    of_cells: ClassVar[tuple[str, ...]] = ("order", "n")

    order: NDArray[np.int64]
    n: NDArray[np.int64]
    columns: pd.DataFrame | None = None
    single: bool = False

    @property
    def grid(self) -> int:
        """Cells of every judge on every item, asked or not, under as many conditions and orders as any had."""
        _, cells = np.unique(np.stack([self.judge, self.item]), axis=1, return_counts=True)
        return len(self.judges) * len(self.items) * int(cells.max(initial=0))

    def repeated(self) -> TrialCounts:
        """Counts of the items that a judge judged more than once alone; the other trials count as dropped."""
        _, cell = np.unique(np.stack([self.judge, self.item]), axis=1, return_inverse=True)
        trials = np.bincount(cell.reshape(-1), weights=self.n.sum(axis=1))
        again = np.unique(self.item[trials[cell.reshape(-1)] > 1])
        if len(again) in {0, len(self.items)}:
            return self
        kept = self.for_items(self.items[i] for i in again)
        once = int(self.n.sum() - kept.n.sum())
        return replace(kept, dropped={**kept.dropped, "item that each judge judged once": once})


def count_trials(trials: Trials | GivenTable, *, columns: Sequence[str] | None = None) -> TrialCounts:
    """Count outcomes in one pass where the data lives.

    trials: A validated table, or an Ibis expression with the columns of `Trials` on any backend; outcomes must be
        ``a``, ``b`` or ``tie`` there, orders ``ab`` or ``ba``.
    columns: What formulas name: columns of items, X where there are X_a and X_b.
    """
    if isinstance(trials, Trials) and trials.options:
        raise UsageError("these trials are choices among three options or more: use count_choices")
    require_table(trials, Trials)
    rows = event_rows(trials, TRIALS)
    table = rows.table
    if not isinstance(trials, Trials):
        _require_words(table)
    sums = {f"n_{name}": (table.outcome == name).sum().cast("int64") for name in OUTCOMES}
    frame = rows.fetch(table.group_by(["judge", "item", "prompt", "temperature", "order"]).aggregate(**sums))
    require_rows(frame, TRIALS)
    names, (item, judge, condition) = coded_events(frame, rows.categories)
    order = frame["order"].map(_SIGNS).to_numpy().astype(np.int64)
    place = np.lexsort((order, condition, item, judge))
    return TrialCounts(
        **names,
        item=item[place],
        judge=judge[place],
        condition=condition[place],
        order=order[place],
        n=frame[list(sums)].to_numpy(np.int64)[place],
        dropped=rows.dropped,
        warnings=rows.warnings,
        columns=None if columns is None else _columns(trials, columns),
        single=isinstance(trials, Trials) and trials.single,
    )


def _columns(trials: Trials | GivenTable, columns: Sequence[str]) -> pd.DataFrame:
    """One row an item; of X that is not there, X_a and X_b."""
    table = trials.frame if isinstance(trials, Trials) else trials
    sided = [name for name in columns if name not in table.columns and {f"{name}_a", f"{name}_b"} <= {*table.columns}]
    there = [name for name in columns if name not in sided]
    return columns_by(table, {"item": "item"}, [*there, *(f"{x}_{side}" for x in sided for side in "ab")], of="item")


def _require_words(table: IbisTable) -> None:
    """Refuse what a database calls otherwise: recoding it is the database's work."""
    problems = []
    for column, allowed in (("outcome", OUTCOMES), ("order", tuple(_SIGNS))):
        odd = fetch(table.filter(~table[column].isin(allowed)).select(column).distinct().limit(5))
        if len(odd):
            found = ", ".join(map(repr, sorted(odd[column])))
            known = OUTCOME if column == "outcome" else "ab, ba or missing"
            fix = "Recode it where the data lives, or use read_trials."
            problems.append(Problem(column=column, found=found, allowed=known, fix=fix))
    if problems:
        raise InputError(problems)
