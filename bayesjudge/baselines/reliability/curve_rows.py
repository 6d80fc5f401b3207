"""A reliability curve with its replicates, as estimates (noise budget, minimum trials) and as frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.baselines.common.slices import rows
from bayesjudge.baselines.reliability.curve import minimum_trials
from bayesjudge.baselines.reliability.outcomes import Outcomes
from bayesjudge.baselines.reliability.resampling import bootstrap_column

__all__ = ["TIERS", "StratumCurve", "budget_rows", "curve_frame", "minimum_frame", "minimum_rows"]

type Array = NDArray[np.float64]

#: Numbers of trials whose noise budget is reported: one, and the paper's three tiers (section 6.4).
TIERS = (1, 10, 20, 50)


@dataclass(frozen=True, eq=False)
class StratumCurve:
    """Curves (K,) of a stratum with their replicates (B, K)."""

    stratum: str
    items: NDArray[np.int64]
    point: Array
    replicates: Array


def budget_rows(curve: StratumCurve, items: int, prob: float) -> list[dict[str, Any]]:
    """Expected number of items whose majority of K trials is not that of all, were every item like these."""
    found = []
    for trials in TIERS:
        if trials <= len(curve.point):
            place = trials - 1
            column = bootstrap_column(
                items * (1.0 - curve.point[[place]]), items * (1.0 - curve.replicates[:, [place]]),
                n=curve.items[[place]].astype(np.float64), prob=prob, bounds=(0.0, float(items)),
            )  # fmt: skip
            found += [{**row, "estimand": f"noise_budget[K={trials}]"} for row in rows(column, [""])]
    return found


def minimum_rows(curve: StratumCurve, targets: Sequence[float], prob: float) -> list[dict[str, Any]]:
    """Smallest K for each target, as rows of estimates."""
    found = []
    for target, (point, lower, upper) in zip(targets, _minimum(curve, targets, prob), strict=True):
        note = "" if np.isfinite(point) else f"not reached with {len(curve.point)} trials"
        numbers = {"point": point, "lower": lower, "upper": upper, "prob": prob}
        found.append({"estimand": f"minimum_trials[{target:.0%}]", **numbers, "note": note,
                      "n": curve.items.max(initial=0)})  # fmt: skip
    return found


def _minimum(
    curve: StratumCurve, targets: Sequence[float], prob: float
) -> Iterator[tuple[float, float, float]]:
    """Smallest K for each target, and the quantiles of its replicates; infinite where none reaches it."""
    for target in targets:
        point = minimum_trials(curve.point, target)
        drawn = minimum_trials(curve.replicates, target)
        drawn = np.where(np.isnan(drawn), np.inf, drawn)
        limits = (1.0 - prob) / 2.0, (1.0 + prob) / 2.0
        lower, upper = np.quantile(drawn, limits, method="inverted_cdf") if len(drawn) else (np.nan, np.nan)
        yield float(np.where(np.isnan(point), np.inf, point)), float(lower), float(upper)


def curve_frame(curve: StratumCurve, outcomes: Outcomes, prob: float) -> pd.DataFrame:
    """The curve with its band, one row a number of trials."""
    column = bootstrap_column(curve.point, curve.replicates, n=curve.items.astype(np.float64), prob=prob,
                              bounds=(0.0, 1.0))  # fmt: skip
    return pd.DataFrame({
        "judge": outcomes.judge, "group": outcomes.group, "stratum": curve.stratum,
        "trials": np.arange(1, len(curve.point) + 1), "point": column.point, "lower": column.lower,
        "upper": column.upper, "items": curve.items,
    })  # fmt: skip


def minimum_frame(
    curve: StratumCurve, outcomes: Outcomes, targets: Sequence[float], prob: float
) -> pd.DataFrame:
    """Smallest K for each target, one row a target."""
    point, lower, upper = np.array(list(_minimum(curve, targets, prob))).reshape(-1, 3).T
    return pd.DataFrame({
        "judge": outcomes.judge, "group": outcomes.group, "stratum": curve.stratum,
        "target": list(targets), "point": point, "lower": lower, "upper": upper,
    })  # fmt: skip
