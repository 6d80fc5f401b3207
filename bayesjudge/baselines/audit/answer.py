"""What every audit method says: a score for each decision, and which to flip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["Audit"]


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
