"""From counts of trials to what `repeated_trials` sees: one row a cell, and what is identified."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.counts.arrays import sums_within
from bayesjudge.counts.trials import TrialCounts
from bayesjudge.effects import POSITION, PREFERENCE, Formula
from bayesjudge.errors import UsageError
from bayesjudge.model import Data
from bayesjudge.models.common.added_terms import added_to, columns_of
from bayesjudge.tables.words import OUTCOMES

#: Correlation of a judge's trials of an item, where its preference is guessed before anything is known.
REPEAT = 0.5
#: What items are drawn by where means are for new ones, of data whose items go together.
CLUSTER = "cluster_of"
#: Name of an unrecorded prompt or of items without a category.
NONE = "(not recorded)"


def prepare(counts: TrialCounts, formulas: Sequence[Formula] = ()) -> Data:
    """Codes of every cell; temperatures stand in the order of `reference`, the first one having κ = 1."""
    added = added_to(counts.judges, _columns(counts, formulas), formulas, axis="item", only=PREFERENCE)
    prompts, prompt = _codes([c.prompt for c in counts.conditions])
    temperatures, temperature = _codes([c.temperature for c in counts.conditions])
    order = reference(temperature[counts.condition], counts.n.sum(axis=1), len(temperatures))
    rank = np.argsort(order)
    position_of, ordered = _identified(counts)
    grid = _grid(counts)
    n, condition = grid.filled(counts.n), grid.filled(counts.condition)
    arrays = {
        "n": n,
        "observed": n,
        "total": n.sum(axis=1),
        "judge": grid.judge,
        "item": grid.item,
        "order": grid.filled(counts.order),
        "condition": condition,
        "prompt": prompt[condition],
        "temperature": rank[temperature[condition]],
        # Of the preference for a, ties counting half.
        "rough": _empirical_logit(counts, counts.n[:, 0] + counts.n[:, 2] / 2),
        "category_of": counts.category + int((counts.category < 0).any()),
        "position_of": position_of,
        "one_sided": one_sided(counts),
        "rough_tie": _empirical_logit(counts, counts.n[:, 2]),
        "one_sided_tie": one_sided_tie(counts),
        **added.arrays,
        **({} if counts.cluster is None else {CLUSTER: counts.cluster}),
    }
    axes = {
        "n": ("cell", "outcome"),
        "observed": ("cell", "outcome"),
        "rough": ("item",),
        "one_sided": ("item",),
        "rough_tie": ("item",),
        "one_sided_tie": ("item",),
        "category_of": ("item",),
        "position_of": ("judge",),
        CLUSTER: ("item",),
        **added.dims,
    }
    named = [str(temperatures[k]) for k in order]
    judges = np.array(counts.judges, dtype=object)
    return Data(
        arrays=arrays,
        dims={name: axes.get(name, ("cell",)) for name in arrays},
        coords={
            "cell": tuple(
                f"{k}: {counts.items[i]} | {counts.judges[j]}"
                for k, (i, j) in enumerate(zip(grid.item, grid.judge, strict=True), start=1)
            ),
            "outcome": OUTCOMES,
            "judge": counts.judges,
            "item": counts.items,
            "prompt": prompts,
            "other_temperature": tuple(named[1:]),
            "reference_temperature": tuple(named[:1]),
            "category": _categories(counts),
            "condition": tuple(map(str, counts.conditions)),
            "ordered_judge": tuple(judges[ordered]),
            "unordered_judge": () if counts.single else tuple(judges[~ordered]),
            **added.coords,
        },
        observed="n",
        facts={
            "most_trials": int(n.sum(axis=1).max()),
            "any_unknown": bool((counts.order == 0).any()) and not counts.single,
            "both_orders": _both_orders(counts),
            "ties": bool(n[:, 2].any()),
            "crossed": _crossed(counts, judge=counts.judge, prompt=prompt[counts.condition]),
            **added.facts,
        },
        units=_sizes(counts),
    )


def _columns(counts: TrialCounts, formulas: Sequence[Formula]) -> pd.DataFrame:
    """The columns of every item."""
    if not formulas:
        return pd.DataFrame(index=range(len(counts.items)))
    if counts.columns is None:
        raise UsageError(
            f"these counts have no columns for formulas: count_trials(trials, columns={columns_of(formulas)})"
        )
    if "N" in counts.columns:
        raise UsageError("a column called N would be taken for the number of trials in the names of rows: rename it")
    unordered = [judge for judge, known in zip(counts.judges, _identified(counts)[1], strict=True) if not known]
    if unordered and any(formula.rate == POSITION for formula in formulas):
        raise UsageError(
            f"a formula of {POSITION} needs the order in which responses were shown, which was not recorded for "
            f"{unordered[0]!r}: leave the formula out, or choose other judges"
        )
    return counts.columns.set_index("item").reindex(list(counts.items)).reset_index(drop=True)


class _Grid(NamedTuple):
    """Cells laid out (slot, judge, item), with room for what was not asked: sums and look-ups are then free.

    A slot is one of the conditions and orders that a judge met an item under, in their order.
    """

    judge: NDArray[np.int64]
    item: NDArray[np.int64]
    place: NDArray[np.int64]

    def filled(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Values of the cells at their places, 0 elsewhere."""
        out = np.zeros((len(self.judge), *values.shape[1:]), dtype=np.int64)
        out[self.place] = values
        return out


