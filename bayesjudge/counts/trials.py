"""Sufficient statistics of repeated verdicts, by judge, item and condition: comparisons, and choices among options.

Whatever treats the trials of a cell as exchangeable depends on the rows only through these counts, so one
pass over the rows (DuckDB by default, any Ibis backend) is all that grows with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.counts.conditions import RepeatCounts, categories_of, coded_events, event_rows, require_rows, stood_in
from bayesjudge.counts.key_columns import columns_by
from bayesjudge.counts.memory import GivenTable, IbisTable, fetch
from bayesjudge.errors import InputError, Problem, UsageError
from bayesjudge.tables import Trials
from bayesjudge.tables.columns import require_table
from bayesjudge.tables.trials import GIVEN_ITEM, TRIALS
from bayesjudge.tables.words import OUTCOME, OUTCOMES

#: Value of ``cluster`` that takes items as independent.
NO_CLUSTER = "none"
_SIGNS = {"ab": 1, "ba": -1, "": 0}


@dataclass(frozen=True, eq=False, kw_only=True)
class TrialCounts(RepeatCounts):
    """How often each outcome occurred in each of R cells (judge, item, condition, order).

    order: 1 where response a was shown first, -1 where b was, 0 where it was not recorded.
    n: Trials that ended a, b, tie.
    cluster: Code of what each item goes together with (I,), where items do; intervals are then for new clusters.
    columns: One row an item, ``item`` and the columns that formulas name, where they were asked for.
    single: As in `Trials`.
    """

    of_cells: ClassVar[tuple[str, ...]] = ("order", "n")
    of_items: ClassVar[tuple[str, ...]] = ("cluster",)

    order: NDArray[np.int64]
    n: NDArray[np.int64]
    cluster: NDArray[np.int64] | None = None
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


def count_trials(
    trials: Trials | GivenTable, *, columns: Sequence[str] | None = None, cluster: str | None = None
) -> TrialCounts:
    """Count outcomes in one pass where the data lives.

    trials: A validated table, or an Ibis expression with the columns of `Trials` on any backend; outcomes must be
        ``a``, ``b`` or ``tie`` there, orders ``ab`` or ``ba``.
    columns: What formulas name: columns of items, X where there are X_a and X_b.
    cluster: Column of items that go together; by default the item as it was named, where each pair of its models was
        made an item; ``"none"``: items are independent.
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
        cluster=_clusters(trials, names["items"], cluster),
        columns=None if columns is None else _columns(trials, columns),
        single=isinstance(trials, Trials) and trials.single,
    )


def _clusters(trials: Trials | GivenTable, items: Sequence[str], cluster: str | None) -> NDArray[np.int64] | None:
    """Code of each item's cluster; an item without one is alone."""
    table = trials.frame if isinstance(trials, Trials) else trials
    name = cluster or (GIVEN_ITEM if GIVEN_ITEM in table.columns else NO_CLUSTER)
    if name == NO_CLUSTER:
        return None
    found = columns_by(table, {"item": "item"}, [name], of="item", use="be what items are drawn by")
    value = found.set_index("item").reindex(list(items))[name]
    codes, known = pd.factorize(value)
    alone = codes < 0
    codes[alone] = len(known) + np.arange(alone.sum())
    count = len(known) + int(alone.sum())
    if count < 2 and cluster:
        raise UsageError(f"column {name!r} has one value: intervals for new ones need two or more; leave cluster out")
    return None if count < 2 or count == len(items) else np.asarray(codes, dtype=np.int64)


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


type Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class ChoiceCounts(RepeatCounts):
    """How often each option was chosen in each of R cells (judge, item, condition, arrangement).

    options: Labels of each item's options; K is the largest number of them.
    truth: Place of each item's right option, −1 where there is none.
    slots: Slot of each option, from 0; K where the order was not recorded, −1 where the item has fewer options.
    n: Trials that ended with each option, then ties.
    slot_n: Trials whose chosen option is known to have stood in each slot.
    """

    of_cells: ClassVar[tuple[str, ...]] = ("slots", "n", "slot_n")
    of_items: ClassVar[tuple[str, ...]] = ("options", "truth")

    options: tuple[tuple[str, ...], ...]
    truth: Codes
    slots: Codes
    n: Codes
    slot_n: Codes

    @property
    def recorded(self) -> NDArray[np.bool_]:
        """Whether each cell's order was recorded (R,)."""
        return np.asarray((self.slots < self.slots.shape[1]).all(axis=1))


def count_choices(trials: Trials) -> ChoiceCounts:
    """Count what was chosen in every arrangement."""
    if not trials.options:
        raise UsageError("these trials are comparisons of two responses, a and b: use count_trials")
    frame = stood_in(trials.frame)
    names, (item, judge, condition) = coded_events(frame, categories_of(frame))
    order, arrangement = np.unique(frame["order"].fillna(""), return_inverse=True)
    options = tuple(trials.options[name] for name in names["items"])
    slot = frame["slot"].to_numpy()
    most = int(max(*map(len, options), np.nanmax(slot, initial=0)))
    keys = np.column_stack([judge, item, condition, arrangement.reshape(-1)])
    cells, cell = np.unique(keys, axis=0, return_inverse=True)
    cell = cell.reshape(-1)
    n, slot_n = np.zeros((len(cells), most + 1), dtype=np.int64), np.zeros((len(cells), most), dtype=np.int64)
    np.add.at(n, (cell, _places(options, item, frame["outcome"], most)), 1)
    known = ~np.isnan(slot)
    np.add.at(slot_n, (cell[known], slot[known].astype(np.int64) - 1), 1)
    right = frame.dropna(subset=["truth"]).drop_duplicates("item").set_index("item")["truth"]
    truth = [(labels, right.get(name)) for name, labels in zip(names["items"], options, strict=True)]
    return ChoiceCounts(
        **names,
        options=options,
        truth=np.array([labels.index(label) if label in labels else -1 for labels, label in truth]),
        judge=cells[:, 0],
        item=cells[:, 1],
        condition=cells[:, 2],
        slots=np.array([_slots(options[i], str(order[a]), most) for _, i, _, a in cells]),
        n=n,
        slot_n=slot_n,
        dropped=trials.dropped,
        warnings=trials.warnings,
    )


def _places(options: Sequence[tuple[str, ...]], item: Codes, outcome: pd.Series[Any], tie: int) -> Codes:
    """Place of each row's outcome among its item's options; the last is a tie."""
    place = [{**{label: k for k, label in enumerate(labels)}, "tie": tie} for labels in options]
    return np.array([place[i][label] for i, label in zip(item, outcome, strict=True)], dtype=np.int64)


def _slots(labels: tuple[str, ...], order: str, most: int) -> list[int]:
    """Slot of each option in an order; see `ChoiceCounts.slots`."""
    shown = order.split(",")
    places = [shown.index(label) if order else most for label in labels]
    return places + [-1] * (most - len(places))
