"""What a method must beat: flipping nothing, at random, by distance from a centroid, by neighbours."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.baselines.audit.evidence import Anchors, Audit, gather, measured_share, response_of
from bayesjudge.errors import UsageError
from bayesjudge.tables import Pairs


def flip_nothing(pairs: Pairs) -> Audit:
    """Leave every verdict as it is; the score is the verified share of agreement."""
    rows = np.flatnonzero(~pairs.verified)
    share = float(np.nanmean(pairs.agrees)) if pairs.verified.any() else np.nan
    return Audit(
        method="flip-nothing", rows=rows, scores=np.full(len(rows), share), flips=np.zeros(len(rows), dtype=bool)
    )


def flip_random(pairs: Pairs, *, share: float | None = None, seed: int = 0) -> Audit:
    """Flip a random 1 − s of the verdicts.

    Parameters
    ----------
    pairs : Pairs
        Some verified.
    share
        As in `partial_ot`.
    seed : int
        Of the choice.
    """
    s = measured_share(pairs, share)
    rows = np.flatnonzero(~pairs.verified)
    ranked = rows[np.argsort(pairs.rank[rows])]
    response = response_of(pairs, ranked).to_numpy()
    drawn = np.full(len(pairs), np.nan)
    drawn[ranked] = np.random.default_rng([seed, 1]).random(len(ranked))[response]
    scores = drawn[rows]
    flips = lowest(scores, round((1 - s) * len(rows)))
    return Audit(method="random", rows=rows, scores=scores, flips=flips, figures={"share": s})


def centroid(pairs: Pairs, *, share: float | None = None, anchors: Anchors = "people") -> Audit:
    """Flip the 1 − s of the verdicts whose direction lies furthest from the anchors' mean direction.

    The score is ``(1 + cosine)/2``; the options are those of `partial_ot`.
    """
    s, evidence = measured_share(pairs, share), gather(pairs, anchors=anchors)
    mean = evidence.anchors.mean(axis=0)
    length = float(np.linalg.norm(mean))
    cosine = (evidence.z[evidence.unverified] @ mean / (length or 1.0)).astype(np.float64)
    scores = np.where(evidence.usable, np.clip((1 + cosine) / 2, 0.0, 1.0), np.nan)
    flips = lowest(scores, round((1 - s) * int(evidence.usable.sum())))
    return evidence.audit("centroid", scores, flips, share=s)


def nearest_neighbours(pairs: Pairs, *, neighbours: int = 15) -> Audit:
    """Flip verdicts most of whose nearest verified neighbours people disagree with.

    Parameters
    ----------
    pairs : Pairs
        Some verified.
    neighbours : int
        How many of the nearest verified directions vote; all of them where there are fewer.

    Raises
    ------
    UsageError
        Fewer than one neighbour.
    """
    if neighbours < 1:
        raise UsageError(f"neighbours={neighbours} must be at least 1")
    evidence = gather(pairs)
    agrees = pairs.agrees[evidence.verified]
    cosine = evidence.z[evidence.unverified] @ evidence.z[evidence.verified].T
    nearest = np.argsort(-cosine, axis=1, kind="stable")[:, :neighbours]
    scores = np.where(evidence.usable, agrees[nearest].mean(axis=1), np.nan)
    flips = np.nan_to_num(scores, nan=1.0) < 0.5
    return evidence.audit("neighbours", scores, flips)


def auc(scores: NDArray[np.float64], agrees: NDArray[Any], within: NDArray[Any] | None = None) -> float:
    """Probability that a consistent decision scores above an inconsistent one, ties half; NaN without both.

    within: Codes of groups; only decisions of one group are compared. Scores of held-out folds need it: a fit without a
        decision that agrees expects less agreement, so that scores of different folds rank the wrong way round
        (Parker, Günter & Bedo 2007).

    Examples
    --------
    >>> scores, agrees, fold = np.array([0.6, 0.6, 0.7, 0.7]), np.array([1, 1, 0, 0]), np.array([0, 1, 2, 2])
    >>> auc(scores, agrees), auc(scores, agrees, fold)
    (0.0, nan)
    """
    from scipy.stats import rankdata

    right = np.asarray(agrees, dtype=bool)
    above = pairs = 0.0
    groups = [slice(None)] if within is None else [within == code for code in np.unique(within)]
    for group in groups:
        mine = right[group]
        good, bad = int(mine.sum()), int((~mine).sum())
        if good and bad:
            above += float(rankdata(scores[group])[mine].sum() - good * (good + 1) / 2)
            pairs += good * bad
    return above / pairs if pairs else math.nan


def break_even_auc(share: float) -> float:
    """AUC at which flipping the lowest ``1 − share`` is right half the time, so that it changes nothing.

    Scores of consistent and inconsistent decisions are taken as normal with one spread, a distance δ apart.
    Flipping the lowest 1 − s is right for half of what it flips where
    ``s Φ(−δ) = (1 − s)/2``; then AUC = Φ(δ/√2).

    Parameters
    ----------
    share : float
        Share s of consistent decisions, above ½ and below 1.

    Raises
    ------
    UsageError
        A share that is no such number.
    """
    if not 0.5 < share < 1:
        raise UsageError(f"share={share} must lie between 0.5 and 1: below, flipping everything pays already")
    normal = NormalDist()
    return normal.cdf(-normal.inv_cdf((1 - share) / (2 * share)) / math.sqrt(2))


def lowest(scores: NDArray[np.float64], count: int) -> NDArray[np.bool_]:
    """Mask of the lowest scores, about ``count`` of them: equal scores are chosen together; NaN never is."""
    values, sizes = np.unique(scores[np.isfinite(scores)], return_counts=True)
    reached = np.append(0, np.cumsum(sizes))
    taken = int(np.abs(reached - count).argmin())
    return np.isin(scores, values[:taken])
