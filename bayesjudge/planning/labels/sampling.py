r"""Items to label at random, but not uniformly: more often where the model is unsure, and known how often.

A plan that takes the items of greatest expected reduction trusts the model that made it; where that is a
little wrong, the answers it never asks for are the ones it is wrong about. Items drawn with known
probabilities π keep every weighted estimate unbiased whatever the model (Horvitz & Thompson 1952), and the
variance of a corrected prediction, ``Σ (1/π_i − 1) e_i²``, is least for π proportional to the expected size
of its errors e (Neyman allocation; Zrnic & Candès 2024, *Active statistical inference*, arXiv 2403.03208).
A share of uniform sampling bounds the weights where the model is sure and wrong.

Before anything is fitted items are drawn from a table of verdicts, evenly or by how far its votes differ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from bayesjudge.errors import UsageError
from bayesjudge.planning.labels.plan import Array, checked_contrast, checked_draws


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelSample:
    """Items drawn for labelling.

    Attributes
    ----------
    chosen : int array (n,)
        Items to label, ascending.
    inclusion : array (I,)
        With which probability each item was drawn; 1 for items labelled already, 0 for those with no answer.
    efficiency : float
        Expected variance over that of uniform sampling: 0.8 means that 80 labels do the work of 100.
    """

    chosen: NDArray[np.int64]
    inclusion: Array
    efficiency: float


def sample_labels(
    probabilities: ArrayLike,
    *,
    size: int,
    labelled: ArrayLike | None = None,
    contrast: ArrayLike | None = None,
    uniform: float = 0.2,
    seed: int = 0,
) -> LabelSample:
    """Draw items to label, with probabilities proportional to how unsure the model is of their answers.

    Parameters
    ----------
    probabilities, labelled, contrast
        As in `plan_labels`. An item counts as labelled where all its answers are.
    size : int
        Items to draw, without replacement.
    uniform : float
        Share, above 0 and up to 1, that is spread evenly over the items.
    seed : int
        Of the draw.

    Returns
    -------
    LabelSample
        Its ``inclusion`` goes to `bayesjudge.baselines.panel.active_baselines` with the labels.

    Raises
    ------
    UsageError
        What `plan_labels` refuses, a share outside (0, 1], more items than there are.
    """
    draws, done = checked_draws(probabilities, labelled)
    weights = checked_contrast(contrast, draws.shape[2])
    if not 0.0 < uniform <= 1.0:
        raise UsageError(f"uniform must be a share above 0 and up to 1, for instance 0.2, not {uniform!r}")
    exists = ~np.isnan(draws[0])
    open_ = (exists & ~done).any(1)
    if not 1 <= size <= open_.sum():
        raise UsageError(f"size must be 1 to {open_.sum()}, the items with an answer to label, not {size!r}")
    error = _expected_error(np.where(exists, draws, 0.5), exists & ~done, weights)[open_]
    share = error / error.sum() if error.sum() > 0 else np.full(len(error), 1.0 / len(error))
    drawn = _capped((1.0 - uniform) * share + uniform / len(error), size)
    inclusion = np.where(exists.any(1), 1.0, 0.0)
    inclusion[open_] = drawn
    chosen = np.flatnonzero(open_)[_systematic(drawn, size, np.random.default_rng(seed))]
    ours = float(((1.0 / drawn - 1.0) * error**2).sum())
    even = (len(error) / size - 1.0) * float((error**2).sum())
    return LabelSample(chosen=np.sort(chosen), inclusion=inclusion, efficiency=ours / even if even > 0 else 1.0)


def _expected_error(p: Array, counted: NDArray[np.bool_], contrast: Array) -> Array:
    """Root of the expected squared error (I,) of an item's predictions, summed over the targets."""
    centred = np.where(counted, p - p.mean(0), 0.0) @ contrast.T
    noise = np.where(counted, (p * (1.0 - p)).mean(0), 0.0) @ (contrast**2).sum(0)
    return np.asarray(np.sqrt((centred**2).mean(0).sum(1) + noise))


def _capped(share: Array, size: int) -> Array:
    """Probabilities proportional to the shares, at most 1, that add up to the size."""
    sure = np.zeros(len(share), dtype=bool)
    while True:
        left = share[~sure].sum()
        found = np.where(sure, 1.0, share * (size - sure.sum()) / (left if left > 0 else 1.0))
        if (found <= 1.0 + 1e-12).all():
            return np.minimum(found, 1.0)
        sure |= found >= 1.0


