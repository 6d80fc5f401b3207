"""The Elo question: people's votes by pair of systems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.adapters.views.view import PATTERN, View, by_entry, drawn_within
from bayesjudge.counts.battles.counts import BattleCounts, count_battles
from bayesjudge.errors import UsageError
from bayesjudge.model import Data
from bayesjudge.readers import read_battles
from bayesjudge.tables import Battles

_OUTCOMES = ("wins", "ties", "losses", "n")
ARRAYS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys((*_OUTCOMES, "first", "second"), ("pair",)),
    **{f"judged_{name}": ("judge", "judged") for name in _OUTCOMES},
    **dict.fromkeys(("judged_first", "judged_second"), ("judged",)),
}


def _made(table: Any) -> Data:
    counts = count_battles(table) if isinstance(table, Battles) else table
    people, (judged, verdicts) = counts.human_pairs(), _verdicts(counts)
    votes, size = np.asarray(people.n, dtype=np.int64), counts.judged.n.sum()
    if not votes.sum() + size:
        raise UsageError("a function is a model of human votes or judges' verdicts, and these battles have neither")
    patterns = {
        f"{PATTERN}n": np.r_[votes.ravel(), verdicts.ravel()],
        f"{PATTERN}stratum": np.repeat(np.arange((votes.size + verdicts.size) // 3), 3),
    }
    ends = {"first": people.first, "second": people.second, "judged_first": judged[0], "judged_second": judged[1]}
    found = {**_sums(votes, verdicts), **{name: np.asarray(codes, dtype=np.int64) for name, codes in ends.items()}}
    of = np.concatenate([found["first"], found["second"]] if votes.sum() else [*judged])
    times = found["n"] if votes.sum() else found["judged_n"].sum(0)
    met = np.bincount(of, weights=np.tile(times, 2), minlength=len(counts.models))
    return Data(
        arrays={**found, **patterns},
        dims={**ARRAYS, **dict.fromkeys(patterns, ("pattern",))},
        coords={
            "system": counts.models,
            "pair": _named(counts, people.first, people.second),
            "judge": counts.judges,
            "judged": _named(counts, *judged),
            "pattern": tuple(range(votes.size + verdicts.size)),
        },
        observed="wins",
        counted=True,
        units=dict(zip(counts.models, met.astype(int).tolist(), strict=True)),
    )


def _verdicts(counts: BattleCounts) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs (2, P) that judges judged, and each judge's hard labels of them (J, P, 3)."""
    of = [counts.judge_pairs(judge) for judge in counts.judges]
    ends = [np.stack([one.first, one.second]) for one in of]
    pairs, place = np.unique(np.concatenate([np.zeros((2, 0), np.int64), *ends], axis=1), axis=1, return_inverse=True)
    labels = np.zeros((len(of), pairs.shape[1], 3), dtype=np.int64)
    for j, (one, where) in enumerate(zip(of, np.split(place, np.cumsum([e.shape[1] for e in ends])), strict=False)):
        labels[j, where] = one.n
    return pairs, labels


def _named(counts: BattleCounts, first: Any, second: Any) -> tuple[str, ...]:
    return tuple(f"{counts.models[a]} − {counts.models[b]}" for a, b in zip(first, second, strict=True))


def _resampled(data: Data, replicates: int, rng: np.random.Generator) -> dict[str, NDArray[np.int64]]:
    n, stratum = (np.asarray(data[PATTERN + name]) for name in ("n", "stratum"))
    drawn, votes = drawn_within(stratum, n, replicates, rng), 3 * len(data["n"])
    judged = np.shape(data["judged_n"])
    return _sums(drawn[:, :votes].reshape(replicates, -1, 3), drawn[:, votes:].reshape(replicates, *judged, 3))


def _sums(votes: NDArray[np.int64], verdicts: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """Outcomes of pairs from counts (..., 3): a wins, a tie, b wins."""
    found: dict[str, NDArray[np.int64]] = {}
    for prefix, n in (("", votes), ("judged_", verdicts)):
        parts = (n[..., 0], n[..., 1], n[..., 2], n.sum(-1))
        found |= {f"{prefix}{name}": part for name, part in zip(_OUTCOMES, parts, strict=True)}
    return found


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
