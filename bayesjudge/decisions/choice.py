"""Each system against a reference, with a margin, and what choosing it is expected to cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.errors import UsageError

type Array = NDArray[np.float64]
#: Draws, a column a system, to the loss of choosing each: draws × systems.
type Loss = Callable[[pd.DataFrame], Any]

#: What a system is against the reference, and what is said where none of them is probable enough.
VERDICTS, UNDECIDED = ("better", "equivalent", "worse"), "undecided"


def regret(draws: pd.DataFrame) -> Array:
    """By how much the best system is better than each (S, M): the loss of choosing it.

    Examples
    --------
    >>> regret(pd.DataFrame({"a": [0.5, 0.75], "b": [0.25, 1.0]})).tolist()
    [[0.0, 0.25], [0.25, 0.0]]
    """
    values = draws.to_numpy(dtype=float)
    return np.asarray(values.max(axis=1, keepdims=True) - values)


def loss_of_choosing(draws: pd.DataFrame, loss: Loss = regret) -> tuple[pd.Series, float]:
    """Expected loss of choosing each system, and what perfect information is worth: by how much it lowers the least.

    draws: Joint draws, a column a system, more is better. As wide as they are, so large is the loss: with few labels,
    where intervals cover more than they state, it is an upper limit (models/judge_error/README.md, "Decisions").
    """
    values = np.asarray(loss(draws), dtype=float)
    if values.shape != draws.shape or not np.isfinite(values).all():
        raise UsageError(
            f"loss must give a finite number for each of {draws.shape[0]} draws and each of {draws.shape[1]} systems "
            f"({', '.join(map(str, draws.columns))}); its shape is {values.shape}"
        )
    expected = pd.Series(values.mean(axis=0), index=draws.columns)
    return expected, float(expected.min() - values.min(axis=1).mean())


def compared_with(draws: pd.DataFrame, reference: str, *, margin: float, prob: float) -> pd.DataFrame:
    """Each system against the reference: Δ is the system's value minus the reference's.

    draws: Joint draws, a column a system, more is better.
    margin: Differences up to it, either way, are none that matter.
    prob: A verdict is given from this probability on.

    Returns: By system, ``difference, lower, upper`` (at ``prob``), ``p_better``: P(Δ > margin), ``p_equivalent``,
    ``p_worse`` and ``verdict``; the reference has none of these.

    Examples
    --------
    >>> draws = pd.DataFrame({"old": [0.5] * 4, "new": [0.7, 0.6, 0.8, 0.51]})
    >>> new = compared_with(draws, "old", margin=0.02, prob=0.7).loc["new"]
    >>> float(new["p_better"]), new["verdict"]
    (0.75, 'better')
    """
    gaps = draws.sub(draws[reference], axis=0)
    tails = [(1 - prob) / 2, (1 + prob) / 2]
    chances = pd.DataFrame(
        {
            "p_better": (gaps > margin).mean(),
            "p_equivalent": (gaps.abs() <= margin).mean(),
            "p_worse": (gaps < -margin).mean(),
        }
    )
    likely = chances.to_numpy() >= prob
    verdict = np.where(likely.any(axis=1), np.array(VERDICTS)[likely.argmax(axis=1)], UNDECIDED)
    ends = gaps.quantile(tails).to_numpy()
    found = pd.DataFrame({"difference": gaps.mean(), "lower": ends[0], "upper": ends[1]}, index=draws.columns)
    found = found.join(chances).assign(verdict=verdict.astype(object))
    found.loc[reference, [*found.columns[:-1]]] = np.nan
    found.loc[reference, "verdict"] = ""
    return found
