"""How often two answers of one item fall in two given cells: what is known of how items are shared.

An answer that a judge saw falls in one of six cells: unlabelled, wrong or right, each with verdict 0 or 1.
Several runs of the judge share the answer out: k ones in K runs are k/K of the cell with verdict 1. An
answer whose label represents w of them (labels drawn with unequal probabilities) is w of its labelled and
1 − w of its unlabelled cell, so that every answer counts once in what is known of verdicts. With
x_i the answers of item i by unit (a model, or a model within a group) and cell, every sum over items of a
product of two functions of cells follows from Σ x_i x_iᵀ. It has the square of the number of cells as its
size, whatever the number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.counts.verdicts import ItemPatterns

#: Label and verdict of each cell; no label is -1.
CELLS = ((-1, 0), (-1, 1), (0, 0), (0, 1), (1, 0), (1, 1))

type Array = NDArray[np.float64]

#: A variance below this is rounding.
_NOTHING = 1e-9


@dataclass(frozen=True, eq=False, kw_only=True)
class PairCells:
    """Cells of one judge's answers; K = 6 U cells, those of a unit next to each other, M models.

    The first axis tells items (whole clusters, where items come in clusters) without any label from those
    with one.

    together: Σ x_i x_iᵀ.
    sums: Σ x_i.
    items: Number of items (clusters).
    labelled: Items (clusters) with a labelled answer of each model; where labels have weights w, as many as are as
        informative, (Σw)²/Σw² (Kish 1965).
    log_effect_error: Standard error of the log of the design effect of labels: how much more their sum varies over
        items (clusters) than that of independent labels. By the jackknife over labelled items; NaN where fewer than
        three items, or labels that do not vary, leave it undefined.
    """

    together: Array
    sums: Array
    items: NDArray[np.int64]
    labelled: NDArray[Any]
    log_effect_error: float


def pair_cells(patterns: ItemPatterns, *, groups: int = 1, clustered: bool = False) -> PairCells:
    """Count pairs of cells in the item patterns of one judge.

    groups: Number of groups; unit ``m * groups + g`` is model m within group g.
    """
    x: Any = _answers(patterns, groups)
    weight: Any = patterns.label_weight
    n = patterns.n.astype(np.float64)
    any_label = (weight > 0).any(axis=1)
    if clustered:
        from scipy.sparse import csr_array

        code, cluster = np.unique(patterns.cluster, return_inverse=True)
        member = csr_array((n, (cluster.reshape(-1), np.arange(len(n)))), shape=(len(code), len(n)))
        x, weight, any_label, n = member @ x, member @ weight, member @ any_label > 0, np.ones(len(code))
    strata = [_sums(x[rows], n[rows]) for rows in (~any_label, any_label)]
    together, sums, items = (np.stack(parts) for parts in zip(*strata, strict=True))
    labelled = np.rint(n @ (weight > 0)).astype(np.int64)
    if patterns.probability is not None:
        labelled = (n @ weight) ** 2 / np.maximum(n @ weight**2, 1e-12)
    return PairCells(
        together=together,
        sums=sums,
        items=np.rint(items).astype(np.int64),
        labelled=labelled,
        log_effect_error=_log_effect_error(x[any_label], n[any_label]),
    )


def _answers(patterns: ItemPatterns, groups: int) -> Any:
    """X of each pattern, a sparse array (R, K)."""
    from scipy.sparse import csr_array

    row, model = np.nonzero(patterns.runs > 0)
    weight = patterns.label_weight[row, model]
    share = patterns.positives[row, model] / patterns.runs[row, model]
    first = (model * groups + patterns.group[row]) * len(CELLS)
    label = first + 2 * (patterns.label[row, model] + 1)
    values = [part * of for part in (weight, 1 - weight) for of in (1 - share, share)]
    columns = [place + verdict for place in (label, first) for verdict in (0, 1)]
    shape = (len(patterns.n), patterns.runs.shape[1] * groups * len(CELLS))
    # Entries of one place are added up: without a label both parts fall in the unlabelled cell.
    return csr_array((np.concatenate(values), (np.tile(row, 4), np.concatenate(columns))), shape=shape)


def _sums(x: Any, n: Array) -> tuple[Array, Array, Any]:
    from scipy.sparse import diags_array

    return (x.T @ (diags_array(n) @ x)).toarray(), n @ x, n.sum()


def _log_effect_error(x: Any, n: Array) -> float:
    """Jackknife error of log(V/H), V of the items' sums of y − ȳ and H of independent labels.

    The means ȳ are left-out ones in H, where they matter: V does not change with them when an item's answers
    are all labelled.
    """
    right = (x[:, 4 :: len(CELLS)] + x[:, 5 :: len(CELLS)]).toarray()
    given = right + (x[:, 2 :: len(CELLS)] + x[:, 3 :: len(CELLS)]).toarray()
    y, size, items = n @ right, n @ given, n.sum()
    if items <= 2:
        return np.nan
    of_item = (right - given * np.divide(y, size, where=size > 0, out=np.zeros(len(y)))).sum(axis=1)
    variance = n @ of_item**2 - of_item**2 - (n @ of_item - of_item) ** 2 / (items - 1)
    y, size = y - right, size - given
    independent = (y - np.divide(y**2, size, where=size > 0, out=np.zeros(y.shape))).sum(axis=1)
    if min(variance.min(), independent.min()) < _NOTHING:
        return np.nan
    log = np.log(variance / independent)
    return float(np.sqrt((items - 1) / items * (n @ (log - n @ log / items) ** 2)))
