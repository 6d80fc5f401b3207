"""Logs of MT-bench whose prompts, or voters, are drawn from the whole table, and its battles as one would."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.counts.battles.clusters import PEOPLE, BattleClusters
from bayesjudge.counts.battles.counts import BattleCounts, HumanVotes, JudgedBattles, Swaps

__all__ = ["Log", "by_quality", "counted", "drawn", "independent", "linked", "read_mtbench"]

type Ints = NDArray[np.int64]
type Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Log:
    """One rater's battles, R rows of a vote or a verdict each.

    Attributes
    ----------
    models : tuple of str
    first, second, item, unit : int array (R,)
        Codes; the unit is what is drawn: the prompt, or the voter.
    label : float array (R,)
        1 the first model, .5 neither, 0 the second.
    """

    models: tuple[str, ...]
    first: Ints
    second: Ints
    item: Ints
    unit: Ints
    label: Floats

    def keep(self, rows: NDArray[np.int64], unit: Ints) -> Log:
        """Some rows, several times if need be, with new units; an item of another unit is another item."""
        item = unit * (self.item.max() + 1) + self.item[rows]
        return replace(
            self, first=self.first[rows], second=self.second[rows], item=item, unit=unit, label=self.label[rows]
        )


def read_mtbench(folder: Path, rater: str) -> Log:
    """The whole table of one rater.

    Parameters
    ----------
    folder : Path
        ``pairwise_mtbench_human`` of the shared data.
    rater : str
        ``people`` (units are prompts), ``voters`` (the same, units are the voters) or ``gpt-4`` (its first
        run; both orders of a battle are one verdict).
    """
    items = pd.read_parquet(folder / "mtbench_items.parquet").set_index("item_id")
    if rater == "gpt-4":
        said = pd.read_parquet(folder / "mtbench_judgments.parquet")
        said = said[(said["judge"] == "gpt-4-0613-pairwise") & (said["run"] == 0)]
        side = said["verdict"].map({"a": 1.0, "b": -1.0, "tie": 0.0, 1.0: 1.0, 0.0: -1.0, 0.5: 0.0})
        total = side.groupby(said["item_id"]).sum()
        votes = pd.DataFrame({"item_id": total.index, "human": (np.sign(total.to_numpy()) + 1) / 2})
    else:
        votes = pd.read_parquet(folder / "mtbench_human_votes.parquet")
    of = items.loc[votes["item_id"]]
    unit = votes["human_id"] if rater == "voters" else of["question_id"]
    models = tuple(sorted({*of["model_a"], *of["model_b"]}))
    sides = [pd.Index(of[side]) for side in ("model_a", "model_b")]
    a, b = (pd.Index(models).get_indexer(side).astype(np.int64) for side in sides)
    label = votes["human"].to_numpy(np.float64)
    return Log(
        models=models,
        first=np.minimum(a, b),
        second=np.maximum(a, b),
        item=pd.factorize(votes["item_id"])[0].astype(np.int64),
        unit=pd.factorize(np.asarray(unit))[0].astype(np.int64),
        label=np.where(a < b, label, 1 - label),
    )


def linked(log: Log, design: str) -> Log:
    """The battles of some pairs: of neighbours by mean label (a ``chain``), or of the middle model (a ``star``)."""
    models = len(log.models)
    won = np.bincount(log.first, log.label, models) + np.bincount(log.second, 1 - log.label, models)
    fought = np.bincount(log.first, minlength=models) + np.bincount(log.second, minlength=models)
    rank = np.argsort(np.argsort(won / fought))
    one, other = rank[log.first], rank[log.second]
    kept = abs(one - other) == 1 if design == "chain" else (one == models // 2) | (other == models // 2)
    return log.keep(np.flatnonzero(kept), log.unit[kept])


def by_quality(models: int, prompts: int, *, seed: int) -> Log:
    """Every two models on every prompt, by answers with a quality each: errors of pairs with one model cancel."""
    rng = np.random.default_rng(seed)
    quality = np.linspace(1.2, -1.2, models) + rng.normal(0, 0.6, (prompts, models))
    one, other = np.triu_indices(models, 1)
    gap = quality[:, one] - quality[:, other]
    rows = gap.size
    return Log(
        models=tuple(f"m{k}" for k in range(models)),
        first=np.tile(one, prompts),
        second=np.tile(other, prompts),
        item=np.arange(rows),
        unit=np.repeat(np.arange(prompts), len(one)),
        label=((np.sign(gap) * (abs(gap) > 0.7) + 1) / 2).reshape(-1),
    )


def drawn(log: Log, units: int, rng: np.random.Generator) -> Log:
    """Whole units drawn with replacement; one that comes twice is two."""
    chosen = rng.integers(log.unit.max() + 1, size=units)
    rows = [np.flatnonzero(log.unit == code) for code in chosen]
    return log.keep(np.concatenate(rows), np.repeat(np.arange(units), [len(part) for part in rows]))


def independent(log: Log, units: int, rng: np.random.Generator) -> Log:
    """The same design, every outcome drawn from all outcomes of its pair: units share nothing."""
    found = drawn(log, units, rng)
    label = found.label.copy()
    for pair in np.unique(np.stack([log.first, log.second]), axis=1).T:
        there = (found.first == pair[0]) & (found.second == pair[1])
        pool = log.label[(log.first == pair[0]) & (log.second == pair[1])]
        label[there] = rng.choice(pool, size=int(there.sum()))
    return replace(found, label=label)


def counted(log: Log, *, clustered: bool = True) -> BattleCounts:
    """What `count_battles` would count."""
    outcome = np.stack([log.label == 1, log.label == 0.5, log.label == 0], axis=1).astype(np.int64)
    zero, unknown = np.zeros(len(log.first), dtype=np.int64), np.full(len(log.first), np.nan)
    pair = {"first": log.first, "second": log.second, "group": zero}
    human = HumanVotes(**pair, order=zero, length=unknown, covariates=np.zeros((len(zero), 0)), votes=outcome)
    nobody = JudgedBattles(
        **pair,
        judge=zero,
        order=zero,
        label=log.label,
        verdict=log.label,
        gap=unknown,
        length=unknown,
        covariates=human.covariates,
        votes=outcome,
        n=zero,
    ).keep(zero[:0])
    none = np.zeros(0)
    return BattleCounts(
        models=log.models,
        judges=(),
        groups=("all",),
        human=human,
        judged=nobody,
        shown=nobody,
        swaps=Swaps(labels=np.zeros((0, 3, 3), dtype=np.int64), advantage=none, advantage_squares=none, n=zero[:0]),
        battles=_clusters(log, "battle", _codes(log.item, log.first, log.second)),
        clusters=(_clusters(log, "unit", log.unit),) if clustered else (),
    )


def _clusters(log: Log, column: str, cluster: Ints) -> BattleClusters:
    size = len(log.first)
    unknown, zero = np.full(size, np.nan), np.zeros(size, dtype=np.int64)
    return BattleClusters(
        column=column,
        rater=zero + PEOPLE,
        first=log.first,
        second=log.second,
        group=zero,
        cluster=cluster,
        label=log.label,
        shown=np.full((size, 2), np.nan),
        longer=unknown,
        gap=unknown,
        votes=np.zeros((size, 3), dtype=np.int64),
        n=zero + 1,
        times=np.ones(int(cluster.max()) + 1, dtype=np.int64),
    )


def _codes(*names: Ints) -> Ints:
    return np.unique(np.stack(names), axis=1, return_inverse=True)[1].reshape(-1)
