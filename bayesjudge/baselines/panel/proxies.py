r"""A panel's votes as one stand-in for the label per answer: a single judge, the mean vote, the majority.

A linear proxy ``b'x`` of all votes leaves the residual variance ``Var(y − b'x)`` within models, and the
variance-minimising b is the regression of the label on the votes (the multiple regression estimator of survey
sampling, Cochran 1977 §7.8; PPI++'s λ* for a vector of predictions, Angelopoulos, Duchi & Zrnic 2024, arXiv
2311.01453). With few labels and judges that agree that b is noise. It is therefore shrunk towards equal
weights, which is the mean vote:

.. math:: b_j = c/J + d_j, \qquad \min_b Σ(\tilde y - b'\tilde x)^2 + κ\,s\,Σ_j d_j^2,

s the judges' mean sum of squares and κ chosen by cross-validation over items; the tildes are centred within
models, because only differences within a model shrink its interval.

A rule fitted on the labels it is then corrected with looks better than it is. With folds of whole items (or
clusters), labelled answers get the rule of the other folds and unlabelled ones the mean of all rules,
weighted as the folds share the model's labels, so that the correction stays unbiased (Zrnic & Candès 2024,
PNAS 121, *Cross-prediction-powered inference*).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from bayesjudge.baselines.common.moments import Array, Evidence, ratio
from bayesjudge.counts.panel import PanelVotes


def labelled_cells(votes: PanelVotes) -> NDArray[np.bool_]:
    """Which answers (I, M) people labelled."""
    return np.isfinite(votes.label)


def complete_votes(votes: PanelVotes) -> Array:
    """Votes (I, M, J) with each missing one replaced by the judge's mean vote on that model's answers.

    A proxy may be any function of what is known without labels, so this costs precision, never validity. A
    judge without any vote on a model gets its mean over all models, one without any vote ½.
    """
    voted = np.isfinite(votes.votes)
    value = np.where(voted, votes.votes, 0.0)
    by_model = ratio(value.sum(0), voted.sum(0).astype(float))
    overall = ratio(value.sum((0, 1)), voted.sum((0, 1)).astype(float))
    overall = np.where(np.isnan(overall), 0.5, overall)
    return np.where(voted, value, np.where(np.isnan(by_model), overall, by_model))


def mean_vote(votes: PanelVotes) -> Array:
    """Mean (I, M) over the judges who voted; over the filled-in votes where nobody did."""
    voted = np.isfinite(votes.votes)
    found = ratio(np.where(voted, votes.votes, 0.0).sum(2), voted.sum(2).astype(float))
    return np.where(np.isnan(found), complete_votes(votes).mean(2), found)


def majority_vote(votes: PanelVotes) -> Array:
    """1 or 0 (I, M) as more judges say; ½ for a tie."""
    return np.asarray(0.5 + 0.5 * np.sign(np.round(mean_vote(votes) - 0.5, 12)))


def evidence_of(votes: PanelVotes, proxy: Array, *, rows: NDArray[np.bool_] | None = None) -> Evidence:
    """What the estimators of one judge see, with a proxy (I, M) in the judge's place.

    rows: Some of the items; all by default.
    """
    keep = np.ones(len(votes.items), dtype=bool) if rows is None else rows
    labelled, answered = labelled_cells(votes)[keep], votes.answered[keep]
    names, cluster = np.unique(votes.cluster[keep], return_inverse=True)
    # Clusters of one item each are no clusters.
    alone = len(np.unique(votes.cluster)) == len(votes.items)
    return Evidence(
        n=np.ones(int(keep.sum())),
        cluster=cluster.reshape(-1).astype(np.int64),
        clusters=0 if alone else len(names),
        labelled=labelled.astype(float),
        unlabelled=(answered & ~labelled).astype(float),
        y=np.where(labelled, votes.label[keep], 0.0),
        v=np.where(answered, proxy[keep], 0.0),
        reference=int(np.argmax(labelled.sum(0))),
        repeated=np.zeros(len(votes.models), dtype=bool),
    )


def missing_notes(votes: PanelVotes, judges: list[int]) -> list[str]:
    """For each model how many of its answers lack a vote of one of the judges."""
    lacking = votes.answered & (votes.runs[:, :, judges] == 0).any(2)
    missing, all_cells = lacking.sum(0), votes.answered.sum(0)
    return [
        f"{some} of {every} answers lack a vote" if some else ""
        for some, every in zip(missing.tolist(), all_cells.tolist(), strict=True)
    ]


#: Penalties κ tried; at the largest the votes have equal weights.
PENALTIES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 100.0)
#: Folds within the training items that choose κ.
_INNER = 5


def multi_proxy_rule(votes: PanelVotes, *, seed: int = 0) -> Rule:
    """Training cells → ``b'x`` (I, M)."""
    x = complete_votes(votes)
    return lambda training: x @ judge_weights(votes, x, training, seed=seed)


def judge_weights(
    votes: PanelVotes, x: Array, training: NDArray[np.bool_], *, penalties: Sequence[float] = PENALTIES, seed: int = 0
) -> Array:
    """Weights b (J,) of x, from the labels of the training cells (I, M); zeros where they say nothing."""
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


def _held_out(x: Array, y: Array, training: NDArray[np.bool_], fold: NDArray[np.int64], kappa: float) -> float:
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
