"""From counts of trials to what `repeated_trials` sees: one row a cell, and what is identified."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.model import Data
from bayesjudge.models.trial_outcomes import OUTCOMES
from bayesjudge.trial_counts import TrialCounts

__all__ = ["CENTRED_FROM", "prepare", "reference"]

#: Trials of an item from which its preference is sampled as it is rather than in units of the spread: with
#: fewer the data say less than the prior, and the centred form funnels.
CENTRED_FROM = 40
#: Name of an unrecorded prompt or of items without a category.
NONE = "(not recorded)"


def prepare(counts: TrialCounts) -> Data:
    """Codes of every cell; temperatures stand in the order of `reference`, the first one having κ = 1."""
    prompts, prompt = _codes([c.prompt for c in counts.conditions])
    temperatures, temperature = _codes([c.temperature for c in counts.conditions])
    total = counts.n.sum(axis=1)
    order = reference(temperature[counts.condition], total, len(temperatures))
    rank = np.argsort(order)
    position_of, ordered = _identified(counts)
    items = np.bincount(counts.item, weights=total, minlength=len(counts.items))
    arrays = {
        "n": counts.n, "total": total, "judge": counts.judge, "item": counts.item, "order": counts.order,
        "condition": counts.condition, "prompt": prompt[counts.condition],
        "temperature": rank[temperature[counts.condition]],
        "category_of": counts.category + int((counts.category < 0).any()), "position_of": position_of,
    }  # fmt: skip
    axes = {"n": ("cell", "outcome"), "category_of": ("item",), "position_of": ("judge",)}
    named = [str(temperatures[k]) for k in order]
    judges = np.array(counts.judges, dtype=object)
    return Data(
        arrays=arrays,
        dims={name: axes.get(name, ("cell",)) for name in arrays},
        coords={
            "cell": tuple(range(len(total))), "outcome": OUTCOMES, "judge": counts.judges,
            "item": counts.items, "prompt": prompts, "other_temperature": tuple(named[1:]),
            "reference_temperature": tuple(named[:1]), "category": _categories(counts),
            "condition": tuple(map(str, counts.conditions)),
            "ordered_judge": tuple(judges[ordered]), "unordered_judge": tuple(judges[~ordered]),
        },
        observed="n", ragged=("cell",),
        facts={"most_trials": int(total.max()), "any_unknown": bool((counts.order == 0).any()),
               "centred": bool(np.median(items) >= CENTRED_FROM), "both_orders": _both_orders(counts)},
        units=_sizes(counts),
    )  # fmt: skip


def reference(temperature: NDArray[np.int64], total: NDArray[np.int64], count: int) -> list[int]:
    """Codes of temperatures, the most tried first (of equals the lowest), then the others as they come.

    Examples
    --------
    >>> reference(np.array([0, 1, 1]), np.array([5, 5, 5]), 2)
    [1, 0]
    """
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
    """Whether each judge was shown responses in both orders: else γ and preference cannot be told apart."""
    return tuple(
        bool({1, -1} <= set(counts.order[counts.judge == j].tolist())) for j in range(len(counts.judges))
    )


def _sizes(counts: TrialCounts) -> dict[str, int]:
    """Items behind each judge."""
    return {judge: len(np.unique(counts.item[counts.judge == j])) for j, judge in enumerate(counts.judges)}
