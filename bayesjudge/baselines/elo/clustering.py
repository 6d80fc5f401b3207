"""Errors of a judge's figures where its battles come in clusters: linearised, clusters the independent units.

A figure f of battles moves by its influence z_b when battle b is counted once more (Binder 1983). Its variance
is ``G/(G − 1) Σ_c (Σ_{b in c} z_b)²``, with G − 1 degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bayesjudge.baselines.common.bootstrap import draw_counts
from bayesjudge.baselines.common.intervals import t_quantile
from bayesjudge.baselines.elo.targets import Floats
from bayesjudge.counts.battles.clusters import BattleClusters
from bayesjudge.counts.battles.counts import BattleCounts


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Variance of a figure and the degrees of freedom of its estimate; 0 where there is one cluster alone."""

    variance: float
    df: float

    def half_width(self, prob: float) -> float:
        """Of Student's interval; infinite without degrees of freedom."""
        return t_quantile(prob, self.df) * float(np.sqrt(self.variance)) if self.df > 0 else float("inf")


@dataclass(frozen=True, eq=False, kw_only=True)
class JudgeClusters:
    """One judge's rows by battle, and by each column that clusters them."""

    battles: BattleClusters
    columns: tuple[BattleClusters, ...]

    def spread(self, influence: Callable[[BattleClusters], Floats]) -> Spread:
        """Spread of a figure from the influence (R,) of one battle of each row."""
        z = influence(self.battles)
        alone = float((self.battles.n * self.battles.times[self.battles.cluster]) @ z**2)
        if not self.columns:
            return Spread(variance=alone, df=float("inf"))
        groups = [rows.count() for rows in self.columns]
        if min(groups) < 2:
            return Spread(variance=alone, df=0.0)
        parts = [_clustered(rows, influence(rows), g) for rows, g in zip(self.columns, groups, strict=True)]
        # What several columns add to single battles adds up.
        variance = max(sum(parts) - (len(parts) - 1) * alone, *parts) if len(parts) > 1 else parts[0]
        return Spread(variance=variance, df=float(min(groups) - 1))

    def drawn(self, replicates: int, seed: int) -> tuple[BattleClusters, Floats]:
        """Rows, and how many battles of each (B, R) bootstrap samples of the first column's clusters hold."""
        rows = self.columns[0] if self.columns else self.battles
        kinds, cluster = np.unique(rows.cluster, return_inverse=True)
        drawn = draw_counts(rows.times[kinds], replicates, np.random.default_rng(seed))
        return rows, np.asarray(drawn[:, cluster.reshape(-1)] * rows.n, dtype=np.float64)


def _clustered(rows: BattleClusters, influence: Floats, groups: int) -> float:
    total = np.bincount(rows.cluster, weights=influence * rows.n, minlength=len(rows.times))
    return float(groups / (groups - 1) * (rows.times @ total**2))


def judge_clusters(counts: BattleCounts, judge: str, group: str | None = None) -> JudgeClusters:
    """A judge's clusters, over all battles or those of one group."""
    rater = counts.code("judge", judge) + 1

    def mine(rows: BattleClusters) -> BattleClusters:
        own = rows.of(rater)
        return own if group is None else own.keep(own.group == counts.code("group", group))

    return JudgeClusters(battles=mine(counts.battles), columns=tuple(mine(rows) for rows in counts.clusters))
