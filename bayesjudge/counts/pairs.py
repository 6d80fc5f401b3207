"""Directions of preference: what the judge's choice moved towards, as unit vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from bayesjudge.tables import Pairs

__all__ = ["Directions", "directions"]

#: Chosen and rejected nearer than this, relative to the longer of the two, are one text to the encoder.
NEAREST = 1e-4


@dataclass(frozen=True, eq=False, kw_only=True)
class Directions:
    """Embeddings turned the way the judge chose.

    Attributes
    ----------
    chosen, rejected : float32 array (n, d)
        Embeddings of the response the judge prefers and of the other.
    z : float32 array (n, d)
        ``(chosen − rejected)/‖chosen − rejected‖``; zeros where the two are one.
    usable : bool array (n,)
        Whether there is a direction.
    """

    chosen: NDArray[np.float32]
    rejected: NDArray[np.float32]
    z: NDArray[np.float32]
    usable: NDArray[np.bool_]


def directions(pairs: Pairs) -> Directions:
    """Direction of every decision (METHODS 3; PUAudit, equation 1).

    Examples
    --------
    >>> import pandas as pd
    >>> from bayesjudge.tables import Pairs
    >>> frame = pd.DataFrame({"item": [1, 2], "judge_prefers": ["a", "b"]})
    >>> pairs = Pairs.from_frame(frame, a=[[3.0, 0.0], [1.0, 1.0]], b=[[1.0, 0.0], [1.0, 3.0]])
    >>> directions(pairs).z.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    first = pairs.prefers_a[:, None]
    chosen, rejected = np.where(first, pairs.a, pairs.b), np.where(first, pairs.b, pairs.a)
    difference = chosen - rejected
    length = np.linalg.norm(difference, axis=1)
    scale = np.maximum(np.linalg.norm(chosen, axis=1), np.linalg.norm(rejected, axis=1))
    usable = length > NEAREST * scale
    z = np.where(usable[:, None], difference, 0) / np.where(usable, length, 1)[:, None]
    return Directions(chosen=chosen, rejected=rejected, z=z.astype(np.float32), usable=usable)
