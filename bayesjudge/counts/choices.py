"""Sufficient statistics of repeated choices among several options: outcomes by judge, item and arrangement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.counts.conditions import RepeatCounts, categories_of, coded_events, stood_in
from bayesjudge.errors import UsageError
from bayesjudge.tables import Trials

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
