r"""Many judges as one proxy: the weights that leave least of the labels' variance.

A linear proxy ``b'x`` of all votes leaves the residual variance ``Var(y − b'x)`` within models, and the
variance-minimising b is the regression of the label on the votes (the multiple regression estimator of survey
sampling, Cochran 1977 §7.8; PPI++'s λ* for a vector of predictions, Angelopoulos, Duchi & Zrnic 2024, arXiv
2311.01453). With few labels and judges that agree that b is noise. It is therefore shrunk towards equal
weights, which is the mean vote:

.. math:: b_j = c/J + d_j, \qquad \min_b Σ(\tilde y - b'\tilde x)^2 + κ\,s\,Σ_j d_j^2,

s the judges' mean sum of squares and κ chosen by cross-validation over items; the tildes are centred within
models, because only differences within a model shrink its interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bayesjudge.baselines.common.moments import Array
from bayesjudge.baselines.panel.crossfit import Rule, folds_of
from bayesjudge.baselines.panel.proxies import complete_votes

if TYPE_CHECKING:
    from bayesjudge.counts.panel import PanelVotes

__all__ = ["PENALTIES", "judge_weights", "multi_proxy_rule"]

#: Penalties κ tried; at the largest the votes have equal weights.
PENALTIES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 100.0)
#: Folds within the training items that choose κ.
_INNER = 5


def judge_weights(
    votes: PanelVotes, training: NDArray[np.bool_], *, penalties: Sequence[float] = PENALTIES, seed: int = 0
) -> Array:
    """Weights b (J,) from the labels of the training cells (I, M); zeros where they say nothing.

    Examples
    --------
    >>> import pandas as pd
    >>> from bayesjudge.counts.panel import panel_votes
    >>> from bayesjudge.tables import Verdicts
    >>> frame = pd.DataFrame({"item": [0, 1, 2, 3] * 2, "model": "m", "judge": ["good"] * 4 + ["idle"] * 4,
    ...                       "verdict": [1, 1, 0, 0, 1, 0, 1, 0], "label": [1, 1, 0, 0] * 2})
    >>> votes = panel_votes(Verdicts.from_frame(frame))
    >>> judge_weights(votes, votes.annotations > 0, penalties=[1e-6]).round(2).tolist()
    [1.0, 0.0]
    """
    return _weights(votes, complete_votes(votes), training, penalties=penalties, seed=seed)


def multi_proxy_rule(votes: PanelVotes, *, seed: int = 0) -> Rule:
    """Training cells → ``b'x`` (I, M)."""
    x = complete_votes(votes)
    return lambda training: x @ _weights(votes, x, training, penalties=PENALTIES, seed=seed)


def _weights(
    votes: PanelVotes, x: Array, training: NDArray[np.bool_], *, penalties: Sequence[float], seed: int
) -> Array:
    fold = folds_of(votes.with_labels_of(training), folds=_INNER, seed=seed)
    # Only items with labels enter: there may be a hundred among a million.
    used = training.any(1)
    x, y, fold, training = x[used], np.nan_to_num(votes.label[used]), fold[used], training[used]
    penalty = penalties[0]
    if len(penalties) > 1 and fold.max(initial=-1) >= 1:
        losses = [_held_out(x, y, training, fold, kappa) for kappa in penalties]
        # Of equally good penalties the heaviest: fewer ways to be wrong.
        penalty = penalties[len(losses) - 1 - int(np.argmin(np.round(losses[::-1], 9)))]
    return _solve(*_centred(x, y, training), penalty)


def _held_out(
    x: Array, y: Array, training: NDArray[np.bool_], fold: NDArray[np.int64], kappa: float
) -> float:
    total = 0.0
    for code in range(int(fold.max()) + 1):
        mine = (fold == code)[:, None] & training
        b = _solve(*_centred(x, y, training & ~mine), kappa)
        tests, labels = _centred(x, y, mine)
        total += float(((labels - tests @ b) ** 2).sum())
    return total


def _centred(x: Array, y: Array, cells: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Votes (n, J) and labels (n,) of the cells, less their model's means there."""
    n = np.maximum(cells.sum(0), 1)
    y = y - np.where(cells, y, 0.0).sum(0) / n
    x = x - np.where(cells[:, :, None], x, 0.0).sum(0) / n[:, None]
    return x[cells], y[cells]


def _solve(x: Array, y: Array, kappa: float) -> Array:
    judges = x.shape[1]
    squares = float((x * x).sum()) / judges
    if squares < 1e-12:
        return np.zeros(judges)
    design = np.column_stack([x.mean(1), x])
    # The mean vote's own weight needs just enough penalty to exist where all votes cancel.
    penalty = squares * np.r_[1e-9, np.full(judges, kappa)]
    found = np.linalg.solve(design.T @ design + np.diag(penalty), design.T @ y)
    return np.asarray(found[0] / judges + found[1:])
