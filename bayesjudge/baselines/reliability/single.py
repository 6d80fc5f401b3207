"""One judge under one condition: means over items with bootstrap intervals, curves and minimum trials."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.baselines.common.columns import rows
from bayesjudge.baselines.reliability.curve import (
    BUDGETS,
    StratumCurve,
    budget_rows,
    curve_frame,
    majority_match,
    minimum_frame,
    minimum_rows,
)
from bayesjudge.baselines.reliability.dirichlet import item_dirichlet
from bayesjudge.baselines.reliability.groups import STRATA
from bayesjudge.baselines.reliability.outcomes import (
    Outcomes,
    bootstrap_column,
    disagreement,
    entropy,
    flip_rate,
    item_means,
    majority,
    resampled_means,
    within_order,
)
from bayesjudge.baselines.reliability.position import UNRECORDED, first_majority, position_effect
from bayesjudge.maths.majority import NEVER_DIFFER, never_differ, trials_label

type Array = NDArray[np.float64]

ALL = "all"
_NO_ORDER = "the order of presentation was not recorded"
#: Method of the rates of trials without end.
LIKELIHOOD = "beta-binomial"
#: Why a mean over items is undefined; by the estimand without its number of trials.
_NOTHING = {
    "flip_rate": "no trials",
    "entropy": "no trials",
    "position_bias": UNRECORDED,
    "flip_rate[same order]": _NO_ORDER,
    "disagreement": "no item has two trials",
    "disagreement[same order]": f"{_NO_ORDER}, or no item has two trials in one order",
    "position_effect": f"{UNRECORDED}, or no item has both orders",
}
#: Lowest and highest value that each mean over items can have.
_BOUNDS = {
    "flip_rate": (0.0, 2 / 3),
    "flip_rate[same order]": (0.0, 2 / 3),
    "disagreement": (0.0, 1.0),
    "disagreement[same order]": (0.0, 1.0),
    "entropy": (0.0, float(np.log2(3.0))),
    "position_bias": (0.0, 1.0),
    "position_effect": (-1.0, 1.0),
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Single:
    """Rows of estimates, curve and minimum trials by stratum, whose they are, and what cannot be said."""

    whose: str
    rows: list[dict[str, Any]]
    curve: pd.DataFrame
    minimum: pd.DataFrame
    warnings: tuple[str, ...]
    undecided: int


def single_judge(
    outcomes: Outcomes,
    stratum: NDArray[Any],
    *,
    targets: Sequence[float],
    prob: float,
    bootstrap: int,
    rng: np.random.Generator,
) -> Single:
    """Everything that needs no second judge or condition; ``stratum`` (I,) of each item."""
    values = _item_values(outcomes)
    match = majority_match(outcomes.n)
    kept = _kept(match)
    stacked = np.hstack([*([column[:, None] for column in values.values()]), *_by_stratum(match, stratum, kept)])
    replicates = resampled_means(stacked, replicates=bootstrap, rng=rng)
    point, width = item_means(stacked), len(values)
    curves = [
        StratumCurve(name, (~np.isnan(stacked[:, place])).sum(axis=0), point[place], replicates[:, place])
        for name, place in _places(width, kept, stratum)
    ]
    fixed = {"prob": prob, "unit": outcomes.judge, "judge": outcomes.judge, "group": outcomes.group}
    made = {name: _of_trials(name, outcomes) for name in values}
    found = []
    for place, (name, column) in enumerate(values.items()):
        mine = _mean_rows(name, column, replicates[:, [place]], outcomes, prob=prob)
        found += [{**row, "estimand": made[name]} for row in mine]
    of_all = _bracket(outcomes.trials)
    whole = budget_rows(curves[0], len(outcomes.item), prob) + minimum_rows(curves[0], targets, prob)
    found += [{**row, "estimand": f"{row['estimand'].removesuffix(']')},{of_all}"} for row in whole]
    found = [{**row, "method": "bootstrap"} for row in found]
    found += [{**row, "method": LIKELIHOOD} for row in _endless(outcomes, targets, prob)]
    if never_differ(outcomes.ordered.reshape(-1, 3)):
        found = [_undefined(row) if row["estimand"].startswith("minimum_trials") else row for row in found]
    return Single(
        whose=outcomes.judge + (f" ({outcomes.group})" if outcomes.group else ""),
        rows=[{**row, **fixed} for row in found],
        curve=pd.concat([curve_frame(one, outcomes, prob) for one in curves], ignore_index=True),
        minimum=pd.concat([minimum_frame(one, outcomes, targets, prob) for one in curves], ignore_index=True),
        warnings=_warnings(outcomes),
        undecided=int(majority(outcomes.n)[1].sum()),
    )


def _bracket(trials: NDArray[np.int64]) -> str:
    """What the bracket of an estimand says of the trials made: it ends it."""
    return f"{trials_label(trials)}]"


def _of_trials(name: str, outcomes: Outcomes) -> str:
    """The estimand with the number of trials that its value depends on."""
    if name == "flip_rate":
        return f"{name}[{_bracket(outcomes.trials)}"
    if name == "flip_rate[same order]" and outcomes.ordered.any():
        inside = outcomes.ordered.sum(2)
        return f"{name.removesuffix(']')},{_bracket(inside[inside > 0])}"
    return name


def _undefined(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, **dict.fromkeys(("point", "lower", "upper"), np.nan), "note": NEVER_DIFFER}


def _endless(outcomes: Outcomes, targets: Sequence[float], prob: float) -> Iterator[dict[str, Any]]:
    """Rates of trials without end, by the distribution of items' probabilities that fits best."""
    items, note = (
        len(outcomes.item),
        "trials of both orders pooled" if (outcomes.ordered.sum(2) > 0).all(1).any() else "",
    )
    fit = item_dirichlet(outcomes.n, prob=prob)
    orders = (outcomes.ordered.sum(2) > 0).sum(1)
    cells, of = outcomes.ordered.reshape(-1, 3), np.repeat(1 / np.maximum(orders, 1), 2)
    within = item_dirichlet(cells, weight=of, prob=prob) if cells.any() else None
    rates = {"flip_rate": fit and fit.flip_rate(), "flip_rate[same order]": within and within.flip_rate()}
    for name, found in rates.items():
        if found:
            yield _likelihood_row(name, found, items, note if name == "flip_rate" else "")
    if fit is not None:
        for trials in BUDGETS:
            point, lower, upper = (items * one for one in fit.error(trials))
            yield _likelihood_row(f"noise_budget[K={trials}]", (point, lower, upper), items, note)
        for target in targets:
            yield _likelihood_row(f"minimum_trials[{target:.0%}]", fit.minimum_trials(target), items, note)


