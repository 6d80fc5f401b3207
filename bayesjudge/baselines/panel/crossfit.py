"""Cross-fitting: every labelled answer is predicted by a rule that never saw its item.

A rule fitted on the labels it is then corrected with looks better than it is. With folds of whole items (or
clusters), labelled answers get the rule of the other folds and unlabelled ones the mean of all rules,
weighted as the folds share the model's labels, so that the correction stays unbiased (Zrnic & Candès 2024,
PNAS 121, *Cross-prediction-powered inference*).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bayesjudge.baselines.common.moments import Array
from bayesjudge.baselines.panel.proxies import labelled_cells

if TYPE_CHECKING:
    from bayesjudge.counts.panel import PanelVotes

__all__ = ["FOLDS", "UNFITTED", "Rule", "cross_fitted", "folds_of"]

#: Folds where there are that many labelled clusters.
FOLDS = 10
#: Note of estimates for which there was nothing to fit on.
UNFITTED = "labels on fewer than two items: no prediction fitted"

#: Training cells (I, M) to predictions (I, M) of every answer.
type Rule = Callable[[NDArray[np.bool_]], Array]


def folds_of(votes: PanelVotes, *, folds: int = FOLDS, seed: int = 0) -> NDArray[np.int64]:
    """Fold (I,) of each item, clusters whole, labelled ones spread evenly; −1 for items without labels."""
    has_label = labelled_cells(votes).any(1)
    names, code = np.unique(votes.cluster[has_label], return_inverse=True)
    places = np.arange(len(names)) % max(min(folds, len(names)), 1)
    found = np.full(len(votes.items), -1)
    found[has_label] = np.random.default_rng(seed).permutation(places)[code.reshape(-1)]
    return found


def cross_fitted(votes: PanelVotes, rule: Rule, *, seed: int = 0) -> Array | None:
    """Predictions (I, M), recalibrated; None where fewer than two clusters carry labels.

    The predictions are multiplied by the pooled within-model slope of the labels on them, cut to [0, 1], so
    that a rule that predicts nothing leaves the labels alone instead of adding noise.
    """
    fold, labelled = folds_of(votes, seed=seed), labelled_cells(votes)
    if fold.max(initial=-1) < 1:
        return None
    codes = np.arange(fold.max() + 1)
    rules = np.stack([rule(labelled & (fold != code)[:, None]) for code in codes])
    held = (fold == codes[:, None])[:, :, None] & labelled
    share = held.sum(1) / np.maximum(labelled.sum(0), 1)
    share = np.where(labelled.any(0), share, 1.0 / len(codes))
    mixed = np.einsum("kim,km->im", rules, share)
    predicted = np.where(held.any(0), (rules * held).sum(0), mixed)
    return np.asarray(_slope(votes, predicted) * predicted)


def _slope(votes: PanelVotes, predicted: Array) -> float:
    labelled = labelled_cells(votes)
    n = np.maximum(labelled.sum(0), 1)
    y, g = (np.where(labelled, value, 0.0) for value in (votes.label, predicted))
    y, g = (np.where(labelled, value - value.sum(0) / n, 0.0) for value in (y, g))
    room = float((g * g).sum())
    return float(np.clip((y * g).sum() / room, 0.0, 1.0)) if room > 1e-12 else 0.0
