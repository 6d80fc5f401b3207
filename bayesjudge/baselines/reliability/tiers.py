"""The paper's three tiers of trials, checked against a table's own reliability curves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

__all__ = ["TIERS", "Tier", "check_tiers"]


@dataclass(frozen=True, kw_only=True)
class Tier:
    """A recommended number of trials and the share of right majorities that the paper reports for it."""

    name: str
    trials: int
    promised: float


#: Section 6.4 recommends 10, 20 and 50 trials; sections 6.2 and 5.9 report .95 at 11 trials and .97 at 20,
#: and 50 are the paper's own reference, which agrees with itself.
TIERS = (
    Tier(name="minimum", trials=10, promised=0.95),
    Tier(name="standard", trials=20, promised=0.97),
    Tier(name="high stakes", trials=50, promised=1.0),
)


def check_tiers(curves: pd.DataFrame) -> pd.DataFrame:
    """What each tier buys here.

    Parameters
    ----------
    curves : pandas.DataFrame
        `TrialReliability.curves`, or a model's of the same columns.

    Returns
    -------
    pandas.DataFrame
        ``judge, group, stratum, tier, trials, promised, point, lower, upper, verdict``. The verdict compares
        the interval with the promise: ``holds`` (all of it reaches it), ``does not hold`` (none does),
        ``undecided``, or ``too few trials``, where the table has none to tell from.

    Examples
    --------
    >>> curve = pd.DataFrame({"judge": "j", "group": "", "stratum": "all", "trials": [9, 10],
    ...                       "point": [0.9, 0.91], "lower": [0.88, 0.89], "upper": [0.92, 0.93]})
    >>> check_tiers(curve)[["tier", "verdict"]].values.tolist()[:2]
    [['minimum', 'does not hold'], ['standard', 'too few trials']]
    """
    keys = ["judge", "group", "stratum"]
    rows = [{**dict(zip(keys, key, strict=True)), "tier": tier.name, "trials": tier.trials,
             "promised": tier.promised, **_bought(part, tier)}
            for key, part in curves.groupby(keys, sort=False) for tier in TIERS]  # fmt: skip
    names = [*keys, "tier", "trials", "promised", "point", "lower", "upper", "verdict"]
    return pd.DataFrame(rows, columns=names)


def _bought(curve: pd.DataFrame, tier: Tier) -> dict[str, object]:
    """The curve at the tier's trials, or at the most below them where a curve has gaps."""
    if curve["trials"].max() < tier.trials:
        return {"point": np.nan, "lower": np.nan, "upper": np.nan, "verdict": "too few trials"}
    at = curve[curve["trials"] <= tier.trials].sort_values("trials").iloc[-1]
    # A mean of probabilities that are exactly 1 may miss it by rounding.
    promised = tier.promised - 1e-9
    verdict = (
        "holds" if at["lower"] >= promised else "does not hold" if at["upper"] < promised else "undecided"
    )
    return {"point": at["point"], "lower": at["lower"], "upper": at["upper"], "verdict": verdict}
