"""How many logits of human preference one point of a judge's score gap is worth: β (METHODS 4.2).

``β* = argmax Σ [y log σ(βs) + (1 − y) log σ(−βs)]`` over human votes that are no ties, concave in β.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesjudge.baselines.common.bootstrap import draw_counts, percentile
from bayesjudge.baselines.elo.targets import Floats, graded
from bayesjudge.counts.battles.counts import BattleCounts
from bayesjudge.counts.battles.patterns import JudgedBattles
from bayesjudge.errors import UsageError
from bayesjudge.estimates import Estimates
from bayesjudge.maths.temperature import solve_beta

__all__ = ["GapVotes", "gap_votes", "temperature"]

#: Below this the paper's judges no longer helped (METHODS 4.2: .13 against .36 to .60 for those that did).
LOW_BETA = 0.2


@dataclass(frozen=True, eq=False, kw_only=True)
class GapVotes:
    """Human non-tie votes on graded battles; R patterns.

    Attributes
    ----------
    gap : float array (R,)
        The judge's gap.
    won, lost : float array (R,)
        Votes for the first and for the second model.
    first, second : int array (R,)
        Codes of the models.
    """

    gap: Floats
    won: Floats
    lost: Floats
    first: NDArray[np.int64]
    second: NDArray[np.int64]

    @property
    def n(self) -> int:
        """Number of votes."""
        return int(self.won.sum() + self.lost.sum())


def gap_votes(rows: JudgedBattles) -> GapVotes:
    """Votes beside gaps, from graded rows of one judge."""
    won, lost = rows.votes[:, 0] * rows.n, rows.votes[:, 2] * rows.n
    keep = (won + lost > 0) & ~np.isnan(rows.gap)
    return GapVotes(gap=rows.gap[keep], won=won[keep].astype(float), lost=lost[keep].astype(float),
                    first=rows.first[keep], second=rows.second[keep])  # fmt: skip


def temperature(
    counts: BattleCounts, judge: str, *, prob: float = 0.95, bootstrap: int = 1000, seed: int = 0,
    group: str | None = None,
) -> Estimates:  # fmt: skip
    """β of a judge with its bootstrap interval, over all battles or those of one group.

    Parameters
    ----------
    counts : BattleCounts
    judge : str
    prob : float
        Level of the interval.
    bootstrap : int
        Resamples of the votes.
    seed : int
    group : str, optional
        One of ``counts.groups``.

    Returns
    -------
    Estimates
        One row, estimand ``beta``, method ``mle``; ``n`` counts votes. The note warns of a low β, at which
        soft targets flatten the leaderboard, and of an infinite one, where no vote goes against the gap.

    Raises
    ------
    UsageError
        No battle with both scores and a human vote that is no tie.
    """
    rows = counts.judged.keep(counts.judged.judge == counts.code("judge", judge))
    if group is not None:
        rows = rows.keep(rows.group == counts.code("group", group))
    votes = gap_votes(graded(rows, judge))
    if not votes.n:
        raise UsageError(
            f"no battle has both scores of {judge!r} and a human vote that is no tie; β needs some"
        )
    point = float(solve_beta(votes.gap, votes.won, votes.lost)[0])
    cells = np.concatenate([votes.won, votes.lost]).astype(np.int64)
    draws = (
        draw_counts(cells, bootstrap, np.random.default_rng(seed)) if bootstrap else np.zeros((0, len(cells)))
    )
    replicates = (
        solve_beta(votes.gap, *np.split(draws.astype(float), 2, axis=1)) if bootstrap else np.zeros(0)
    )
    lower, upper = (-np.inf, np.inf) if not bootstrap else _limits(replicates, prob)
    return Estimates.from_rows([{
        "estimand": "beta", "unit": judge, "method": "mle", "point": point, "lower": lower, "upper": upper,
        "prob": prob, "n": votes.n, "note": _note(point), "judge": judge, "group": group or "",
    }])  # fmt: skip


def _limits(replicates: Floats, prob: float) -> tuple[float, float]:
    _, lower, upper, _ = percentile(replicates[None, :], prob=prob)
    return float(lower[0]), float(upper[0])


def _note(beta: float) -> str:
    if np.isnan(beta):
        return "undefined: every gap is 0"
    if np.isinf(beta):
        return (
            "infinite: no vote goes against its gap"
            if beta > 0
            else "minus infinite: no vote goes with its gap"
        )
    if beta <= 0:
        return "people prefer the answer that the judge scores lower: its scores cannot be used"
    if beta < LOW_BETA:
        return (
            f"low: below {LOW_BETA:g} the gap hardly tells what people prefer, and soft targets flatten Elo"
        )
    return ""
