"""Audits of single verdicts that need no generative model: partial optimal transport, and what it must beat.

Every method takes `Pairs` and gives an `Audit`: a score for each unverified verdict and whether to flip it.
"""

from __future__ import annotations

from bayesjudge.baselines.audit.evidence import Audit, consistency
from bayesjudge.baselines.audit.partial_ot import partial_ot
from bayesjudge.baselines.audit.trivial import (
    auc,
    break_even_auc,
    centroid,
    flip_nothing,
    flip_random,
    nearest_neighbours,
)

__all__ = [
    "Audit",
    "auc",
    "break_even_auc",
    "centroid",
    "consistency",
    "flip_nothing",
    "flip_random",
    "nearest_neighbours",
    "partial_ot",
]
