"""Sufficient sums of battles for strengths and their errors: by pattern and cluster, and over shared battles.

A *rater* is people or one judge; its *target* t in a battle lies between 0 and 1 (1 the first model wins, ½ a
tie, or a soft target), and people may give several, one a vote. A *battle* is one prompt's answers of two
models, and *clusters* are what several battles share: a prompt, a voter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BattleSums", "sum_battles"]

type Ints = NDArray[np.int64]
type Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class BattleSums:
    """The smallest table from which `strengths` and their covariances follow.

    Three lists of rows. A *pattern* is what a rater's fitted probability depends on: ``(rater, first, second,
    x)``. A *cell* is a pattern in one combination of clusters. A *product* is a pair of patterns that share
    battles: the two raters' views of one battle, or one rater's with itself.

    Attributes
    ----------
    models, raters : int
        Numbers M and R.
    rater, first, second : int array (D,)
        Of each pattern; ``first`` and ``second`` are codes of models.
    x : float array (D, K)
        Covariates of each pattern as the rater saw it (shown first, longer); K may be 0.
    pattern : int array (C,)
        Pattern of each cell.
    cluster : int array (C, L)
        Codes of each cell's clusters, one column a kind of cluster; L may be 0. Cells are distinct.
    n, t : float array (C,)
        Targets in each cell, and their sum.
    left, right : int array (E,)
        Patterns of each product, ``left <= right``.
    nn, nt, tn, tt : float array (E,)
        Sums over the battles of both patterns of ``N_l N_r``, ``N_l T_r``, ``T_l N_r`` and ``T_l T_r``, where
        N and T are the number and sum of a rater's targets in the battle. With one target a battle and ``left
        == right`` these are n, Σt, Σt and Σt².
    """

    models: int
    raters: int
    rater: Ints
    first: Ints
    second: Ints
    x: Floats
    pattern: Ints
    cluster: Ints
    n: Floats
    t: Floats
    left: Ints
    right: Ints
    nn: Floats
    nt: Floats
    tn: Floats
    tt: Floats

    @property
    def width(self) -> int:
        """Parameters of a rater: a strength for each model, then an effect for each covariate."""
        return self.models + int(self.x.shape[1])

    def by_pattern(self) -> tuple[Floats, Floats]:
        """Number and sum of the targets of each pattern (D,)."""
        rows = len(self.rater)
        return tuple(np.bincount(self.pattern, weights=sums, minlength=rows) for sums in (self.n, self.t))  # type: ignore[return-value]

    def keep(self, patterns: NDArray[np.bool_]) -> BattleSums:
        """The patterns of a mask (D,), for instance those without some model's votes; codes stay."""
        place = np.cumsum(patterns) - 1
        cells = patterns[self.pattern]
        both = patterns[self.left] & patterns[self.right]
        found: dict[str, Any] = {
            name: getattr(self, name)[patterns] for name in ("rater", "first", "second", "x")
        }
        found |= {name: getattr(self, name)[cells] for name in ("cluster", "n", "t")}
        found |= {name: getattr(self, name)[both] for name in ("nn", "nt", "tn", "tt")}
        return replace(self, **found, pattern=place[self.pattern[cells]], left=place[self.left[both]],
                       right=place[self.right[both]])  # fmt: skip

    def without_votes_on(self, model: int, *, rater: int = 0) -> BattleSums:
        """As if one rater (people, by default) had seen no battle of a model."""
        return self.keep((self.rater != rater) | ((self.first != model) & (self.second != model)))


def sum_battles(
    *, battle: Ints, rater: Ints, first: Ints, second: Ints, target: Floats, x: Floats | None = None,
    clusters: Sequence[Ints] = (), models: int, raters: int,
) -> BattleSums:  # fmt: skip
    """Sums of single targets, one row each.

    Parameters
    ----------
    battle : int array (N,)
        Code of the battle; rows of one battle name the same two models in the same order.
    rater, first, second : int array (N,)
    target : float array (N,)
    x : float array (N, K), optional
        Covariates, equal in all of a rater's rows of one battle.
    clusters : sequence of int array (N,)
        Codes of each kind of cluster.
    models, raters : int

    Examples
    --------
    Two people and a judge on one battle, one person on another:

    >>> one = np.zeros(4, dtype=int)
    >>> sums = sum_battles(battle=np.array([0, 0, 0, 1]), rater=np.array([0, 0, 1, 0]), first=one,
    ...                    second=one + 1, target=np.array([1.0, 0.5, 1.0, 0.0]), models=2, raters=2)
    >>> sums.by_pattern()[1].tolist(), sums.left.tolist(), sums.right.tolist(), sums.tt.tolist()
    ([1.5, 1.0], [0, 0, 1], [0, 1, 1], [2.25, 1.5, 1.0])
    """
    x = np.zeros((len(rater), 0)) if x is None else np.asarray(x, dtype=np.float64)
    patterns, pattern = _distinct(rater, first, second, x)
    cells, cell = _distinct(pattern, *clusters)
    views, view = _distinct(battle, pattern)
    whole, seen = cells.astype(np.int64), views.astype(np.int64)
    return BattleSums(
        models=models, raters=raters, rater=patterns[:, 0].astype(np.int64), x=patterns[:, 3:],
        first=patterns[:, 1].astype(np.int64), second=patterns[:, 2].astype(np.int64),
        pattern=whole[:, 0], cluster=whole[:, 1:], n=_sums(cell), t=_sums(cell, target),
        **_products(seen[:, 0], seen[:, 1], _sums(view), _sums(view, target)),
    )  # fmt: skip


def _distinct(*columns: NDArray[Any]) -> tuple[Floats, Ints]:
    """Distinct rows, and where each row is among them."""
    rows, place = np.unique(np.column_stack(columns).astype(np.float64), axis=0, return_inverse=True)
    return rows, place.reshape(-1).astype(np.int64)


def _sums(place: Ints, weights: Floats | None = None) -> Floats:
    return np.asarray(np.bincount(place, weights=weights), dtype=np.float64)


def _products(battle: Ints, pattern: Ints, n: Floats, t: Floats) -> dict[str, Any]:
    """Products of every two views of one battle, a view with itself among them; rows are sorted by battle."""
    _, start, size = np.unique(battle, return_index=True, return_counts=True)
    # Battles with k views have k(k+1)/2 products: all battles of one size are paired at once.
    parts = []
    for k in np.unique(size):
        a, b = np.triu_indices(int(k))
        at = start[size == k][:, None]
        parts.append(np.stack([(at + a).reshape(-1), (at + b).reshape(-1)]))
    one, two = np.concatenate(parts, axis=1) if parts else np.zeros((2, 0), dtype=np.int64)
    pairs, place = np.unique(np.stack([pattern[one], pattern[two]]), axis=1, return_inverse=True)
    sums = {"nn": n[one] * n[two], "nt": n[one] * t[two], "tn": t[one] * n[two], "tt": t[one] * t[two]}
    found = {name: np.bincount(place.reshape(-1), weights=values, minlength=pairs.shape[1])
             for name, values in sums.items()}  # fmt: skip
    return {"left": pairs[0], "right": pairs[1], **found}
