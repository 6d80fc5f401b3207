"""How many logits of human preference one point of a judge's score gap is worth: β (METHODS 4.2).

``β* = argmax Σ [y log σ(βs) + (1 − y) log σ(−βs)]`` over human votes that are no ties, concave in β.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesjudge.baselines.common.bootstrap import percentile
from bayesjudge.baselines.elo.rows import JudgeClusters, Spread, figure_row, judge_clusters
from bayesjudge.baselines.elo.targets import Floats, graded
from bayesjudge.counts.battles.clusters import BattleClusters
from bayesjudge.counts.battles.counts import BattleCounts
from bayesjudge.counts.battles.patterns import JudgedBattles
from bayesjudge.errors import UsageError
from bayesjudge.estimates import Estimates
from bayesjudge.maths.temperature import soft_probability, solve_beta

#: Logits of preference for an ordinary gap, β times its root mean square, below which scores say little. The
#: paper's judges no longer helped at β near .13, and did at .36 to .60, with gaps of some 2.8 points.
LOW_BETA = 0.5


@dataclass(frozen=True, eq=False, kw_only=True)
class GapVotes:
    """Human non-tie votes on graded battles; R patterns.

    gap: The judge's gap.
    won, lost: Votes for the first and for the second model.
    first, second: Codes of the models.
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
    """Votes next to gaps, from graded rows of one judge."""
    won, lost = rows.votes[:, 0] * rows.n, rows.votes[:, 2] * rows.n
    keep = (won + lost > 0) & ~np.isnan(rows.gap)
    return GapVotes(
        gap=rows.gap[keep],
        won=won[keep].astype(float),
        lost=lost[keep].astype(float),
        first=rows.first[keep],
        second=rows.second[keep],
    )


def temperature(
    counts: BattleCounts, judge: str, *, prob: float = 0.95, group: str | None = None, bootstrap: int = 0, seed: int = 0
) -> Estimates:
    """β of a judge with its interval, over all battles or those of one group.

    Parameters
    ----------
    counts : BattleCounts
    judge : str
    prob : float
        Level of the interval: Student's, with a sandwich error by cluster.
    group : str, optional
        One of ``counts.groups``.
    bootstrap : int
        Resamples of the clusters, for percentile limits instead.
    seed : int

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
    rows = counts.judged_by(judge)
    if group is not None:
        rows = rows.keep(rows.group == counts.code("group", group))
    rows = graded(rows, judge)
    votes = gap_votes(rows)
    if not votes.n:
        raise UsageError(f"no battle has both scores of {judge!r} and a human vote that is no tie; β needs some")
    point = float(solve_beta(votes.gap, votes.won, votes.lost)[0])
    clusters = judge_clusters(counts, judge, group)
    lower, upper = -np.inf, np.inf
    if bootstrap:
        lower, upper = _resampled(clusters, bootstrap=bootstrap, seed=seed, prob=prob)
    elif np.isfinite(point):
        half = _spread(point, votes, clusters).half_width(prob)
        lower, upper = point - half, point + half
    note = _note(point, rows.gap_unit)
    row = figure_row("beta", point, lower, upper, method="mle", n=votes.n, prob=prob, note=note)
    return Estimates.from_rows([{**row, "unit": judge, "judge": judge, "group": group or ""}])


def _resampled(clusters: JudgeClusters, *, bootstrap: int, seed: int, prob: float) -> tuple[float, float]:
    rows, weight = clusters.drawn(bootstrap, seed)
    graded = np.flatnonzero(~np.isnan(rows.gap))
    won, lost = (rows.votes[graded, side] * weight[:, graded] for side in (0, 2))
    _, lower, upper, _ = percentile(solve_beta(rows.gap[graded], won, lost)[None, :], prob=prob)
    return float(lower[0]), float(upper[0])


def _spread(beta: float, votes: GapVotes, clusters: JudgeClusters) -> Spread:
    """Sandwich variance of β: scores ``s (y − σ(βs))`` over their curvature."""
    p = soft_probability(votes.gap, beta)
    curvature = float(((votes.won + votes.lost) * p * (1 - p)) @ votes.gap**2)

    def influence(rows: BattleClusters) -> Floats:
        gap = np.nan_to_num(rows.gap)
        won, lost = rows.votes[:, 0], rows.votes[:, 2]
        return np.asarray(gap * (won - (won + lost) * soft_probability(gap, beta)) / curvature)

    return clusters.spread(influence)


def _note(beta: float, unit: float) -> str:
    if np.isnan(beta):
        return "undefined: every gap is 0"
    if np.isinf(beta):
        return "infinite: no vote goes against its gap" if beta > 0 else "minus infinite: no vote goes with its gap"
    if beta <= 0:
        return "people prefer the answer that the judge scores lower: its scores cannot be used"
    if beta * unit < LOW_BETA:
        return (
            f"low: an ordinary gap ({unit:.3g}) is worth {beta * unit:.2f} logits of preference, below "
            f"{LOW_BETA:g}: it hardly tells what people prefer, and soft targets flatten Elo"
        )
    return ""
