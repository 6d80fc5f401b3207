"""Two-stage denoising of the verified positives, within each question type (PUAudit, appendix A.4)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.errors import UsageError

__all__ = ["denoise"]


def denoise(
    chosen: NDArray[Any], z: NDArray[Any], category: NDArray[np.int64], *, keep: tuple[float, float]
) -> NDArray[np.bool_]:
    """Which positives to keep.

    Within each category, the share ``keep[0]`` whose chosen response lies nearest (by cosine) to the mean
    chosen response, then of those the share ``keep[1]`` whose direction lies nearest to the mean direction.

    Parameters
    ----------
    chosen, z : array (p, d)
        Embedding of the chosen response, and direction, of every positive.
    category : int array (p,)
        Question type of each.
    keep : (float, float)
        Shares ρ1 and ρ2, above 0 and not above 1; at least one positive a category stays.

    Returns
    -------
    bool array (p,)

    Examples
    --------
    >>> chosen = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])
    >>> denoise(chosen, chosen, np.zeros(3, dtype=int), keep=(0.6, 1.0)).tolist()
    [True, True, False]
    """
    if not all(0 < share <= 1 for share in keep):
        raise UsageError(f"keep={keep}: both shares must lie above 0 and not above 1")
    kept = np.zeros(len(z), dtype=bool)
    for code in np.unique(category):
        mine = np.flatnonzero(category == code)
        for vectors, share in ((chosen, keep[0]), (z, keep[1])):
            mine = mine[_nearest(vectors[mine], share)]
        kept[mine] = True
    return kept


def _nearest(vectors: NDArray[Any], share: float) -> NDArray[np.int64]:
    """Places, in order, of the share of vectors with the largest cosine to their mean."""
    vectors = vectors.astype(np.float64)
    length = np.maximum(np.linalg.norm(vectors, axis=1), 1e-300)
    cosine = vectors @ vectors.mean(axis=0) / length
    # Sums of the same numbers in another order differ in the last digits: equal cosines must stay equal.
    order = np.argsort(-np.round(cosine, 12), kind="stable")
    # A share of ten of .3 is three: rounding 3.0000000000000004 up would keep four.
    return np.sort(order[: max(math.ceil(round(share * len(vectors), 9)), 1)])
