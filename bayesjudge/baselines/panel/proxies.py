"""A panel's votes as one stand-in for the label per answer: a single judge, the mean vote, the majority."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bayesjudge.baselines.common.moments import Array, Evidence, ratio

if TYPE_CHECKING:
    from bayesjudge.counts.panel import PanelVotes

__all__ = ["complete_votes", "evidence_of", "labelled_cells", "majority_vote", "mean_vote", "missing_notes"]


def labelled_cells(votes: PanelVotes) -> NDArray[np.bool_]:
    """Which answers (I, M) people labelled."""
    return np.isfinite(votes.label)


def complete_votes(votes: PanelVotes) -> Array:
    """Votes (I, M, J) with each missing one replaced by the judge's mean vote on that model's answers.

    A proxy may be any function of what is known without labels, so this costs precision, never validity. A
    judge without any vote on a model gets its mean over all models, one without any vote ½.
    """
    seen = np.isfinite(votes.votes)
    value = np.where(seen, votes.votes, 0.0)
    by_model = ratio(value.sum(0), seen.sum(0).astype(float))
    overall = ratio(value.sum((0, 1)), seen.sum((0, 1)).astype(float))
    overall = np.where(np.isnan(overall), 0.5, overall)
    return np.where(seen, value, np.where(np.isnan(by_model), overall, by_model))


def mean_vote(votes: PanelVotes) -> Array:
    """Mean (I, M) over the judges who voted; over the filled-in votes where nobody did."""
    seen = np.isfinite(votes.votes)
    found = ratio(np.where(seen, votes.votes, 0.0).sum(2), seen.sum(2).astype(float))
    return np.where(np.isnan(found), complete_votes(votes).mean(2), found)


def majority_vote(votes: PanelVotes) -> Array:
    """1 or 0 (I, M) as more judges say; ½ for a tie."""
    return np.asarray(0.5 + 0.5 * np.sign(np.round(mean_vote(votes) - 0.5, 12)))


def evidence_of(votes: PanelVotes, proxy: Array, *, rows: NDArray[np.bool_] | None = None) -> Evidence:
    """What the estimators of one judge see, with a proxy (I, M) in the judge's place.

    Parameters
    ----------
    votes : PanelVotes
        Whose answers, labels and clusters to take.
    proxy : array (I, M)
        Finite where the answer exists.
    rows : bool array (I,), optional
        Some of the items; all by default.
    """
    keep = np.ones(len(votes.items), dtype=bool) if rows is None else rows
    labelled, answered = labelled_cells(votes)[keep], votes.answered[keep]
    names, cluster = np.unique(votes.cluster[keep], return_inverse=True)
    # Clusters of one item each are no clusters.
    alone = len(np.unique(votes.cluster)) == len(votes.items)
    return Evidence(
        n=np.ones(int(keep.sum())), cluster=cluster.reshape(-1).astype(np.int64),
        clusters=0 if alone else len(names), labelled=labelled.astype(float),
        unlabelled=(answered & ~labelled).astype(float), y=np.where(labelled, votes.label[keep], 0.0),
        v=np.where(answered, proxy[keep], 0.0), reference=int(np.argmax(labelled.sum(0))),
        repeated=np.zeros(len(votes.models), dtype=bool),
    )  # fmt: skip


def missing_notes(votes: PanelVotes, judges: list[int]) -> list[str]:
    """For each model how many of its answers lack a vote of one of the judges."""
    lacking = votes.answered & (votes.runs[:, :, judges] == 0).any(2)
    missing, all_cells = lacking.sum(0), votes.answered.sum(0)
    return [f"{some} of {every} answers lack a vote" if some else ""
            for some, every in zip(missing.tolist(), all_cells.tolist(), strict=True)]  # fmt: skip
