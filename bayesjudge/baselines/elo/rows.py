"""Rows of estimates that every diagnostic shares: shares, linearised figures, functions of a few cells.

Where a judge's battles come in clusters these are the independent units: a figure f of battles moves by its
influence z_b when battle b is counted once more (`clustered_variance`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, SupportsInt

import numpy as np
from numpy.typing import NDArray

from bayesjudge.baselines.common.bootstrap import draw_counts, percentile
from bayesjudge.baselines.common.intervals import clopper_pearson, t_quantile
from bayesjudge.baselines.elo.targets import Floats
from bayesjudge.counts.battles.clusters import BattleClusters, clustered_variance
from bayesjudge.counts.battles.counts import BattleCounts

type Row = dict[str, Any]


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
        _, variance, df = clustered_variance(self.battles, self.columns, influence)
        return Spread(variance=variance, df=df)

    def drawn(self, replicates: int, seed: int) -> tuple[BattleClusters, Floats]:
        """Rows, and how many battles of each (B, R) bootstrap samples of the first column's clusters hold."""
        rows = self.columns[0] if self.columns else self.battles
        kinds, cluster = np.unique(rows.cluster, return_inverse=True)
        drawn = draw_counts(rows.times[kinds], replicates, np.random.default_rng(seed))
        return rows, np.asarray(drawn[:, cluster.reshape(-1)] * rows.n, dtype=np.float64)


def judge_clusters(counts: BattleCounts, judge: str, group: str | None = None) -> JudgeClusters:
    """A judge's clusters, over all battles or those of one group."""
    rater = counts.rater(judge)

    def mine(rows: BattleClusters) -> BattleClusters:
        own = rows.of(rater)
        return own if group is None else own.keep(own.group == counts.code("group", group))

    return JudgeClusters(battles=mine(counts.battles), columns=tuple(mine(rows) for rows in counts.clusters))


def figure_row(
    estimand: str, point: float, lower: float, upper: float, *, method: str, n: SupportsInt, prob: float, note: str = ""
) -> Row:
    """A figure with its limits, of whatever method."""
    limits = {"point": point, "lower": lower, "upper": upper}
    return {"estimand": estimand, "method": method, **limits, "n": int(n), "prob": prob, "note": note}


def share_row(
    estimand: str,
    successes: SupportsInt,
    trials: SupportsInt,
    *,
    prob: float,
    note: str = "",
    clusters: JudgeClusters | None = None,
    counted: Callable[[BattleClusters], tuple[Floats, Floats]] | None = None,
) -> Row:
    """A share with its exact interval (Clopper & Pearson 1934); undefined without trials.

    Where there are clusters, the interval is that of as many independent trials as they are worth (Korn & Graubard
    1998); ``counted`` gives the successes and the trials (R,) of one battle of each row.
    """
    hits, n = int(successes), int(trials)
    if not n:
        return undefined_row(estimand, note or "no battle to use", prob=prob, bounds=(0.0, 1.0))
    worth = float(n)
    if clusters is not None and counted is not None and clusters.columns:

        def influence(rows: BattleClusters) -> Floats:
            met, tried = counted(rows)
            return np.asarray(met - hits / n * tried) / n

        worth = _effective(hits / n, n, clusters.spread(influence), prob)
    limits = clopper_pearson(hits / n * worth, worth, prob=prob)
    return figure_row(estimand, hits / n, *limits, method="exact", n=n, prob=prob, note=note)


def _effective(share: float, n: int, spread: Spread, prob: float) -> float:
    """Independent trials that a share of clustered ones is worth, never more than there are."""
    if spread.df <= 0:
        return 0.0
    if spread.variance <= 0 or not 0 < share < 1:
        return float(n)
    fewer = (t_quantile(prob, max(n - 1, 1)) / t_quantile(prob, spread.df)) ** 2
    return min(float(n), share * (1 - share) / spread.variance * fewer)


def spread_row(
    estimand: str,
    point: float,
    spread: Spread,
    *,
    n: SupportsInt,
    prob: float,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> Row:
    """A figure with Student's interval, cut off at the ends of its range."""
    half = spread.half_width(prob)
    limits = max(bounds[0], point - half), min(bounds[1], point + half)
    return figure_row(estimand, point, *limits, method="sandwich", n=n, prob=prob)


def undefined_row(estimand: str, reason: str, *, prob: float, bounds: tuple[float, float] = (-np.inf, np.inf)) -> Row:
    """A quantity that the data say nothing about, with the range it may have."""
    return figure_row(estimand, np.nan, *bounds, method="undefined", n=0, prob=prob, note=f"undefined: {reason}")


def bootstrap_row(
    estimand: str,
    cells: NDArray[Any],
    statistic: Callable[[Floats], Floats],
    *,
    prob: float,
    bootstrap: int,
    seed: int,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> Row:
    """A function of counts of independent cells, with its bootstrap percentile interval.

    statistic: From counts (B, C) to values (B,), NaN where undefined.
    prob, bootstrap, seed: Level, resamples and seed.
    """
    counts = np.asarray(cells, dtype=np.int64)
    point = float(statistic(counts[None, :].astype(float))[0]) if counts.sum() else np.nan
    if np.isnan(point):
        return undefined_row(estimand, "too few battles, or all equal", prob=prob, bounds=bounds)
    lower, upper = bounds
    if bootstrap:
        draws = draw_counts(counts, bootstrap, np.random.default_rng(seed)).astype(float)
        _, low, high, _ = percentile(statistic(draws)[None, :], prob=prob)
        lower, upper = max(lower, float(low[0])), min(upper, float(high[0]))
    return figure_row(estimand, point, lower, upper, method="bootstrap", n=counts.sum(), prob=prob)
