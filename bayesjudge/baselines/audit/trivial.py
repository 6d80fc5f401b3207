"""What a method must beat: flipping nothing, at random, by distance from a centroid, by neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesjudge.baselines.audit.answer import Audit
from bayesjudge.baselines.audit.evidence import by_item, gather, measured_share
from bayesjudge.baselines.audit.ranking import lowest
from bayesjudge.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bayesjudge.tables import Pairs

__all__ = ["centroid", "flip_nothing", "flip_random", "nearest_neighbours"]


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
