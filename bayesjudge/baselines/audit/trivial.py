"""What a method must beat: flipping nothing, at random, by distance from a centroid, by neighbours."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from bayesjudge.baselines.audit.evidence import Audit, by_item, gather, measured_share
from bayesjudge.errors import UsageError

if TYPE_CHECKING:
    from bayesjudge.tables import Pairs

__all__ = ["auc", "break_even_auc", "centroid", "flip_nothing", "flip_random", "lowest", "nearest_neighbours"]


def flip_nothing(pairs: Pairs) -> Audit:
    """Leave every decision as it is; the score is the verified share of agreement."""
    rows = np.flatnonzero(~pairs.verified)
    share = float(np.nanmean(pairs.agrees)) if pairs.verified.any() else np.nan
    return Audit(method="flip-nothing", rows=rows, scores=np.full(len(rows), share),
                 flips=np.zeros(len(rows), dtype=bool))  # fmt: skip


def flip_random(pairs: Pairs, *, share: float | None = None, held_out: float = 0.3, seed: int = 0) -> Audit:
    """Flip a random 1 − s of the decisions.

    Parameters
    ----------
    pairs : Pairs
        Some verified.
    share, held_out, seed
        As in `partial_ot`; the seed also chooses the flips.
    """
    s, _ = measured_share(pairs, share, held_out=held_out, seed=seed)
    rows = by_item(pairs, np.flatnonzero(~pairs.verified))
    scores = np.random.default_rng([seed, 1]).random(len(rows))
    flips = lowest(scores, round((1 - s) * len(rows)))
    return Audit(method="random", rows=rows, scores=scores, flips=flips, figures={"share": s})


def centroid(pairs: Pairs, *, share: float | None = None, held_out: float = 0.3, seed: int = 0) -> Audit:
    """Flip the 1 − s of the decisions whose direction lies furthest from the positives' mean direction.

    The score is ``(1 + cosine)/2``.
    """
    s, aside = measured_share(pairs, share, held_out=held_out, seed=seed)
    evidence = gather(pairs, without=aside)
    z = evidence.about.z
    mean = z[evidence.positive].mean(axis=0)
    length = float(np.linalg.norm(mean))
    cosine = (z[evidence.unverified] @ mean / (length or 1.0)).astype(np.float64)
    scores = np.where(evidence.usable, np.clip((1 + cosine) / 2, 0.0, 1.0), np.nan)
    flips = lowest(scores, round((1 - s) * int(evidence.usable.sum())))
    return Audit(method="centroid", rows=evidence.unverified, scores=scores, flips=flips,
                 figures={"share": s})  # fmt: skip


def nearest_neighbours(pairs: Pairs, *, neighbours: int = 15) -> Audit:
    """Flip decisions most of whose nearest verified neighbours people disagree with.

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
    verified = np.concatenate([evidence.positive, evidence.negative])
    agrees = pairs.agrees[verified]
    cosine = evidence.about.z[evidence.unverified] @ evidence.about.z[verified].T
    scores = np.where(evidence.usable, _share_of_nearest(cosine, agrees, neighbours), np.nan)
    flips = np.nan_to_num(scores, nan=1.0) < 0.5
    return Audit(method="neighbours", rows=evidence.unverified, scores=scores, flips=flips)


def _share_of_nearest(
    cosine: NDArray[np.float32], agrees: NDArray[np.float64], neighbours: int
) -> NDArray[np.float64]:
    k = min(neighbours, cosine.shape[1])
    nearest = np.argsort(-cosine, axis=1, kind="stable")[:, :k]
    found: NDArray[np.float64] = agrees[nearest].mean(axis=1)
    return found


def auc(scores: NDArray[np.float64], agrees: NDArray[Any]) -> float:
    """Probability that a consistent decision scores above an inconsistent one, ties half; NaN without both.

    Examples
    --------
    >>> auc(np.array([0.1, 0.4, 0.8]), np.array([0, 1, 1]))
    1.0
    """
    right = np.asarray(agrees, dtype=bool)
    good, bad = int(right.sum()), int((~right).sum())
    if not good or not bad:
        return math.nan
    return float((rankdata(scores)[right].sum() - good * (good + 1) / 2) / (good * bad))


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

    Examples
    --------
    >>> [round(break_even_auc(s), 2) for s in (0.7, 0.8, 0.85, 0.9)]
    [0.71, 0.79, 0.83, 0.87]
    """
    if not 0.5 < share < 1:
        raise UsageError(f"share={share} must lie between 0.5 and 1: below, flipping everything pays already")
    normal = NormalDist()
    return normal.cdf(-normal.inv_cdf((1 - share) / (2 * share)) / math.sqrt(2))


def lowest(scores: NDArray[np.float64], count: int) -> NDArray[np.bool_]:
    """Mask of the ``count`` lowest scores, the first ones among equals; NaN is never chosen.

    Examples
    --------
    >>> lowest(np.array([0.3, np.nan, 0.1, 0.3]), 2).tolist()
    [True, False, True, False]
    """
    order = np.argsort(scores, kind="stable")
    chosen = np.zeros(len(scores), dtype=bool)
    chosen[order[: min(count, int(np.isfinite(scores).sum()))]] = True
    return chosen
