"""What every audit method starts from: what people chose, unverified verdicts, and the share consistent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.baselines.common.intervals import normal_quantile, wald, wilson
from bayesjudge.counts.pairs import directions
from bayesjudge.errors import InputError, Problem, UsageError, require_choice
from bayesjudge.tables import Pairs

type Anchors = Literal["people", "agreements"]

ANCHORS = ("people", "agreements")
NOTHING_VERIFIED = ("no verified pair", "Let people choose on some pairs (human_prefers).")


@dataclass(frozen=True, eq=False, kw_only=True)
class Evidence:
    """What people chose, and the verdicts that a method works on.

    z: Direction of every verdict, zeros where it has none.
    anchors, chosen: Direction of people's choice and embedding of the response they chose, one a verified pair.
    category: Question type of each of these, −1 where it has none.
    verified: Rows of verified verdicts that have a direction, one for each response of a pair that was chosen.
    unverified: Rows that nobody verified, in the order of `Pairs.rank`, in which sums and ties do not hang on names.
    usable: Which of these have a direction.
    """

    z: NDArray[np.float32]
    anchors: NDArray[np.float32]
    chosen: NDArray[np.float32]
    category: NDArray[np.int64]
    verified: NDArray[np.int64]
    unverified: NDArray[np.int64]
    usable: NDArray[np.bool_]

    def audit(self, method: str, scores: NDArray[np.float64], flips: NDArray[np.bool_], **figures: float) -> Audit:
        """Scores and flips (u,) as an audit, whose rows are in the table's order."""
        order = np.argsort(self.unverified)
        return Audit(
            method=method, rows=self.unverified[order], scores=scores[order], flips=flips[order], figures=figures
        )


def gather(pairs: Pairs, *, anchors: Anchors = "people") -> Evidence:
    """Evidence of a table.

    anchors: Whose directions are anchors: those of every verified pair, turned the way people chose (PUAudit's set P),
        or those of verified verdicts that people agree with.
    """
    require_choice("anchors", anchors, ANCHORS)
    if not pairs.dimensions:
        raise InputError([_problem("no embeddings", "Give embeddings of both responses, or an encoder.")])
    if not pairs.verified.any():
        raise InputError([_problem(*NOTHING_VERIFIED)])
    if pairs.verified.all():
        raise InputError([_problem("no unverified pair", "There is nothing left to audit: all are verified.")])
    about, agrees, item = directions(pairs), pairs.agrees == 1, pairs.frame["item"]
    verified = np.argsort(pairs.rank)
    verified = verified[(pairs.verified & about.usable)[verified]]
    rows = verified[agrees[verified]] if anchors == "agreements" else verified
    rows = rows[~item.iloc[rows].duplicated().to_numpy()]
    if not len(rows):
        kind = "that people agree with and " if anchors == "agreements" else ""
        reason = f"no verified pair {kind}that has a direction"
        fix = "Verify more pairs, or use embeddings that distinguish the responses."
        raise InputError([_problem(reason, fix)])
    right = agrees[rows][:, None]
    codes = np.asarray(pairs.frame["category"].astype("category").cat.codes, dtype=np.int64)
    unverified = np.argsort(pairs.rank)
    unverified = unverified[~pairs.verified[unverified]]
    return Evidence(
        z=about.z,
        anchors=np.where(right, about.z[rows], -about.z[rows]),
        chosen=np.where(right, about.chosen[rows], about.rejected[rows]),
        category=codes[rows],
        verified=verified[~response_of(pairs, verified).duplicated().to_numpy()],
        unverified=unverified,
        usable=about.usable[unverified],
    )


def response_of(pairs: Pairs, rows: NDArray[np.int64]) -> pd.Series[int]:
    """Code of the response that each of some rows chose: verdicts of one pair for one response share it."""
    return pairs.frame.iloc[rows].groupby(["item", "judge_prefers"], sort=False).ngroup()


def measured_share(pairs: Pairs, share: float | None) -> float:
    """The share s of consistent verdicts: as given, or the mean over all verified pairs.

    No anchor has a part in whether people agree with the judge, so that nothing need be held out to measure
    it. Measured, it is kept half a pair away from 0 and 1: no number of pairs shows that a judge is never
    wrong, or always.
    """
    if not pairs.verified.any():
        raise InputError([_problem(*NOTHING_VERIFIED)])
    if share is not None:
        if not 0 < share <= 1:
            raise UsageError(f"share={share} must lie above 0 and not above 1")
        return share
    rows = np.flatnonzero(pairs.verified)
    right = mean_by_pair(pairs.agrees[rows], pairs.frame["item"].to_numpy()[rows])
    return float(np.clip(right.mean(), 0.5 / len(right), 1 - 0.5 / len(right)))


