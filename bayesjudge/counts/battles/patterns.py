"""What battles boil down to: arrays of patterns and how often each occurs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bayesjudge.counts.arrays import Floats, Ints, Rows, sums_within


@dataclass(frozen=True, eq=False, kw_only=True)
class PairCounts:
    """Outcomes between each two models that met; P pairs.

    first, second: Codes of the models, ``first < second``.
    n: How often the first won, neither, the second.
    """

    first: Ints
    second: Ints
    n: NDArray[Any]

    @classmethod
    def tally(cls, first: Ints, second: Ints, n: NDArray[Any]) -> Self:
        """Add up rows (R,) with outcomes (R, 3) that belong to the same pair."""
        pairs, place = np.unique(np.stack([first, second]), axis=1, return_inverse=True)
        return cls(first=pairs[0], second=pairs[1], n=sums_within(n, place, pairs.shape[1]))


@dataclass(frozen=True, eq=False, kw_only=True)
class HumanVotes(Rows):
    """People's votes; R patterns.

    first, second, group: Codes; ``first < second``.
    order: 1 the voters saw the first model's answer first, −1 the second's, 0 both or unknown.
    length: Length of the first model's answer minus that of the second's, NaN where unknown.
    covariates: Differences of whatever `count_battles` was asked for, NaN where unknown.
    votes: Votes for the first model, neither and the second, over all battles of the pattern.
    """

    first: Ints
    second: Ints
    group: Ints
    order: Ints
    length: Floats
    covariates: Floats
    votes: Ints


@dataclass(frozen=True, eq=False, kw_only=True)
class JudgedBattles(Rows):
    """What judges made of battles, beside the human votes on them; R patterns.

    judge, first, second, group: Codes; ``first < second``.
    order: 1 the first model's answer was shown first, −1 the second's, 0 both orders or unknown.
    label: The hard label: 1 the first model is preferred, 0 the second, .5 neither. It is the stated verdict, and the
        sign of the gap only where none was stated; .5 also where it changes with the order of showing.
    verdict: The verdict that the judge stated, in the same code, NaN where it only gave scores.
    gap: Score of the first model's answer minus the second's, mean over orders and runs; NaN without scores.
    length: As in `HumanVotes`.
    covariates: As in `HumanVotes`.
    votes: People's votes on each battle of the pattern; zeros where nobody voted.
    n: How many judged battles show the pattern.
    """

    judge: Ints
    first: Ints
    second: Ints
    group: Ints
    order: Ints
    label: Floats
    verdict: Floats
    gap: Floats
    length: Floats
    covariates: Floats
    votes: Ints
    n: Ints

    @property
    def gap_unit(self) -> float:
        """Root mean square gap: scores have no unit of their own. NaN without scores."""
        known = ~np.isnan(self.gap)
        size = float(self.n[known] @ self.gap[known] ** 2)
        return float(np.sqrt(size / self.n[known].sum())) if known.any() else float("nan")

    def pairs(self) -> PairCounts:
        """Hard labels by pair."""
        outcome = np.stack([self.label == 1, self.label == 0.5, self.label == 0], axis=1)
        return PairCounts.tally(self.first, self.second, outcome * self.n[:, None])


@dataclass(frozen=True, eq=False, kw_only=True)
class Swaps(Rows):
    """Battles that a judge saw in both orders; J judges.

    labels: Battles by the label with the first model shown first (for the first, neither, the second) and by the label
        with it shown second.
    advantage, advantage_squares: Sum, and sum of squares, over graded battles of half the gap's change in favour of the
        answer shown first.
    n: Graded battles in both orders.
    """

    labels: Ints
    advantage: Floats
    advantage_squares: Floats
    n: Ints