def _systematic(inclusion: Array, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """A sample of fixed size with these inclusion probabilities: equal steps through a random order."""
    order = rng.permutation(len(inclusion))
    edges = np.cumsum(inclusion[order])
    # The last edge is the size up to rounding, and every point must lie below it.
    points = np.minimum(rng.random() + np.arange(size), edges[-1] - 1e-9)
    return np.asarray(order[np.searchsorted(edges, points, side="right")])


#: Draws of each answer's probability of being right that a choice by disagreement rests on.
DRAWS = 200


def draw_items(
    verdicts: pd.DataFrame, *, size: int, unit: str = "item", unsure: bool = False, seed: int = 0
) -> pd.DataFrame:
    """Items of which no answer is labelled, in random order, so that the first of them are a random sample too.

    verdicts: ``item, model, judge, verdict, label`` as in `bayesjudge.tables.Verdicts`, and the column ``unit``.
    unsure: More often where votes differ; items with labels then need ``label_probability`` 1.
    seed: Equal seeds give equal items, in whatever order the rows are.

    Returns: ``unit`` and, where items are not drawn evenly, ``label_probability``.
    """
    labelled = verdicts["label"].notna().groupby(verdicts[unit]).any()
    items = labelled.index[~labelled].sort_values()
    if not len(items):
        raise UsageError("every item has a label already")
    if not 1 <= size <= len(items):
        raise UsageError(f"the number of items must be 1 to {len(items)}, those without a label, not {size}")
    rng = np.random.default_rng(seed)
    if not unsure:
        return pd.DataFrame({unit: items[rng.permutation(len(items))[:size]]})
    if labelled.any():
        _require_certain(verdicts, unit)
    drawn = sample_labels(_probabilities(verdicts[verdicts[unit].isin(items)], unit, rng), size=size, seed=seed)
    chosen = rng.permutation(drawn.chosen)
    return pd.DataFrame({unit: items[chosen], "label_probability": drawn.inclusion[chosen]})


def _require_certain(verdicts: pd.DataFrame, unit: str) -> None:
    """Refuse labels next to which a further draw estimates no total: on parts of items, or not of probability 1.

    Given the labels there are, whatever decided about them, their items represent themselves, and the draw all others.
    """
    marked = verdicts["label"].notna()
    partly = int(marked.groupby(verdicts[unit]).nunique().gt(1).sum())
    if partly:
        raise UsageError(
            f"of {partly} items some answers are labelled and others are not, and items are drawn with all their "
            "answers: label the others, too, or leave out --unsure"
        )
    chance = verdicts.reindex(columns=["label_probability"])["label_probability"][marked]
    if chance.lt(1).any():
        raise UsageError(
            "labels of an earlier draw represent themselves alone once further items are drawn: write 1 as "
            "label_probability of each"
        )
    if chance.isna().any():
        raise UsageError(
            "some answers are labelled already: leave out --unsure if they were drawn evenly, so that all labels are "
            "one sample; otherwise they represent themselves alone, with label_probability 1",
            options=["--set label_probability=1"],
        )


def _probabilities(verdicts: pd.DataFrame, unit: str, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draws (D, I, M) of P(right) of each answer by its votes alone, from the posterior under Jeffreys' prior."""
    votes = verdicts[verdicts["verdict"].notna()]
    right = votes["verdict"].astype(float).groupby([votes[unit], votes["model"]]).agg(["sum", "count"])
    if (right["count"] < 2).all():
        raise UsageError("every answer has one verdict, which does not show where judges are unsure; draw evenly")
    yes, n = (right[name].unstack().sort_index().to_numpy(dtype=float) for name in ("sum", "count"))  # noqa: PD010 - no values to aggregate
    found = rng.beta(0.5 + np.nan_to_num(yes), 0.5 + np.nan_to_num(n - yes), size=(DRAWS, *n.shape))
    return np.where(np.isnan(n), np.nan, found)


def labels_for_half_width(
    wanted: float, *, now: float, labelled: int, answers: int, accuracy: float, prob: float = 0.95
) -> int:
    """Labels in all, from the half width that some labels gave.

    With n of N answers labelled, the variance of a corrected accuracy is that of N labels, p(1 − p)/N, and
    c (1/n − 1/N) for what the judge does not say of the unlabelled (two-phase sampling); c is solved for from
    the half width there is. Where N labels are too few, or all N answers are labelled, which leaves c open, the
    number is that of labelled answers needed without a judge.

    wanted, now: Half widths: the one to reach, and that of the interval with ``labelled`` labels.
    labelled, answers: n, at least 1, and N.
    accuracy: p, between 0 and 1.

    Cochran, Sampling Techniques (1977), chapter 12: double sampling.
    """
    if not 1 <= labelled <= answers:
        raise UsageError(f"{labelled} labels of {answers} answers: at least one, and not more than there are")
    z2 = NormalDist().inv_cdf(0.5 + prob / 2) ** 2
    # An accuracy of 0 or 1 so far is no certainty: as if one more answer were of the other kind.
    p = min(max(accuracy, 1 / (answers + 2)), 1 - 1 / (answers + 2))
    least = z2 * p * (1 - p) / answers
    if least >= wanted**2 or labelled == answers:
        return math.ceil(z2 * p * (1 - p) / wanted**2)
    c = max(now**2 - least, 0.0) / (1 / labelled - 1 / answers)
    return labelled if c == 0 else math.ceil(1 / ((wanted**2 - least) / c + 1 / answers))
