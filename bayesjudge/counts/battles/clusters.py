"""Battles by rater, pair and cluster: what is known of errors that battles on one prompt share.

A cluster is described by the battles it holds. Clusters of the same description are counted and kept once,
so that the table grows with the pairs of models where every battle is its own cluster, and with the prompts
where prompts come back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd

from bayesjudge.counts.arrays import Floats, Ints, Rows
from bayesjudge.counts.battles.cells import BattleCells
from bayesjudge.counts.battles.cluster_columns import ITEM, cluster_keys
from bayesjudge.counts.battles.covariates import covariate_keys
from bayesjudge.counts.memory import IbisTable, cached, fetch
from bayesjudge.counts.rows import code_in, coded
from bayesjudge.maths.battle_sums import BattleSums

#: Code of the people among the raters; judge j is rater j + 1.
PEOPLE = 0
_KEYS = ["rater", "first", "second", "group"]
_SIDES = ["label", "shown_first", "shown_second", "longer"]
_VOTES = ["a", "tie", "b"]
_ROW = [*_KEYS, *_SIDES, *_VOTES, "gap"]


@dataclass(frozen=True, eq=False, kw_only=True)
class BattleClusters(Rows):
    """Votes and judged battles by cluster, clusters of one column; R rows, G kinds of cluster.

    column: Whose values are the clusters.
    rater: 0 for people (one battle is one vote), j + 1 for judge j (one battle is its view of both orders).
    first, second, group: Codes; ``first < second``.
    cluster: Kind of cluster, ``0 ... G − 1``.
    label: The vote or the judge's hard label: 1 the first model, .5 neither, 0 the second.
    shown: The judge's label with the first model's answer shown first, and second; NaN where it did not see that order,
        and for people.
    longer: 1 the first model's answer is longer, 0 the second's, .5 neither, NaN unknown.
    gap: The judge's mean gap, NaN for people and without scores.
    covariates: Differences of whatever `count_battles` was asked for (R, K), NaN where unknown.
    votes: People's votes on a battle that the judge saw, for the first model, neither, the second; zeros for people,
        whose votes are rows of their own.
    n: Battles of the row in one cluster of the kind.
    times: How many clusters of the log are exactly like this one; `count` is their sum.
    """

    #: A filter leaves the clusters as they are, though some may then be empty.
    not_rows: ClassVar[tuple[str, ...]] = ("column", "times")

    column: str
    rater: Ints
    first: Ints
    second: Ints
    group: Ints
    cluster: Ints
    label: Floats
    shown: Floats
    longer: Floats
    gap: Floats
    covariates: Floats
    votes: Ints
    n: Ints
    times: Ints

    @property
    def order(self) -> Floats:
        """1 where a judge saw the first model's answer first, −1 where second, 0 in both orders or unknown."""
        first, second = np.isfinite(self.shown).astype(float).T
        return np.asarray(first - second)

    @property
    def side_longer(self) -> Floats:
        """1 where the first model's answer is longer, −1 the second's, 0 neither or unknown."""
        return np.nan_to_num(2 * self.longer - 1)

    def of(self, rater: int) -> BattleClusters:
        """One rater's rows."""
        return self.keep(self.rater == rater)

    def single(self) -> BattleClusters:
        """Every vote and every verdict as a cluster of its own."""
        once, times = np.ones_like(self.n), self.n * self.times[self.cluster]
        return replace(self, cluster=np.arange(len(self)), n=once, times=times)

    def count(self) -> int:
        """Number of clusters with a battle."""
        return int(self.times[np.unique(self.cluster[self.n > 0])].sum())

    def sums(
        self, *, models: int, target: Floats | None = None, raters: int | None = None, x: Floats | None = None
    ) -> BattleSums:
        """Sums of targets (R,), by default the labels, for the mathematics of strengths.

        target: What each row tells of its first model, 0 to 1.
        raters: Number of raters; by default all rows are taken as one rater's.
        """
        t = self.label if target is None else target
        return BattleSums(
            models=models,
            raters=raters or 1,
            rater=self.rater if raters else np.zeros_like(self.rater),
            first=self.first,
            second=self.second,
            x=np.zeros((len(self), 0)) if x is None else x,
            cluster=self.cluster,
            n=self.n.astype(np.float64),
            t=self.n * t,
            times=self.times.astype(np.float64),
        )


def clustered_variance(
    battles: BattleClusters, columns: Sequence[BattleClusters], influence: Callable[[BattleClusters], Floats]
) -> tuple[float, float, float]:
    """Variance of a sum over battles, had they been independent and as their clusters leave it, and degrees of freedom.

    Parameters
    ----------
    battles, columns : BattleClusters
        One rater's rows, by what is independent otherwise and by each column that clusters.
    influence : callable
        What one battle of each row adds to the sum, (R,).

    Returns
    -------
    tuple of float
        By clusters it is ``G/(G − 1) Σ_c (Σ_{b in c} z_b)²`` (Binder 1983), with G − 1 degrees of freedom: 0 where
        there is one cluster alone, infinitely many where no column clusters.
    """
    z = influence(battles)
    alone = float((battles.n * battles.times[battles.cluster]) @ z**2)
    groups = [rows.count() for rows in columns]
    if not groups or min(groups) < 2:
        return alone, alone, 0.0 if groups else float("inf")
    parts = [_clustered(rows, influence(rows), g) for rows, g in zip(columns, groups, strict=True)]
    # What several columns add to single battles adds up.
    variance = max(sum(parts) - (len(parts) - 1) * alone, *parts) if len(parts) > 1 else parts[0]
    return alone, variance, float(min(groups) - 1)


