"""Leaving one model out: when its figure against the others says anything."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.maths.comparison_graph import comparison_graph


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