def _grid(counts: TrialCounts) -> _Grid:
    """Where each cell stands."""
    judges, items = len(counts.judges), len(counts.items)
    unit = counts.judge * items + counts.item
    rows = np.lexsort((counts.order, counts.condition, unit))
    first = np.searchsorted(unit[rows], unit[rows])
    slot = np.empty(len(unit), dtype=np.int64)
    slot[rows] = np.arange(len(unit)) - first
    judge, item = (part.ravel() for part in np.indices((int(slot.max()) + 1, judges, items))[1:])
    return _Grid(judge, item, slot * judges * items + unit)


def _empirical_logit(counts: TrialCounts, hits: NDArray[Any]) -> NDArray[np.float64]:
    """Empirical logit of every item (Anscombe 1956), trials of a judge counting as correlated by `REPEAT`."""
    shape = (len(counts.judges), len(counts.items))
    trials, found = np.zeros(shape), np.zeros(shape)
    np.add.at(trials, (counts.judge, counts.item), counts.n.sum(axis=1))
    np.add.at(found, (counts.judge, counts.item), hits)
    weight = 1 / (1 + np.maximum(trials - 1, 0) * REPEAT)
    hit, missed = (weight * found).sum(0), (weight * (trials - found)).sum(0)
    return np.asarray(np.log((hit + 0.5) / (missed + 0.5)))


def one_sided(counts: TrialCounts) -> NDArray[np.int64]:
    """1 for an item that only a ever won, −1 for one that only b did, 0 for all others."""
    won = sums_within(counts.n[:, :2], counts.item, len(counts.items))
    alike = (won > 0).sum(axis=1) == 1
    return np.asarray(np.sign(won[:, 0] - won[:, 1]) * alike)


def one_sided_tie(counts: TrialCounts) -> NDArray[np.int64]:
    """−1 for an item that never tied, 1 for one that always did, 0 for all others."""
    a, b, tie = sums_within(counts.n, counts.item, len(counts.items)).T
    return np.asarray((a + b == 0).astype(np.int64) - (tie == 0))


def reference(temperature: NDArray[np.int64], total: NDArray[np.int64], count: int) -> list[int]:
    """Codes of temperatures, the most tried first (of equals the lowest), then the others as they come."""
    trials = np.bincount(temperature, weights=total, minlength=count)
    first = int(trials.argmax())
    return [first, *(k for k in range(count) if k != first)]


def _codes(values: Sequence[Any]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Distinct values as text in their own order, not recorded last, and the code of each."""
    known = sorted({value for value in values if value is not None})
    names = [value if isinstance(value, str) else f"T = {value:g}" for value in known]
    names += [NONE] if None in values else []
    code = [len(known) if value is None else known.index(value) for value in values]
    return tuple(names), np.array(code, dtype=np.int64)


def _categories(counts: TrialCounts) -> tuple[str, ...]:
    return (*((NONE,) if (counts.category < 0).any() else ()), *counts.categories)


def _identified(counts: TrialCounts) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Place of each judge's γ among those with recorded orders, then those without; and which have them."""
    ordered = np.bincount(counts.judge, weights=counts.order != 0, minlength=len(counts.judges)) > 0
    place = np.empty(len(ordered), dtype=np.int64)
    place[ordered] = np.arange(ordered.sum())
    place[~ordered] = ordered.sum() + np.arange((~ordered).sum())
    return place, ordered


def _both_orders(counts: TrialCounts) -> tuple[bool, ...]:
    """Whether each judge was shown responses in both orders: else γ and preference cannot be distinguished."""
    return tuple(bool({1, -1} <= set(counts.order[counts.judge == j].tolist())) for j in range(len(counts.judges)))


def _crossed(counts: TrialCounts, **layers: NDArray[np.int64]) -> tuple[str, ...]:
    """Layers that some item has several of; else their effects cannot be distinguished from the items' own."""
    found = []
    for name, code in layers.items():
        item = np.unique(np.column_stack([counts.item, code]), axis=0)[:, 0]
        found += [name] if len(item) > len(np.unique(item)) else []
    return tuple(found)


def _sizes(counts: TrialCounts) -> dict[str, int]:
    """Items behind each judge."""
    return {judge: len(np.unique(counts.item[counts.judge == j])) for j, judge in enumerate(counts.judges)}
