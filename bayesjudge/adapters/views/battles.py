"""The Elo question: people's votes by pair of systems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.adapters.views.view import PATTERN, View, by_entry, drawn_within
from bayesjudge.counts.battles.counts import BattleCounts, count_battles
from bayesjudge.errors import UsageError
from bayesjudge.model import Data
from bayesjudge.readers import read_battles
from bayesjudge.tables import Battles

if TYPE_CHECKING:
    from numpy.typing import NDArray

ARRAYS: Mapping[str, tuple[str, ...]] = dict.fromkeys(("wins", "ties", "losses", "n", "first", "second"), ("pair",))


def _made(table: Any) -> Data:
    counts = count_battles(table) if isinstance(table, Battles) else table
    pairs = counts.human_pairs()
    votes = np.asarray(pairs.n, dtype=np.int64)
    if not votes.sum():
        raise UsageError("a function is a model of human votes, and these battles have none")
    size = len(votes)
    patterns = {f"{PATTERN}n": votes.ravel(), f"{PATTERN}stratum": np.repeat(np.arange(size), 3)}
    found = {**_sums(votes.ravel()), "first": np.asarray(pairs.first), "second": np.asarray(pairs.second)}
    names = [f"{counts.models[a]} − {counts.models[b]}" for a, b in zip(pairs.first, pairs.second, strict=True)]
    met = np.bincount(np.r_[pairs.first, pairs.second], weights=np.tile(found["n"], 2), minlength=len(counts.models))
    return Data(
        arrays={**found, **patterns},
        dims={**ARRAYS, **dict.fromkeys(patterns, ("pattern",))},
        coords={"system": counts.models, "pair": tuple(names), "pattern": tuple(range(3 * size))},
        observed="wins",
        counted=True,
        units=dict(zip(counts.models, met.astype(int).tolist(), strict=True)),
    )


def _resampled(data: Data, replicates: int, rng: np.random.Generator) -> dict[str, NDArray[np.int64]]:
    n, stratum = (np.asarray(data[PATTERN + name]) for name in ("n", "stratum"))
    return _sums(drawn_within(stratum, n, replicates, rng))


def _sums(n: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """Counts from patterns (..., pairs × 3): a wins, a tie, b wins."""
    votes = n.reshape(*n.shape[:-1], -1, 3)
    return {"wins": votes[..., 0], "ties": votes[..., 1], "losses": votes[..., 2], "n": votes.sum(-1)}


BATTLES = View(
    question="elo",
    kinds=(Battles, BattleCounts),
    read=read_battles,
    made=_made,
    arrays=ARRAYS,
    estimands=dict.fromkeys(("elo", "strength"), "system"),
    needed=("elo", "strength"),
    resampled=_resampled,
    shown=by_entry,
)
