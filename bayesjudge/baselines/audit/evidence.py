"""What every audit method starts from: verified positives, unverified decisions, and the share consistent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.baselines.common.intervals import normal_quantile, wald, wilson
from bayesjudge.counts.pairs import Directions, directions
from bayesjudge.errors import InputError, Problem, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bayesjudge.tables import Pairs

__all__ = ["Audit", "Evidence", "by_item", "consistency", "gather", "measured_share"]

NOTHING_VERIFIED = ("no verified pair", "Let people choose on some pairs (human_prefers).")


@dataclass(frozen=True, eq=False, kw_only=True)
class Evidence:
    """Places of the decisions that a method works on, and their directions.

    Attributes
    ----------
    about : Directions
        Of every row of the table.
    positive : int array (p,)
        Verified decisions that people agree with and that have a direction.
    negative : int array
        Verified ones that people disagree with and that have a direction.
    unverified : int array (u,)
        Rows that nobody verified.
    category : int array (n,)
        Code of every row's question type, −1 where it has none.
    """

    about: Directions
    positive: NDArray[np.int64]
    negative: NDArray[np.int64]
    unverified: NDArray[np.int64]
    category: NDArray[np.int64]

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Which of the unverified decisions have a direction (u,)."""
        return self.about.usable[self.unverified]


def gather(pairs: Pairs, *, without: NDArray[np.int64] | None = None) -> Evidence:
    """Evidence of a table, leaving some verified rows out of the positives and negatives.

    Raises
    ------
    InputError
        No embeddings, nobody verified anything, nothing to audit, or no positive with a direction.
    """
    if not pairs.dimensions:
        raise InputError([_problem("no embeddings", "Give embeddings of both responses, or an encoder.")])
    if not pairs.verified.any():
        raise InputError([_problem(*NOTHING_VERIFIED)])
    if pairs.verified.all():
        raise InputError(
            [_problem("no unverified pair", "There is nothing left to audit: all are verified.")]
        )
    about, agrees = directions(pairs), pairs.agrees
    used = about.usable.copy()
    if without is not None:
        used[without] = False
    positive = np.flatnonzero(used & (agrees == 1))
    if not len(positive):
        told = "no verified pair that people agree with and that has a direction"
        fix = "Verify more pairs, or use embeddings that tell the responses apart."
        raise InputError([_problem(told, fix)])
    codes = np.asarray(pairs.frame["category"].astype("category").cat.codes, dtype=np.int64)
    return Evidence(about=about, positive=positive, negative=np.flatnonzero(used & (agrees == 0)),
                    unverified=np.flatnonzero(~pairs.verified), category=codes)  # fmt: skip


def measured_share(
    pairs: Pairs, share: float | None, *, held_out: float, seed: int
) -> tuple[float, NDArray[np.int64]]:
    """The share s of consistent decisions, and the verified rows that were held out to measure it.

    A share that was given is taken as it is. Measured, it is kept half a pair away from 0 and 1: no number
    of held-out pairs shows that a judge is never wrong, or always.
    """
    verified = np.flatnonzero(pairs.verified)
    if not len(verified):
        raise InputError([_problem(*NOTHING_VERIFIED)])
    if share is not None:
        if not 0 < share <= 1:
            raise UsageError(f"share={share} must lie above 0 and not above 1")
        return share, verified[:0]
    if not 0 < held_out < 1:
        raise UsageError(f"held_out={held_out} must lie between 0 and 1")
    count = max(round(held_out * len(verified)), 1)
    rows = np.random.default_rng(seed).permutation(by_item(pairs, verified))[:count]
    found = float(pairs.agrees[rows].mean())
    return float(np.clip(found, 0.5 / count, 1 - 0.5 / count)), rows


def by_item(pairs: Pairs, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows in order of their items' names, so that what is drawn at random does not hang on row order."""
    names = pairs.frame["item"].to_numpy(dtype=str)[rows]
    return rows[np.argsort(names, kind="stable")]


def _problem(found: str, fix: str) -> Problem:
    return Problem(column="(table)", found=found, fix=fix,
                   allowed="pairs with embeddings, some verified (and agreed with), some not")  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class Audit:
    """Scores and flips of the unverified decisions of a table.

    Attributes
    ----------
    method : str
        Name in tables.
    rows : int array (u,)
        Places of the unverified decisions in the table.
    scores : float array (u,)
        Higher means more like what people confirm, from 0 to 1; NaN where the method cannot say.
    flips : bool array (u,)
        Decisions to turn around.
    figures : mapping of str to float
        What the method found on the way: the share ``s`` of consistent decisions it was given or measured,
        how many positives it used.
    warnings : tuple of str
        What a reader must know.
    """

    method: str
    rows: NDArray[np.int64]
    scores: NDArray[np.float64]
    flips: NDArray[np.bool_]
    figures: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def flipped(self, n: int) -> NDArray[np.bool_]:
        """Flips over all ``n`` rows of the table; verified rows are never flipped."""
        found = np.zeros(n, dtype=bool)
        found[self.rows] = self.flips
        return found


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
