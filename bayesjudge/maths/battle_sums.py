"""Sums of targets by rater, pair and cluster: all that strengths and their errors need of battles.

A *rater* is people or one judge. Its *target* t in a battle lies between 0 and 1: 1 the first model wins, ½ a
tie, or a soft target; people may give several, one a vote. A *cluster* is a set of battles that are not
independent. The smallest one is a single *battle*, one prompt's answers of two models, on which all raters
look; larger ones are prompts and voters. Clusters of the same description are kept once, with how often they
occur.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

type Ints = NDArray[np.int64]
type Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class BattleSums:
    """Number and sum of targets by ``(rater, first, second, x, cluster)``; N rows, G kinds of cluster.

    `strengths` takes one whose clusters are battles, and one for every kind of larger cluster. No products of
    two raters' targets are needed in addition: raters who look at one battle, or prompt, stand in one
    cluster.

    models, raters: Numbers M and R.
    rater, first, second: ``first`` and ``second`` are codes of models.
    x: Covariates as the rater saw them (shown first, longer); K may be 0.
    cluster: Kind of cluster, ``0 ... G − 1``.
    n, t: Targets in one cluster of the kind, and their sum.
    times: How many clusters are exactly like this one.
    """

    models: int
    raters: int
    rater: Ints
    first: Ints
    second: Ints
    x: Floats
    cluster: Ints
    n: Floats
    t: Floats
    times: Floats

    @property
    def width(self) -> int:
        """Parameters of a rater, Q = M + K: a strength for each model, an effect for each covariate."""
        return self.models + int(self.x.shape[1])

    @property
    def total(self) -> Floats:
        """Targets of each row in all clusters of its kind (N,)."""
        return np.asarray(self.n * self.times[self.cluster])

    @property
    def groups(self) -> float:
        """Number of clusters with a target."""
        return float(self.times[np.unique(self.cluster)].sum())

    def keep(self, rows: NDArray[np.bool_]) -> BattleSums:
        """The rows of a mask (N,); clusters stay, though some may now be empty."""
        names = ("rater", "first", "second", "x", "cluster", "n", "t")
        found: dict[str, Any] = {name: getattr(self, name)[rows] for name in names}
        return replace(self, **found)

    def without_votes_on(self, model: int, *, rater: int = 0) -> BattleSums:
        """As if one rater (people, by default) had looked at no battle of a model."""
        return self.keep((self.rater != rater) | ((self.first != model) & (self.second != model)))