def _likelihood_row(name: str, found: tuple[float, float, float], items: int, note: str) -> dict[str, Any]:
    return {"estimand": name, **dict(zip(("point", "lower", "upper"), found, strict=True)), "n": items, "note": note}


def _item_values(outcomes: Outcomes) -> dict[str, Array]:
    return {
        "flip_rate": flip_rate(outcomes.n),
        "flip_rate[same order]": within_order(flip_rate, outcomes.ordered),
        "disagreement": disagreement(outcomes.n),
        "disagreement[same order]": within_order(disagreement, outcomes.ordered),
        "entropy": entropy(outcomes.n),
        "position_bias": first_majority(outcomes),
        "position_effect": position_effect(outcomes.ordered),
    }


def _kept(match: Array) -> int:
    """Largest K that at least half of the items have."""
    items = (~np.isnan(match)).sum(axis=0)
    return int((2 * items >= items.max(initial=0)).sum())


def _by_stratum(match: Array, stratum: NDArray[Any], kept: int) -> Iterator[Array]:
    for name in _named(stratum):
        inside = np.ones(len(stratum), dtype=bool) if name == ALL else stratum == name
        yield np.where(inside[:, None], match[:, :kept], np.nan)


def _named(stratum: NDArray[Any]) -> list[str]:
    return [ALL, *(name for name in STRATA if (stratum == name).any())]


def _places(start: int, kept: int, stratum: NDArray[Any]) -> Iterator[tuple[str, slice]]:
    for number, name in enumerate(_named(stratum)):
        yield name, slice(start + number * kept, start + (number + 1) * kept)


def _mean_rows(name: str, values: Array, replicates: Array, outcomes: Outcomes, *, prob: float) -> list[dict[str, Any]]:
    known = int((~np.isnan(values)).sum())
    once = name == "flip_rate" and (outcomes.trials == 1).all()
    column = bootstrap_column(
        item_means(values[:, None]),
        replicates,
        n=np.array([float(known)]),
        prob=prob,
        bounds=_BOUNDS[name],
        cautions=["one trial of each item: 0 by definition" if once else ""],
        reasons=["" if known else _NOTHING[name]],
    )
    return rows(column, [""])


def _warnings(outcomes: Outcomes) -> tuple[str, ...]:
    trials = outcomes.trials
    found = []
    if (trials == 1).all():
        found.append("one trial of each item, so nothing is repeated: flip rates are 0 by definition")
    elif trials.min() != trials.max():
        few = "observed flip rates of few trials are too low, and curves end where half of the items do"
        found.append(f"{trials.min()} to {trials.max()} trials an item: {few}")
    if never_differ(outcomes.ordered.reshape(-1, 3)):
        found.append(f"{NEVER_DIFFER}, so no number of repeats is given")
    if not outcomes.ordered.any():
        found.append(UNRECORDED)
    if (outcomes.n[:, 2] == trials).all():
        found.append("every trial is a tie")
    return tuple(found)
