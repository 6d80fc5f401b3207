"""Who met whom and who beat whom: whether strengths have a finite answer without a penalty (Ford 1957).

And, leaving one model out, when its figure against the others says anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

type Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Graph:
    """Who met whom, and who beat whom.

    part: Which connected part of the comparison graph each model is in; −1 without battles.
    group: Which set of models, each reached from each other by wins; −1 without battles. A finite maximum-likelihood
        answer exists where each part is one group (Ford 1957).
    """

    part: Ints
    group: Ints

    @property
    def parts(self) -> int:
        """Number of connected parts."""
        return len(np.unique(self.part[self.part >= 0]))

    @property
    def is_finite(self) -> bool:
        """Whether differences within every part have a finite maximum-likelihood answer."""
        return len(np.unique(self.group[self.group >= 0])) == self.parts

    def problems(self, models: Sequence[str], *, few: int = 5) -> list[str]:
        """What makes the fit ill-posed without a penalty, in words; empty where nothing does."""
        found = []
        if self.parts > 1:
            members = [np.flatnonzero(self.part == k).tolist() for k in range(self.parts)]
            sets = [_shown([models[m] for m in part], few) for part in members]
            found.append(f"the comparison graph falls into {self.parts} parts that never met: {'; '.join(sets)}")
        if not self.is_finite:
            sizes = np.bincount(self.group[self.group >= 0])
            apart = [models[m] for m, k in enumerate(self.group) if k >= 0 and sizes[k] < sizes.max()]
            named = _shown(apart or [models[m] for m in np.flatnonzero(self.group >= 0).tolist()], few)
            found.append(f"always win or always lose against the rest: {named}")
        return found


def _shown(names: Sequence[str], few: int) -> str:
    more = f" and {len(names) - few} more" if len(names) > few else ""
    return ", ".join(names[:few]) + more


def comparison_graph(first: Ints, second: Ints, n: NDArray[Any], wins: NDArray[Any], models: int) -> Graph:
    """Parts and groups of the comparison graph; arguments as for `strengths.solve_strengths`, one data set."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n, wins = np.asarray(n, dtype=np.float64), np.asarray(wins, dtype=np.float64)
    forward, backward = wins > 0, n - wins > 0
    rows = np.concatenate([first[forward], second[backward]])
    columns = np.concatenate([second[forward], first[backward]])
    beats = csr_array((np.ones(len(rows)), (rows, columns)), shape=(models, models))
    compared = np.zeros(models, dtype=bool)
    compared[np.concatenate([first[n > 0], second[n > 0]])] = True
    kinds = [connected_components(beats, connection=kind)[1] for kind in ("weak", "strong")]
    part, group = (np.where(compared, np.unique(kind, return_inverse=True)[1], -1) for kind in kinds)
    return Graph(part=_renumbered(part), group=_renumbered(group))


def _renumbered(code: Ints) -> Ints:
    """Codes from 0 without gaps, −1 as it is."""
    found = np.full(len(code), -1)
    known = code >= 0
    found[known] = np.unique(code[known], return_inverse=True)[1]
    return found


def fold_problem(first: NDArray[np.int64], second: NDArray[np.int64], n: NDArray[Any], m: int, models: int) -> str:
    """Why a model has no figure against anchors that were fitted without it; empty where it has one.

    Examples
    --------
    A star: every battle is with model 0.

    >>> zero, others, four = np.zeros(3, dtype=int), np.array([1, 2, 3]), np.full(3, 4)
    >>> fold_problem(zero, others, four, 0, 4)
    'its battles are the only link between the other models'
    >>> fold_problem(zero, others, four, 1, 4)
    ''
    """
    n = np.asarray(n)
    mine = ((first == m) | (second == m)) & (n > 0)
    if not mine.any():
        return "it has no battles"
    rivals = (first + second - m)[mine]
    graph = comparison_graph(first, second, np.where(mine, 0, n), np.where(mine, 0, n) / 2, models)
    parts = graph.part[rivals]
    # A lone rival that met nobody else would do as an anchor, of strength 0; two such have no scale.
    linked = np.unique(parts[parts >= 0])
    if len(linked) > 1 or ((parts < 0).all() and len(np.unique(rivals)) > 1):
        return "its battles are the only link between the other models"
    if not len(linked):
        return "its only rival has no other battles"
    return ""
