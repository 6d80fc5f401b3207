"""Consistency with people before and after an audit, with intervals, over all and for each category."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.baselines.common.intervals import normal_quantile, wald, wilson

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["consistency"]


def consistency(
    agrees: NDArray[Any], flipped: NDArray[np.bool_], *, method: str, prob: float = 0.95,
    category: Sequence[str] | NDArray[Any] | None = None,
) -> list[dict[str, Any]]:  # fmt: skip
    """Rows for `Estimates`: consistency after the audit, and the gain over leaving everything.

    Parameters
    ----------
    agrees : array (n,)
        Whether people agree with the judge, on pairs the method did not learn from.
    flipped : bool array (n,)
        Whether the method turned the decision around.
    method : str
        Written to each row.
    prob : float
        Probability of the intervals: Wilson for the share, normal for the gain, whose terms are −1, 0 and 1.
    category : array of str (n,), optional
        Also rows for each category, in column ``group``.

    Returns
    -------
    list of dict
        Estimands ``consistency`` and ``gain``; unit ``all`` or the category.

    Examples
    --------
    >>> rows = consistency(np.array([1, 0, 1, 0]), np.array([False, True, False, False]), method="m")
    >>> [(row["estimand"], row["point"]) for row in rows]
    [('consistency', 0.75), ('gain', 0.25)]
    """
    right = np.asarray(agrees, dtype=float)
    after = np.where(flipped, 1.0 - right, right)
    rows = _rows(right, after, "all", method, prob)
    if category is not None:
        names = np.asarray(category, dtype=object)
        for name in dict.fromkeys(sorted(str(one) for one in names)):
            mine = np.array([str(one) == name for one in names], dtype=bool)
            rows += _rows(right[mine], after[mine], name, method, prob)
    return rows


def _rows(
    before: NDArray[np.float64], after: NDArray[np.float64], unit: str, method: str, prob: float
) -> list[dict[str, Any]]:
    n, z = len(before), normal_quantile(prob)
    common = {"unit": unit, "method": method, "prob": prob, "n": n, "group": "" if unit == "all" else unit}
    share, gain = after.mean(), after - before
    low, high = wilson(np.asarray(share), np.asarray(float(n)), z)
    spread = gain.var(ddof=1) / n if n > 1 else np.nan
    below, above = wald(np.asarray(gain.mean()), np.asarray(spread), z)
    note = "" if n > 1 else "one pair: no interval"
    return [
        {**common, "estimand": "consistency", "point": float(share),
         "lower": float(low), "upper": float(high)},
        {**common, "estimand": "gain", "point": float(gain.mean()), "note": note,
         "lower": float(np.nan_to_num(below, nan=-1.0)), "upper": float(np.nan_to_num(above, nan=1.0))},
    ]  # fmt: skip
