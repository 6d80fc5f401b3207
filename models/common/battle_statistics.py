"""Test quantities of battles: scores of models and pairs, ties, cycles, the worth of being shown first.

Each takes outcomes (..., patterns, 3) with the pair and order of every pattern, and names shares with the
same leading shape. What never occurred is left out rather than shown as 0 of 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bayesjudge.model import Data

#: Pairs whose scores are shown one by one: those with the most battles.
MOST_PAIRS = 100
#: Battles a pair needs for its majority to count in a cycle.
LEAST_BATTLES = 5


@dataclass(frozen=True, eq=False, kw_only=True)
class Patterns:
    """The design behind outcomes: pair, order and number of battles of each pattern (R,), models' names."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    order: NDArray[np.float64]
    total: NDArray[np.int64]
    models: tuple[str, ...]

    @classmethod
    def of(cls, data: Data) -> Self:
        """From a model's data."""
        named = {name: np.asarray(data[name]) for name in ("first", "second", "order", "total")}
        return cls(**named, models=tuple(str(name) for name in data.coords["system"]))

    def keep(self, rows: NDArray[np.bool_]) -> Self:
        """Some of the patterns."""
        return replace(
            self, first=self.first[rows], second=self.second[rows], order=self.order[rows], total=self.total[rows]
        )

    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Distinct pairs (P, 2), and which patterns are of which pair (R, P)."""
        found, place = np.unique(np.column_stack([self.first, self.second]), axis=0, return_inverse=True)
        return found, np.eye(len(found))[place.reshape(-1)]


def _points(counts: Any) -> Any:
    """Points of the first model, a tie counting half, (..., R)."""
    return counts[..., 0] + counts[..., 1] / 2


def model_scores(counts: Any, patterns: Patterns) -> dict[str, Any]:
    """Mean score of each model over all its battles."""
    points, out = _points(counts), {}
    for m, name in enumerate(patterns.models):
        as_first, as_second = patterns.first == m, patterns.second == m
        battles = patterns.total @ (as_first | as_second)
        if battles:
            lost = (patterns.total * as_second).sum() - points @ as_second
            out[name] = (points @ as_first + lost) / battles
    return out


def pair_scores(counts: Any, patterns: Patterns) -> dict[str, Any]:
    """The win matrix: mean score of the first model of each pair, for the pairs with the most battles."""
    pairs, member = patterns.pairs()
    battles, points = patterns.total @ member, _points(counts) @ member
    most = np.argsort(-battles, kind="stable")[:MOST_PAIRS]
    return {
        f"{patterns.models[pairs[p, 0]]} − {patterns.models[pairs[p, 1]]}": points[..., p] / battles[p]
        for p in sorted(most)
        if battles[p]
    }


def tie_rate(counts: Any, patterns: Patterns) -> dict[str, Any]:
    """Share of ties, over all battles and over those of each model."""
    shares = {"all": np.ones(len(patterns.total), dtype=bool)}
    shares |= {name: (patterns.first == m) | (patterns.second == m) for m, name in enumerate(patterns.models)}
    return {
        name: counts[..., 1] @ rows / (patterns.total @ rows) for name, rows in shares.items() if patterns.total @ rows
    }


def cycle_rate(counts: Any, patterns: Patterns) -> dict[str, Any]:
    """Share of intransitive triples (a over b over c over a) among those whose pairs have a majority."""
    pairs, member = patterns.pairs()
    battles = patterns.total @ member
    lead = np.where(battles >= LEAST_BATTLES, (2 * _points(counts) - patterns.total) @ member, 0.0)
    over = np.zeros((*lead.shape[:-1], len(patterns.models), len(patterns.models)))
    over[..., pairs[:, 0], pairs[:, 1]] = lead > 0
    over[..., pairs[:, 1], pairs[:, 0]] = lead < 0
    decided = over + np.swapaxes(over, -1, -2)
    triples = _closed_walks(decided) / 6
    if not np.all(triples > 0):
        return {}
    return {"all": _closed_walks(over) / 3 / triples}


def _closed_walks(matrix: Any) -> Any:
    """Trace of the third power."""
    return ((matrix @ matrix) * np.swapaxes(matrix, -1, -2)).sum(axis=(-1, -2))


def shown_first(counts: Any, patterns: Patterns) -> dict[str, Any]:
    """Mean score of the answer that was shown first, where that is known."""
    known = patterns.order != 0
    battles = patterns.total @ known
    if not battles:
        return {}
    points = _points(counts)
    mine = points @ (patterns.order > 0) + (patterns.total - points) @ (patterns.order < 0)
    return {"all": mine / battles}
