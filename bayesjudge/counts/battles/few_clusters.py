"""Where clusters are so few that an interval made of them is rough, and the words that say so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayesjudge.counts.battles.clusters import BattleClusters
from bayesjudge.counts.battles.counts import BattleCounts

#: Clusters below which clustered errors are rough, in all and of one model (Cameron & Miller 2015).
FEW, FEW_OF_A_MODEL = 20, 10


def few_clusters(counts: BattleCounts, judge: str | None) -> Mapping[str, str]:
    """A note for every model whose interval rests on few clusters; ``judge`` None for people's votes."""
    mine = [rows.of(counts.rater(judge)) for rows in counts.clusters]
    own = [clusters_of_models(rows, len(counts.models)) for rows in mine]
    return few_notes(counts.models, [rows.column for rows in mine], own, [rows.count() for rows in mine])


def few_notes(
    models: Sequence[Any], columns: Sequence[Any], own: Sequence[Any], total: Sequence[Any]
) -> dict[str, str]:
    """The notes, from each column's clusters of each model (K, M) and in all (K,)."""
    found: dict[str, str] = {}
    for column, of_model, n_all in zip(columns, own, total, strict=True):
        for name, n in zip(models, of_model, strict=True):
            if n > 0 and n_all < FEW:
                found.setdefault(str(name), _rough(int(n_all), str(column), FEW, ""))
            elif 0 < n < FEW_OF_A_MODEL:
                found.setdefault(str(name), _rough(int(n), str(column), FEW_OF_A_MODEL, f" with {name}"))
    return found


def _rough(n: int, column: str, least: int, whose: str) -> str:
    return f"from {n} cluster{'s' * (n > 1)} ({column}){whose}: below {least} an interval is rough"


def clusters_of_models(rows: BattleClusters, models: int) -> np.ndarray:
    """Number of clusters with a battle of each model (M,)."""
    held = np.unique(
        np.concatenate([np.stack([rows.cluster, side]) for side in (rows.first, rows.second)], axis=1), axis=1
    )
    return np.bincount(held[1], weights=rows.times[held[0]], minlength=models).astype(np.int64)