def _clustered(rows: BattleClusters, influence: Floats, groups: int) -> float:
    total = np.bincount(rows.cluster, weights=influence * rows.n, minlength=len(rows.times))
    return float(groups / (groups - 1) * (rows.times @ total**2))


def battle_clusters(cells: BattleCells) -> tuple[BattleClusters, ...]:
    """One table for each column that clusters."""
    keys = zip(cells.clusters, cluster_keys(cells.clusters), strict=True)
    return tuple(_by_column(cells, name, key) for name, key in keys)


def single_battles(cells: BattleCells, clusters: tuple[BattleClusters, ...]) -> BattleClusters:
    """The table by battle, the smallest cluster that all raters look at: an item's answers of two models in a group."""
    found = [rows for rows in clusters if rows.column == ITEM]
    items = found[0] if found else _by_column(_with_items(cells), ITEM, ITEM_KEY)
    keys = np.stack([items.cluster, items.first, items.second, items.group])
    battles, cluster = np.unique(keys, axis=1, return_inverse=True)
    return replace(items, column="battle", cluster=cluster.reshape(-1), times=items.times[battles[0]])


def _with_items(cells: BattleCells) -> BattleCells:
    named = {
        name: getattr(cells, name).mutate(**{ITEM_KEY: getattr(cells, name)["item"].cast("string")})
        for name in ("cast", "judged")
    }
    return replace(cells, **named)


#: What items are called as clusters, where columns that were asked for have the other names.
ITEM_KEY = "cluster_item"


def _by_column(cells: BattleCells, name: str, key: str) -> BattleClusters:
    x = covariate_keys(cells.covariates)
    rows = _rows(cells, key, x)
    rows = rows.group_by([*_ROW, *x, "cluster"]).aggregate(n=rows.count())
    frame = fetch(_distinct_kinds(rows, x)).sort_values(["kind", *_ROW, *x], ignore_index=True)
    cluster, _ = pd.factorize(frame["kind"])
    times = frame.drop_duplicates("kind")["times"].to_numpy(np.int64)
    codes = {name: frame[name].to_numpy(np.int64) for name in ("rater", "first", "second", "n")}
    sides = (frame[_SIDES].to_numpy(np.float64) + 1) / 2
    return BattleClusters(
        column=name,
        **codes,
        group=coded(frame["group"], cells.groups),
        cluster=cluster.astype(np.int64),
        label=sides[:, 0],
        shown=sides[:, 1:3],
        longer=sides[:, 3],
        gap=frame["gap"].to_numpy(np.float64),
        covariates=frame[list(x)].to_numpy(np.float64),
        votes=frame[_VOTES].to_numpy(np.int64),
        times=times,
    )


def _rows(cells: BattleCells, key: str, x: tuple[str, ...]) -> IbisTable:
    """One row for each vote and each judge's view, labels as sides +1, 0, −1."""
    import ibis

    cast, none, zero = cells.cast, ibis.null().cast("float64"), ibis.literal(0).cast("int64")
    people = cast.select(
        "first",
        "second",
        "group",
        *x,
        rater=ibis.literal(PEOPLE).cast("int64"),
        label=2 * cast.human - 1,
        shown_first=none,
        shown_second=none,
        longer=cast.length.sign().cast("float64"),
        gap=none,
        **dict.fromkeys(_VOTES, zero),
        cluster=cast[key],
    ).select(*_ROW, *x, "cluster")
    return people.union(_views(cells, key, x)) if cells.judges else people


def _views(cells: BattleCells, key: str, x: tuple[str, ...]) -> IbisTable:
    battle = ["item", "first", "second"]
    views = cells.judged.mutate(rater=code_in(cells.judged.judge, cells.judges) + 1)
    views = views.left_join(cells.judged_votes.select(*battle, *_VOTES), battle)
    sides = {name: views[name].cast("float64") for name in _SIDES[:-1]}
    votes = {name: views[name].fill_null(0).cast("int64") for name in _VOTES}
    return views.select(
        "first",
        "second",
        "group",
        "gap",
        *x,
        rater=views.rater.cast("int64"),
        **sides,
        **votes,
        longer=views.length.sign().cast("float64"),
        cluster=views[key],
    ).select(*_ROW, *x, "cluster")


def _distinct_kinds(rows: IbisTable, x: tuple[str, ...]) -> IbisTable:
    """Rows of one cluster of each kind, with its description and how often it occurs."""
    import ibis

    alike = ibis.dense_rank().over(ibis.window(order_by=[*_ROW, *x, "n"])).cast("string")
    described = cached(rows.mutate(alike=alike))
    # Sorted after they are collected: Spark does not order what it aggregates.
    whole = described.group_by("cluster").aggregate(kind=described.alike.collect().sort().join(","))
    kinds = whole.group_by("kind").aggregate(times=whole.count(), cluster=whole.cluster.min())
    return described.inner_join(kinds, "cluster").select(*_ROW, *x, "n", "kind", "times")
