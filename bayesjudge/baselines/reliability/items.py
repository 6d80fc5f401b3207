"""One row a judge, condition and item: what was counted there and what follows for that item alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from bayesjudge.baselines.reliability.groups import strata
from bayesjudge.baselines.reliability.outcomes import (
    Outcomes,
    disagreement,
    entropy,
    flip_rate,
    majority,
)
from bayesjudge.baselines.reliability.position import binomial_p, order_p, position_effect
from bayesjudge.counts.trials import TrialCounts
from bayesjudge.tables.words import OUTCOMES

__all__ = ["item_frame"]


def item_frame(counts: TrialCounts, outcomes: Sequence[Outcomes], *, easy: float) -> pd.DataFrame:
    """All items of all judges and conditions.

    Returns
    -------
    pandas.DataFrame
        ``judge, condition, group, item, category, trials, n_a, n_b, n_tie, flip_rate, disagreement, entropy,
        majority`` (a, b, tie), ``shared`` (several outcomes are equally frequent), ``preference_p`` (exact
        binomial of a against b), ``first, second`` (wins of the response shown first and second),
        ``position_p`` (exact binomial of these), ``order_p`` (Fisher: does the winner depend on the order),
        ``position_effect``, ``mean_flip_rate`` (over the judges of the condition) and ``stratum``.
    """
    frame = pd.concat([_one(counts, one) for one in outcomes], ignore_index=True)
    mean = frame.groupby(["condition", "item"], sort=False)["flip_rate"].transform("mean")
    return frame.assign(mean_flip_rate=mean, stratum=strata(mean, easy=easy).astype(object))


def _one(counts: TrialCounts, one: Outcomes) -> pd.DataFrame:
    names = np.array([*counts.categories, None], dtype=object)
    outcome, shared = majority(one.n)
    position = one.position
    return pd.DataFrame({
        "judge": one.judge, "condition": str(one.condition), "group": one.group,
        "item": np.asarray(counts.items, dtype=object)[one.item],
        "category": names[counts.category[one.item]],
        "trials": one.trials, "n_a": one.n[:, 0], "n_b": one.n[:, 1], "n_tie": one.n[:, 2],
        "flip_rate": flip_rate(one.n), "disagreement": disagreement(one.n), "entropy": entropy(one.n),
        "majority": np.asarray(OUTCOMES, dtype=object)[outcome], "shared": shared,
        "preference_p": binomial_p(one.n[:, 0], one.n[:, 1]),
        "first": position[:, 0], "second": position[:, 1],
        "position_p": binomial_p(position[:, 0], position[:, 1]), "order_p": order_p(one.ordered),
        "position_effect": position_effect(one.ordered),
    })  # fmt: skip
