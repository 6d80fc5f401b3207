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
    """Battles, R rows of a vote or a verdict each.

    Attributes
    ----------
    models : tuple of str
    rater : int array (R,)
        `PEOPLE`, or 1 for a judge of the same battles; a rater alone is `PEOPLE`, whoever it is.
    first, second, item, unit : int array (R,)
        Codes; the unit is what is drawn: the prompt, or the voter.
    label : float array (R,)
        1 the first model, .5 neither, 0 the second.
    """

    models: tuple[str, ...]
    rater: Ints
    first: Ints
    second: Ints
    item: Ints
    unit: Ints
    label: Floats

    def keep(self, rows: NDArray[np.int64], unit: Ints) -> Log:
        """Some rows, several times if need be, with new units; an item of another unit is another item."""
        item = unit * (self.item.max() + 1) + self.item[rows]
        codes = {name: getattr(self, name)[rows] for name in ("rater", "first", "second", "label")}
        return replace(self, item=item, unit=unit, **codes)


def read_mtbench(folder: Path, rater: str) -> Log:
    """The whole table of one rater, or of two.

    Parameters
    ----------
    folder : Path
        ``pairwise_mtbench_human`` of the shared data.
    rater : str
        ``people`` (units are prompts), ``voters`` (the same, units are the voters), ``gpt-4`` (its first
        run; both orders of a battle are one verdict) or ``both``, people and the judge GPT-4.
    """
    items = pd.read_parquet(folder / "mtbench_items.parquet").set_index("item_id")
    people = pd.read_parquet(folder / "mtbench_human_votes.parquet")
    tables = {"gpt-4": [_verdicts(folder)], "both": [people, _verdicts(folder)]}.get(rater, [people])
    votes = pd.concat(tables, ignore_index=True)
    of = items.loc[votes["item_id"]]
    unit = votes["human_id"] if rater == "voters" else of["question_id"]
    models = tuple(sorted({*of["model_a"], *of["model_b"]}))
    sides = [pd.Index(of[side]) for side in ("model_a", "model_b")]
    a, b = (pd.Index(models).get_indexer(side).astype(np.int64) for side in sides)
    label = votes["human"].to_numpy(np.float64)
    return Log(
        models=models,
        rater=np.repeat(np.arange(len(tables)), [len(table) for table in tables]),
        first=np.minimum(a, b),
        second=np.maximum(a, b),
        item=pd.factorize(votes["item_id"])[0].astype(np.int64),
        unit=pd.factorize(np.asarray(unit))[0].astype(np.int64),
        label=np.where(a < b, label, 1 - label),
    )


def _verdicts(folder: Path) -> pd.DataFrame:
    said = pd.read_parquet(folder / "mtbench_judgments.parquet")
    said = said[(said["judge"] == "gpt-4-0613-pairwise") & (said["run"] == 0)]
    side = said["verdict"].map({"a": 1.0, "b": -1.0, "tie": 0.0, 1.0: 1.0, 0.0: -1.0, 0.5: 0.0})
    total = side.groupby(said["item_id"]).sum()
    return pd.DataFrame({"item_id": total.index, "human": (np.sign(total.to_numpy()) + 1) / 2})


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
        rater=np.full(rows, PEOPLE),
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
    size = len(log.first)
    zero, unknown = np.zeros(size, dtype=np.int64), np.full(size, np.nan)
    pair = {"first": log.first, "second": log.second, "group": zero, "order": zero}
    more = {"length": unknown, "covariates": np.zeros((size, 0)), "votes": outcome}
    votes = HumanVotes(**pair, **more)
    verdicts = JudgedBattles(**pair, **more, judge=zero, label=log.label, verdict=log.label, gap=unknown, n=zero + 1)
    judges = ("gpt-4",) * int(log.rater.max())
    judged, none = verdicts.keep(log.rater != PEOPLE), np.zeros(len(judges))
    swaps = np.zeros((len(judges), 3, 3), dtype=np.int64)
    return BattleCounts(
        models=log.models,
        judges=judges,
        groups=("all",),
        human=votes.keep(log.rater == PEOPLE),
        judged=judged,
        shown=judged,
        swaps=Swaps(labels=swaps, advantage=none, advantage_squares=none, n=swaps.sum((1, 2))),
        battles=_clusters(log, "battle", _codes(log.item, log.first, log.second)),
        clusters=(_clusters(log, "unit", log.unit),) if clustered else (),
    )


def _clusters(log: Log, column: str, cluster: Ints) -> BattleClusters:
    size = len(log.first)
    unknown, zero = np.full(size, np.nan), np.zeros(size, dtype=np.int64)
    return BattleClusters(
        column=column,
        rater=log.rater,
        first=log.first,
        second=log.second,
        group=zero,
        cluster=cluster,
        label=log.label,
        shown=np.full((size, 2), np.nan),
        longer=unknown,
        gap=unknown,
        covariates=np.zeros((size, 0)),
        votes=np.zeros((size, 3), dtype=np.int64),
        n=zero + 1,
        times=np.ones(int(cluster.max()) + 1, dtype=np.int64),
    )


def _codes(*names: Ints) -> Ints:
    return np.unique(np.stack(names), axis=1, return_inverse=True)[1].reshape(-1)
