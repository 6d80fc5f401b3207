"""The answers whose labels `judge_panel` predicts: one row each, or one row a pattern of votes.

Up to some thousands of items every answer has a row, and items (or clusters of them) are drawn whole with
Dirichlet weights. Past that, answers that look alike share a row, so that prediction costs no more for 10⁶
answers than for 10⁴; the Dirichlet weights of so many items move an average by a normal amount, whose
covariance is taken from a sample of whole items.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bayesjudge.counts.panel import PanelVotes

__all__ = ["Cells", "Regressors", "all_cells", "answer_rows", "pattern_cells", "row_dims"]

#: Items whose answers show how the sampling of items moves averages, where they are too many to weigh each.
SAMPLED_ITEMS = 2000
#: Weight units up to which each has a Dirichlet weight of its own.
MOST_UNITS = 4000
#: Centred mean votes are rounded to this: it moves a probability by at most .0025 times δ, up or down alike.
STEP = 0.02


@dataclass(frozen=True, eq=False, kw_only=True)
class Regressors:
    """What the label is regressed on.

    Attributes
    ----------
    features : float array (I, M, J)
        Votes less the judge's mean vote, 0 where missing.
    centre : float array (J,)
        What the features lack to be votes less ½: the mean vote less ½.
    item_rate : float array (I,)
        c_i, the mean vote on the item over models and judges, centred.
    model_rate : float array (M,)
        ℓ_m, the logit of the mean vote on the model, centred.
    latent : int array (I,)
        Code of the item's sampled cluster effect, -1 where it has none.
    """

    features: NDArray[np.float64]
    centre: NDArray[np.float64]
    item_rate: NDArray[np.float64]
    model_rate: NDArray[np.float64]
    latent: NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Cells:
    """Rows to predict.

    Attributes
    ----------
    arrays : mapping of str to array
        ``cell_model, cell_group, cell_cluster, cell_unit, cell_item, cell_label, cell_n, cell_rate`` (R,) and
        ``cell_votes`` (R, J); with patterns also ``sampled_...``, the same for a sample of whole items.
    units : int
        Weight units (items or clusters), 0 where they are too many to weigh one by one.
    items : int
        Items that ``cell_item`` tells apart, 0 with patterns.
    """

    arrays: dict[str, Any]
    units: int
    items: int


def all_cells(votes: PanelVotes, regressors: Regressors) -> Cells:
    """One row an answer."""
    arrays = answer_rows(votes, regressors, votes.answered, "cell")
    return Cells(arrays=arrays, units=int(votes.cluster.max()) + 1, items=len(votes.items))


def pattern_cells(votes: PanelVotes, regressors: Regressors) -> Cells:
    """One row a pattern of model, group, cluster, votes, label and rounded mean vote."""
    units = int(votes.cluster.max()) + 1
    weighed = units if units <= MOST_UNITS else 0
    rows = answer_rows(votes, regressors, votes.answered, "cell")
    rows["cell_rate"] = np.round(rows["cell_rate"] / STEP) * STEP
    rows["cell_unit"] = rows["cell_unit"] if weighed else np.zeros_like(rows["cell_unit"])
    rows["cell_item"] = np.zeros_like(rows["cell_item"])
    arrays = _tallied(rows)
    chosen = votes.answered & _whole_units(votes)[:, None]
    arrays |= answer_rows(votes, regressors, chosen, "sampled")
    for name in ("sampled_unit", "sampled_item"):
        arrays[name] = np.unique(arrays[name], return_inverse=True)[1].reshape(-1)
    return Cells(arrays=arrays, units=weighed, items=0)


def _whole_units(votes: PanelVotes) -> NDArray[np.bool_]:
    """Which items (I,) are in a random sample of whole units, about `SAMPLED_ITEMS` of them."""
    units = np.unique(votes.cluster)
    share = min(1.0, SAMPLED_ITEMS / len(votes.items))
    chosen = np.random.default_rng(0).permutation(units)[: max(round(share * len(units)), 2)]
    return np.isin(votes.cluster, chosen)


def answer_rows(
    votes: PanelVotes, regressors: Regressors, chosen: NDArray[np.bool_], prefix: str
) -> dict[str, Any]:
    """The chosen cells (I, M) as rows; the label is -1 where nobody gave one."""
    item, model = np.nonzero(chosen)
    label = np.where(votes.annotations > 0, votes.label > 0.5, -1)[item, model]
    columns = {"model": model, "group": votes.group[item], "cluster": regressors.latent[item],
               "unit": votes.cluster[item], "item": item, "label": label.astype(np.int64),
               "n": np.ones(len(item), np.int64), "rate": regressors.item_rate[item],
               "votes": regressors.features[item, model]}  # fmt: skip
    return {f"{prefix}_{name}": values for name, values in columns.items()}


def row_dims(name: str) -> tuple[str, ...]:
    """Axes of an array of rows, by its name.

    Examples
    --------
    >>> row_dims("cell_votes"), row_dims("answer_model")
    (('cell', 'judge'), ('answer',))
    """
    return (name.split("_", maxsplit=1)[0], *(("judge",) if name.endswith("_votes") else ()))


def _tallied(rows: dict[str, Any]) -> dict[str, Any]:
    """Equal rows once, with their number in ``cell_n``."""
    names = [name for name in rows if name not in {"cell_votes", "cell_n"}]
    table = np.column_stack([*(rows[name] for name in names), rows["cell_votes"]])
    code = np.zeros(len(table), np.int64)
    for column in table.T:
        _, place = np.unique(column, return_inverse=True)
        # Codes stay below the number of rows, so that the product with the next column fits in 64 bits.
        code = np.unique(code * (int(place.max(initial=0)) + 1) + place, return_inverse=True)[1].reshape(-1)
    _, first, n = np.unique(code, return_index=True, return_counts=True)
    return {name: n if name == "cell_n" else values[first] for name, values in rows.items()}
