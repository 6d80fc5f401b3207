"""Labels that look chosen: a posterior with labels weighed by how likely they were, and what it would take.

If the permutation test finds that labelled items differ from the others in what the judge said of them, two
things are set next to the headline, which holds only where each answer was chosen by its own verdict. The
posterior is fitted again with labels weighed by 1/π, π from a ridge logit of "labelled" on each item's
mean verdict and disagreement; where some answers of an item have a label and others none, of each answer on
its own verdict and its model too, for 1/π weighs an answer, not its item. And a table of sensitivity says
what accuracies and differences become when, among answers with one verdict, the odds of a right one differ by
a factor Γ between unlabelled and labelled (Rosenbaum 2002, *Observational studies*, §4): no data can bound Γ, a
reader may.
"""

from __future__ import annotations

import bisect
import functools
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from bayesjudge.baselines.common.columns import MINUS
from bayesjudge.counts import ItemPatterns, VerdictCounts
from bayesjudge.estimates.posterior import share_positive, summary_rows
from bayesjudge.inference import Fit
from bayesjudge.model import ShiftsAccuracy, lacks

type Array = NDArray[np.float64]

#: Level of the permutation test of even labelling.
LEVEL = 0.01
#: Factors Γ that the table shows, and those among which the one that tips a difference is looked for.
FACTORS = (1.0, 2.0, 3.0)
GRID = tuple(np.geomspace(1.0, 50.0, 41).tolist())
#: Ridge penalty of the logit's slopes, on features of standard deviation 1.
_RIDGE = 1.0


def looks_chosen(tested: pd.DataFrame) -> bool:
    """Whether the test of even labelling rejects, from its table (no row where there was nothing to test)."""
    return bool(len(tested)) and float(tested["p"].min()) <= LEVEL


def estimated_weights(counts: VerdictCounts) -> VerdictCounts:
    """The same counts of one judge, with probabilities of being labelled estimated from its verdicts.

    Models without labels have no part in it. Where everything has a label, or nothing, there is nothing to
    estimate and the counts come back as they are.
    """
    judge = counts.judges[0]
    patterns = counts.items[judge]
    judged, n = patterns.runs > 0, patterns.n
    given = judged & (patterns.label >= 0)
    asked = judged & given.any(axis=0)
    whole = not (given.any(axis=1, keepdims=True) & asked & ~given).any()
    if not given.any() or (given == asked).all():
        return counts
    features = _item_features(patterns)
    if whole:
        chance = _fitted(given.any(axis=1), features, n)[:, None]
    else:
        row = np.nonzero(asked)[0]
        chance = np.zeros(given.shape)
        chance[asked] = _fitted(given[asked], np.hstack([features[row], _answer_features(patterns)[asked]]), n[row])
    probability = np.where(given, chance, 0.0)
    return replace(counts, items={judge: replace(patterns, probability=probability)})


def _item_features(patterns: ItemPatterns) -> Array:
    """Mean verdict and disagreement of each item (R, 2)."""
    answers = np.maximum((patterns.runs > 0).sum(axis=1), 1)
    mean = _verdict(patterns).sum(axis=1) / answers
    return np.column_stack([mean, 4 * mean * (1 - mean)])


def _answer_features(patterns: ItemPatterns) -> Array:
    """Own verdict, its disagreement between runs, and model of each answer (R, M, 2 + M)."""
    own = _verdict(patterns)
    models = np.broadcast_to(np.eye(own.shape[1]), (*own.shape, own.shape[1]))
    return np.concatenate([np.stack([own, 4 * own * (1 - own)], axis=2), models], axis=2)


def _verdict(patterns: ItemPatterns) -> Array:
    return np.asarray(patterns.positives / np.maximum(patterns.runs, 1))


def _fitted(labelled: NDArray[np.bool_], features: Array, count: NDArray[np.int64]) -> Array:
    """P(labelled) of each row of features (R, K), which ``count`` items or answers have, by a ridge logit."""
    from scipy.optimize import minimize

    n = count.astype(float)
    centred = features - np.average(features, axis=0, weights=n)
    spread = np.sqrt(np.average(centred**2, axis=0, weights=n))
    x = np.column_stack([np.ones(len(n)), centred / np.where(spread > 0, spread, 1.0)])
    penalty = np.r_[0.0, np.full(features.shape[1], _RIDGE)]

    def loss(b: Array) -> tuple[float, Array]:
        logit = x @ b
        value = n @ (np.logaddexp(0.0, logit) - labelled * logit) + (penalty * b**2).sum() / 2
        return float(value), x.T @ (n * (expit(logit) - labelled)) + penalty * b

    return np.asarray(expit(x @ minimize(loss, np.zeros(len(penalty)), jac=True, method="BFGS").x))


def tipping_table(one: Fit, *, prob: float, **mix: Any) -> pd.DataFrame:
    """Accuracies and differences at each Γ, one row each; ``mix`` goes to the model's `accuracy_if`.

    ``odds`` multiplies the odds of a right answer among unlabelled answers of the model, for a difference of
    its first model, and divides them for the second, which is the worst case. ``tips at`` is the smallest Γ
    of `GRID` at which that difference is no longer sure at the level of the intervals: 1 where it is not sure
    as it is, infinite where the largest does not tip it.
    """
    model = one.model
    if not isinstance(model, ShiftsAccuracy):
        raise lacks(model, ShiftsAccuracy)

    @functools.cache
    def draws(odds: float) -> Any:
        return model.accuracy_if(one.posterior, one.data, odds=odds, **mix)

    fixed: dict[str, Any] = {"method": model.label, "prob": prob, "n": one.data.units}
    shown = sorted({*FACTORS, *(1 / factor for factor in FACTORS)})
    found = [{**row, "odds": odds} for odds in shown for row in summary_rows(draws(odds), estimand="accuracy", **fixed)]
    tail = (1 - prob) / 2
    for a, b in combinations(list(one.data.coords["system"]), 2):
        for odds in shown:
            gap = draws(odds).sel(system=a) - draws(1 / odds).sel(system=b)
            lower, upper = np.quantile(gap, [tail, 1 - tail])
            found.append(
                {
                    "estimand": "difference",
                    "unit": f"{a} {MINUS} {b}",
                    "odds": odds,
                    "point": float(gap.mean()),
                    "lower": float(lower),
                    "upper": float(upper),
                    "p_positive": float(share_positive(gap)),
                    "tips at": _tips(draws, a, b, tail) if odds == 1 else np.nan,
                }
            )
    columns = ["estimand", "unit", "odds", "point", "lower", "upper", "p_positive", "tips at"]
    return pd.DataFrame(found).reindex(columns=columns)


def _tips(draws: Callable[[float], Any], a: str, b: str, tail: float) -> float:
    """Smallest Γ of the grid against the leading model; the lead shrinks with Γ, so that it is bisected."""
    first, second = (a, b) if float((draws(1.0).sel(system=a) - draws(1.0).sel(system=b)).mean()) > 0 else (b, a)

    def lost(gamma: float) -> bool:
        lead = draws(1 / gamma).sel(system=first) - draws(gamma).sel(system=second)
        return float((lead > 0).mean()) < 1 - tail

    place = bisect.bisect_left(GRID, True, key=lost)
    return GRID[place] if place < len(GRID) else np.inf
