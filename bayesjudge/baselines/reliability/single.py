"""One judge under one condition: means over items with bootstrap intervals, curves and minimum trials."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.baselines.reliability.curve import (
    BUDGETS,
    StratumCurve,
    budget_rows,
    curve_frame,
    kept_trials,
    majority_match,
    minimum_frame,
    minimum_rows,
)
from bayesjudge.baselines.reliability.dirichlet import item_dirichlet
from bayesjudge.baselines.reliability.means import ItemMean, item_means, mean_rows, resampled_means
from bayesjudge.baselines.reliability.outcomes import (
    UNRECORDED,
    Outcomes,
    disagreement,
    entropy,
    first_majority,
    flip_rate,
    majority,
    mixed_disagreement,
    position_effect,
    within_order,
)
from bayesjudge.baselines.reliability.significance import STRATA
from bayesjudge.maths.majority import NEVER_DIFFER, never_differ, of_orders_shown, trials_label

ALL = "all"
_NO_ORDER = "the order of presentation was not recorded"
#: Method of the rates of infinitely many trials.
LIKELIHOOD = "beta-binomial"


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
    means = _means(outcomes)
    match = majority_match(outcomes.n)
    match = match[:, : kept_trials(match)]
    strata = [ALL, *(name for name in STRATA if (stratum == name).any())]
    inside = [np.where((stratum[:, None] == name) | (name == ALL), match, np.nan) for name in strata]
    stacked = np.hstack([*(mean.by_item[:, None] for mean in means.values()), *inside])
    replicates = resampled_means(stacked, replicates=bootstrap, rng=rng, cluster=outcomes.cluster)
    curves = [
        StratumCurve(name, (~np.isnan(part)).sum(axis=0), item_means(part), drawn)
        for name, part, drawn in zip(
            strata, inside, np.split(replicates[:, len(means) :], len(strata), axis=1), strict=True
        )
    ]
    found = mean_rows(means, replicates, prob=prob)
    ended = f"{trials_label(outcomes.trials)}]"
    for row in (*budget_rows(curves[0], len(outcomes.item), prob), *minimum_rows(curves[0], targets, prob)):
        found.append({**row, "estimand": f"{row['estimand'].removesuffix(']')},{ended}"})
    found += _endless(outcomes, targets, prob)
    if never_differ(outcomes.ordered.reshape(-1, 3)):
        nothing = {**dict.fromkeys(("point", "lower", "upper"), np.nan), "note": NEVER_DIFFER}
        found = [{**row, **nothing} if row["estimand"].startswith("minimum_trials") else row for row in found]
    fixed = {"prob": prob, "unit": outcomes.judge, "judge": outcomes.judge, "group": outcomes.group}
    return Single(
        whose=outcomes.judge + (f" ({outcomes.group})" if outcomes.group else ""),
        rows=[{**row, **fixed} for row in found],
        curve=_by_stratum(partial(curve_frame, prob=prob), curves, outcomes),
        minimum=_by_stratum(partial(minimum_frame, targets=targets, prob=prob), curves, outcomes),
        warnings=_warnings(outcomes),
        undecided=int(majority(outcomes.n)[1].sum()),
    )


def _means(outcomes: Outcomes) -> dict[str, ItemMean]:
    """Every mean over items; the observed flip rate depends on the number of trials, so its estimand names it."""
    n, ordered, why = outcomes.n, outcomes.ordered, outcomes.unordered
    once = "one trial of each item: 0 by definition" if (outcomes.trials == 1).all() else ""
    inside, share, most = ordered.sum(axis=2), (0.0, 1.0), (0.0, 2 / 3)
    same = f"same order,{trials_label(inside[inside > 0])}" if ordered.any() else "same order"
    few = (inside > 0).all(axis=1) & (inside == 1).any(axis=1)
    alone = f"an order has one trial on {few.sum()} of {len(few)} items: too high there if it matters" * bool(few.any())
    no_two = f"{_NO_ORDER}, or no item has two trials in one order"
    return {
        f"flip_rate[{trials_label(outcomes.trials)}]": ItemMean(flip_rate(n), most, "no trials", once),
        f"flip_rate[{same}]": ItemMean(within_order(flip_rate, ordered), most, _NO_ORDER),
        "disagreement": ItemMean(mixed_disagreement(outcomes), share, "no item has two trials", alone),
        "disagreement[same order]": ItemMean(within_order(disagreement, ordered), share, no_two),
        "entropy": ItemMean(entropy(n), (0.0, float(np.log2(3.0))), "no trials"),
        "position_bias": ItemMean(first_majority(outcomes), share, why),
        "position_effect": ItemMean(position_effect(ordered), (-1.0, 1.0), f"{why}, or no item has both orders"),
    }


def _endless(outcomes: Outcomes, targets: Sequence[float], prob: float) -> Iterator[dict[str, Any]]:
    """Rates of infinitely many trials, by the distribution of items' probabilities that fits best."""
    items, tried = len(outcomes.item), outcomes.ordered.sum(axis=2) > 0
    in_both = int(tried.all(axis=1).sum())
    shown = of_orders_shown(in_both, items) if tried.any() else ""
    note = "; ".join(filter(None, ["trials of both orders pooled" * (in_both > 0), shown]))
    cells, weight = outcomes.ordered.reshape(-1, 3), np.repeat(1 / np.maximum(tried.sum(axis=1), 1), 2)
    cluster = outcomes.cluster
    fit = item_dirichlet(outcomes.n, cluster=cluster, prob=prob)
    by_cell = None if cluster is None else np.repeat(cluster, 2)
    within = item_dirichlet(cells, weight=weight, cluster=by_cell, prob=prob) if cells.any() else None
    if fit is not None:
        yield _endless_row("flip_rate", fit.flip_rate(), items, note)
    if within is not None:
        yield _endless_row("flip_rate[same order]", within.flip_rate(), items, "")
    if fit is not None:
        for trials in BUDGETS:
            point, lower, upper = (items * one for one in fit.error(trials))
            yield _endless_row(f"noise_budget[K={trials}]", (point, lower, upper), items, note)
        for target in targets:
            yield _endless_row(f"minimum_trials[{target:.0%}]", fit.minimum_trials(target), items, note)


def _endless_row(name: str, found: tuple[float, float, float], items: int, note: str) -> dict[str, Any]:
    limits = dict(zip(("point", "lower", "upper"), found, strict=True))
    return {"estimand": name, "method": LIKELIHOOD, **limits, "n": items, "note": note}


def _by_stratum(
    table: Callable[[StratumCurve], pd.DataFrame], curves: Sequence[StratumCurve], outcomes: Outcomes
) -> pd.DataFrame:
    """A table of each stratum's curve, under the judge, the condition and the stratum."""
    frames = []
    for curve in curves:
        whose = {"judge": outcomes.judge, "group": outcomes.group, "stratum": curve.stratum}
        frames.append(pd.DataFrame({**whose, **table(curve)}))
    return pd.concat(frames, ignore_index=True)


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
    if not (outcomes.ordered.any() or outcomes.single):
        found.append(UNRECORDED)
    if (outcomes.n[:, 2] == trials).all():
        found.append("every trial is a tie")
    return tuple(found)
