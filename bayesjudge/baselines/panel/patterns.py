"""Answers with the same votes and the same label are alike: a panel as patterns and how often each occurs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.baselines.common.moments import Array
from bayesjudge.baselines.panel.proxies import labelled_cells

if TYPE_CHECKING:
    from bayesjudge.counts.panel import PanelVotes

__all__ = ["Patterns", "patterns_of"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Patterns:
    """R patterns of reports (R, J, 2), known classes (R, 2), model and stratum (R,), occurring n (R,) times.

    ``cell`` gives the pattern of each answer and ``cluster`` the cluster it belongs to.
    """

    reports: Array
    known: Array
    model: NDArray[np.int64]
    stratum: NDArray[np.int64]
    n: Array
    cell: NDArray[np.int64]
    cluster: NDArray[np.int64]
    models: int

    @property
    def size(self) -> Array:
        """Number of answers (M,)."""
        return np.bincount(self.model, weights=self.n, minlength=self.models)

    def model_means(self, values: Array) -> Array:
        """Means (M, ...) over each model's answers of values (R, ...)."""
        member = np.eye(self.models)[self.model] * self.n[:, None]
        return np.asarray((member / np.maximum(self.size, 1.0)).T @ values)


def patterns_of(votes: PanelVotes, keep: NDArray[np.bool_], *, label_free: bool, by_model: bool) -> Patterns:
    """Patterns of the items marked (I,); no labels if ``label_free``, one stratum a model if ``by_model``."""
    item, model = np.nonzero(votes.answered & keep[:, None])
    share, runs = np.nan_to_num(votes.votes[item, model]), votes.runs[item, model]
    label = np.where(labelled_cells(votes) & (not label_free), votes.label, np.nan)[item, model]
    cell, first = _alike(np.column_stack([model.astype(float), label, runs.astype(float), share]))
    _, stratum = np.unique(model[first] if by_model else np.zeros_like(first), return_inverse=True)
    return Patterns(
        reports=np.stack([(1.0 - share[first]) * runs[first], share[first] * runs[first]], axis=2),
        known=np.stack([1.0 - label[first], label[first]], axis=1), model=model[first],
        stratum=stratum.reshape(-1), n=np.bincount(cell, minlength=len(first)).astype(float), cell=cell,
        cluster=votes.cluster[item], models=len(votes.models),
    )  # fmt: skip


def _alike(rows: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pattern (N,) of each row of (N, K), and the first row (R,) of each pattern; by hashing the columns."""
    cell = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        values, _ = pd.factorize(column, use_na_sentinel=False)
        cell, _ = pd.factorize(cell * (int(values.max(initial=0)) + 1) + values)
    _, first = np.unique(cell, return_index=True)
    return cell.astype(np.int64), first.astype(np.int64)