def mean_by_pair(values: NDArray[Any], item: NDArray[Any]) -> NDArray[np.float64]:
    """Means over the rows of each pair, in order of appearance."""
    code = pd.factorize(item)[0]
    return np.asarray(np.bincount(code, weights=values) / np.bincount(code))


def _problem(found: str, fix: str) -> Problem:
    return Problem(
        column="(table)",
        found=found,
        fix=fix,
        allowed="pairs with embeddings, some verified (and agreed with), some not",
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class Audit:
    """Scores and flips of the unverified verdicts of a table.

    Attributes
    ----------
    method : str
        Name in tables.
    rows : int array (u,)
        Places of the unverified verdicts in the table.
    scores : float array (u,)
        Higher means more like what people confirm, from 0 to 1; NaN where the method cannot say.
    flips : bool array (u,)
        Verdicts to turn around.
    figures : mapping of str to float
        What the method found on the way: the share ``s`` of consistent verdicts it was given or measured,
        how many anchors it used.
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
    agrees: NDArray[Any],
    flipped: NDArray[np.bool_],
    *,
    method: str,
    prob: float = 0.95,
    pair: Sequence[Any] | NDArray[Any] | None = None,
    category: Sequence[str] | NDArray[Any] | None = None,
) -> list[dict[str, Any]]:
    """Rows for `Estimates`: consistency after the audit, and the gain over leaving everything.

    Parameters
    ----------
    agrees : array (n,)
        Whether people agree with each verdict, on pairs the method did not learn from.
    flipped : bool array (n,)
        Whether the method turned the verdict around.
    method : str
        Written to each row.
    prob : float
        Probability of the intervals: Wilson's for the share, at the number of pairs that a binomial share
        with its variance would have (with ½ among 0 and 1 it is larger); normal for the gain.
    pair : array (n,), optional
        Pair of each verdict; the two verdicts of a pair count as one, with their mean. By default every
        verdict is about a pair of its own.
    category : array of str (n,), optional
        Also rows for each category, in column ``group``.

    Returns
    -------
    list of dict
        Estimands ``consistency`` and ``gain``; unit ``all`` or the category; ``n`` counts pairs.
    """
    right = np.asarray(agrees, dtype=float)
    after = np.where(flipped, 1.0 - right, right)
    item = np.arange(len(right)) if pair is None else np.asarray(pair)
    rows = _rows(mean_by_pair(right, item), mean_by_pair(after, item), "all", method, prob)
    if category is not None:
        names = np.array([str(one) for one in category], dtype=object)
        for name in sorted(set(names.tolist())):
            mine = names == name
            before, now = (mean_by_pair(values[mine], item[mine]) for values in (right, after))
            rows += _rows(before, now, name, method, prob)
    return rows


def _rows(
    before: NDArray[np.float64], after: NDArray[np.float64], unit: str, method: str, prob: float
) -> list[dict[str, Any]]:
    n, z = len(before), normal_quantile(prob)
    common = {"unit": unit, "method": method, "prob": prob, "n": n, "group": "" if unit == "all" else unit}
    share, gain = after.mean(), after - before
    low, high = wilson(np.asarray(share), np.asarray(_as_binomial(after)), z)
    spread = gain.var(ddof=1) / n if n > 1 else np.nan
    below, above = wald(np.asarray(gain.mean()), np.asarray(spread), z)
    note = "" if n > 1 else "one pair: no interval"
    return [
        {**common, "estimand": "consistency", "point": float(share), "lower": float(low), "upper": float(high)},
        {
            **common,
            "estimand": "gain",
            "point": float(gain.mean()),
            "note": note,
            "lower": float(np.nan_to_num(below, nan=-1.0)),
            "upper": float(np.nan_to_num(above, nan=1.0)),
        },
    ]


def _as_binomial(values: NDArray[np.float64]) -> float:
    """Number of zeros and ones whose mean would vary as the mean of these values does."""
    share = float(values.mean())
    most, spread = share * (1 - share), float(values.var())
    # Equal values leave rounding errors as their variance; 1e12 pairs have no interval to speak of.
    return len(values) * (min(most / max(spread, 1e-15), 1e12) if most > 0 else 1.0)
