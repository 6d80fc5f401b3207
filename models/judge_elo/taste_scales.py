"""In which units `judge_elo` samples a judge's tastes: its own choice of coordinates, not of the density.

A taste that its data pin down is best sampled as it is, one that they leave open in units of its spread
(Papaspiliopoulos, Roberts & Sköld 2007). Which is the case is read off the raw strengths before sampling.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.maths.bradley_terry import solve_strengths

if TYPE_CHECKING:
    from bayesjudge.counts.battles.counts import BattleCounts
    from bayesjudge.counts.battles.patterns import PairCounts

__all__ = ["taste_powers"]

#: Variance of tastes and noise together over noise alone, past which tastes stand out. On the arena battles
#: (ratios 2.3 to 4.9) half-way units were better: one judge, ESS of the spread 1,337 against 482 of 2,800
#: draws in 10 against 14 leapfrog steps. Where a judge has hardly any taste of its own (MT-bench, ratio 0.1)
#: they were far worse: 17 against 230 of 1,200.
STANDS_OUT = 2.0
#: Half-way between units of the spread (0) and tastes as they are (1). At 1 the density has a spike at
#: spread 0 that a search for the mode runs into.
HALF_WAY = 0.5
#: Voted models below which the ratio says little.
LEAST_MODELS = 8


def taste_powers(counts: BattleCounts) -> NDArray[np.float64]:
    """Power p of each judge's spread s, (J,): tastes are sampled in units of s^(1 − p).

    Examples
    --------
    >>> from bayesjudge.counts.battles.counts import count_battles
    >>> from bayesjudge.datasets import BattleDesign, simulate_battles
    >>> strengths = tuple(np.linspace(-1, 1, 12).tolist())
    >>> worlds = [BattleDesign(strengths=strengths, battles=6000, taste=taste) for taste in (0.02, 0.5)]
    >>> [taste_powers(count_battles(simulate_battles(seed=1, design=world).battles)).tolist()
    ...  for world in worlds]
    [[0.0], [0.5]]
    """
    people, votes = _raw_strengths(counts.human_pairs(), len(counts.models))
    ratios = [_ratio(people, votes, *_raw_strengths(counts.judge_pairs(judge), len(counts.models)))
              for judge in counts.judges]  # fmt: skip
    return np.array([HALF_WAY if ratio > STANDS_OUT else 0.0 for ratio in ratios])


def _raw_strengths(pairs: PairCounts, models: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Strengths with ties as half a win, and battles of each model."""
    total = pairs.n.sum(axis=1)
    wins = pairs.n[:, 0] + pairs.n[:, 1] / 2
    battles = [np.bincount(side, weights=total, minlength=models) for side in (pairs.first, pairs.second)]
    return solve_strengths(pairs.first, pairs.second, total, wins, models)[0], battles[0] + battles[1]


def _ratio(people: NDArray[Any], votes: NDArray[Any], judged: NDArray[Any], battles: NDArray[Any]) -> float:
    """Mean square of what a line from people's to the judge's strengths leaves, over its sampling variance.

    A battle tells at most 1/4 of a unit of information on a difference, so 4/n is the least variance.
    """
    both = (votes > 0) & (battles > 0)
    if both.sum() < LEAST_MODELS:
        return 0.0
    x, y = people[both] - people[both].mean(), judged[both] - judged[both].mean()
    slope = (x @ y) / max(float(x @ x), 1e-12)
    variance = 4 / battles[both] + slope**2 * 4 / votes[both]
    return float(((y - slope * x) ** 2 / variance).sum() / (both.sum() - 2))
