"""How often two answers of one item fall in two given cells: what is known of how items are shared.

An answer that a judge saw falls in one of six cells: unlabelled, wrong or right, each with verdict 0 or 1.
Several runs of the judge share the answer out: k ones in K runs are k/K of the cell with verdict 1. With
x_i the answers of item i by unit (a model, or a model within a group) and cell, every sum over items of a
product of two functions of cells follows from Σ x_i x_iᵀ. It has the square of the number of cells as its
size, whatever the number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from bayesjudge.counts.verdicts import ItemPatterns

__all__ = ["CELLS", "PairCells", "pair_cells"]

#: Label and verdict of each cell; no label is -1.
CELLS = ((-1, 0), (-1, 1), (0, 0), (0, 1), (1, 0), (1, 1))

type Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class PairCells:
    """Cells of one judge's answers; K = 6 U cells, those of a unit next to each other, M models.

    The first axis tells items (whole clusters, where items come in clusters) without any label from those
    with one.

    Attributes
    ----------
    together : float array (2, K, K)
        Σ x_i x_iᵀ.
    sums : float array (2, K)
        Σ x_i.
    items : int array (2,)
        Number of items (clusters).
    labelled : int array (M,)
        Items (clusters) with a labelled answer of each model.
    """

    together: Array
    sums: Array
    items: NDArray[np.int64]
    labelled: NDArray[np.int64]


def pair_cells(patterns: ItemPatterns, *, groups: int = 1, clustered: bool = False) -> PairCells:
    """Count pairs of cells in the item patterns of one judge.

    Parameters
    ----------
    patterns : ItemPatterns
        Of one judge, M models.
    groups : int
        Number of groups; unit ``m * groups + g`` is model m within group g.
    clustered : bool
        Items of a cluster are counted as one item.

    Examples
    --------
    >>> from bayesjudge.counts import count_verdicts
    >>> from bayesjudge.datasets import simulate_verdicts
    >>> log = simulate_verdicts(seed=1, labelled=40, unlabelled=80).verdicts
    >>> cells = pair_cells(count_verdicts(log).items["judge"])
    >>> cells.together.shape, cells.items.tolist(), cells.labelled.tolist()
    ((2, 12, 12), [80, 40], [40, 40])
    """
    x, own = _answers(patterns, groups), patterns.label >= 0
    n, seen = patterns.n.astype(np.float64), own & (patterns.runs > 0)
    if clustered:
        from scipy.sparse import csr_array

        code, cluster = np.unique(patterns.cluster, return_inverse=True)
        cluster = cluster.reshape(-1)
        member = csr_array((n, (cluster, np.arange(len(n)))), shape=(len(code), len(n)))
        x, n = member @ x, np.ones(len(code))
        seen = (
            np.column_stack([np.bincount(cluster, weights=column, minlength=len(code)) for column in seen.T])
            > 0
        )
    any_label = seen.any(axis=1)
    strata = [_sums(x[rows], n[rows]) for rows in (~any_label, any_label)]
    together, sums, items = (np.stack(parts) for parts in zip(*strata, strict=True))
    labelled = np.rint(n @ seen).astype(np.int64)
    return PairCells(together=together, sums=sums, items=np.rint(items).astype(np.int64), labelled=labelled)


def _answers(patterns: ItemPatterns, groups: int) -> Any:
    """X of each pattern, a sparse array (R, K)."""
    from scipy.sparse import csr_array

    row, model = np.nonzero(patterns.runs > 0)
    unit = model * groups + patterns.group[row]
    share = patterns.positives[row, model] / patterns.runs[row, model]
    first = unit * len(CELLS) + 2 * (patterns.label[row, model] + 1)
    place = np.concatenate([row, row]), np.concatenate([first, first + 1])
    shape = (len(patterns.n), patterns.runs.shape[1] * groups * len(CELLS))
    return csr_array((np.concatenate([1 - share, share]), place), shape=shape)


def _sums(x: Any, n: Array) -> tuple[Array, Array, Any]:
    from scipy.sparse import diags_array

    return (x.T @ (diags_array(n) @ x)).toarray(), n @ x, n.sum()
