r"""Accuracies from labels drawn with known, unequal probabilities (`label_planning.sample_labels`).

With a prediction g of every label and the errors ``e = y − g`` of the n items drawn with probabilities π,

.. math:: \hatθ = \frac1N \Bigl(Σ_i g_i + Σ_{i ∈ s} e_i/π_i\Bigr)

is unbiased whatever g (the difference estimator, Särndal, Swensson & Wretman 1992, §6.3; *active inference*
of Zrnic & Candès 2024, arXiv 2403.03208). Here g is the cross-fitted hierarchical logit of all votes. For
exactly these items the variance of a fixed-size unequal-probability sample is Hájek's (1964, Annals of
Mathematical Statistics 35),

.. math:: \frac{n}{n-1} Σ_s (1-π_i)(\tilde e_i - B)^2/N^2, \quad \tilde e = e/π, \quad
    B = Σ_s (1-π)\tilde e \big/ Σ_s (1-π),

which is ``(1 − f)s²/n`` where all π are equal; items labelled for certain (π = 1) have no error. For the
superpopulation it is that of the mean of ``g + 1_s e/π`` over items, or clusters of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesjudge.baselines.common.columns import pair_names, rows
from bayesjudge.baselines.common.intervals import require_options
from bayesjudge.baselines.common.moments import Array
from bayesjudge.baselines.panel.panel_logit import panel_logit_rule
from bayesjudge.baselines.panel.proxies import UNFITTED, cross_fitted, labelled_cells
from bayesjudge.baselines.panel.wald import clustered_covariance, wald_columns
from bayesjudge.counts.panel import PanelVotes
from bayesjudge.errors import UsageError
from bayesjudge.estimates import Estimates, Population, estimand_of


def active_baselines(
    votes: PanelVotes,
    inclusion: ArrayLike | None = None,
    *,
    prob: float = 0.95,
    population: Population = "superpopulation",
    seed: int = 0,
) -> Estimates:
    """Accuracies and differences from a panel whose labelled items were drawn with known probabilities.

    Parameters
    ----------
    votes : PanelVotes
        The panel.
    inclusion : array (I,), optional
        Probability with which each item was drawn, all answers to each drawn item labelled; 1 for items
        labelled before the draw. By default the table's own, of each labelled answer.
    prob : float
        Confidence level of the intervals.
    population : {"superpopulation", "items"}
        What the accuracies are about.
    seed : int
        Of the folds.

    Returns
    -------
    Estimates
        Rows of the method ``active[panel-logit]``.

    Raises
    ------
    UsageError
        Probabilities outside (0, 1], items labelled in part, or labelled for certain without labels.
    """
    names = [estimand_of(name, population) for name in ("accuracy", "difference")]
    require_options(prob)
    chance = _of_answers(votes, population) if inclusion is None else _checked(votes, inclusion)
    drawn = labelled_cells(votes)
    fitted = cross_fitted(votes, panel_logit_rule(votes), seed=seed)
    predicted = np.zeros(votes.label.shape) if fitted is None else fitted
    point, cov = _estimated(votes, predicted, chance, drawn, population)
    size = votes.answered.sum(0).astype(float)
    known = ~(votes.answered & ~labelled_cells(votes)).any(0) & (population == "items")
    nothing = "" if drawn.any() else "no labelled item"
    reasons = [nothing or ("" if count else "no answer") for count in size]
    caution = "" if fitted is not None else UNFITTED
    columns = wald_columns(point, cov, n=size, known=known, reasons=reasons, caution=caution, prob=prob)
    fixed: dict[str, Any] = {"method": "active[panel-logit]", "prob": prob}
    units = list(votes.models), pair_names(votes.models)
    return Estimates.from_rows(
        row
        for name, column, unit in zip(names, columns, units, strict=True)
        for row in rows(column, unit, estimand=name, **fixed)
    )


def _estimated(
    votes: PanelVotes, predicted: Array, chance: Array, drawn: NDArray[np.bool_], population: Population
) -> tuple[Array, Array]:
    """Accuracies (M,) and the covariance (M, M) of their errors."""
    size = np.maximum(votes.answered.sum(0), 1.0)
    weighted = np.where(drawn & votes.answered, (votes.label - predicted) / chance, 0.0)
    value = np.where(votes.answered, predicted + weighted, 0.0)
    point = value.sum(0) / size
    if population == "items":
        items = drawn.any(1)
        return point, _hajek(weighted[items], chance[items, 0]) / np.outer(size, size)
    apart = np.where(votes.answered, value - point, 0.0) / size
    return point, clustered_covariance(apart, votes.cluster)


def _of_answers(votes: PanelVotes, population: Population) -> Array:
    """The table's probabilities (I, M), 1 where there is no label."""
    if votes.probability is None or population == "items":
        raise UsageError(
            "active_baselines needs the probability with which each item was drawn: inclusion=, "
            "or for the superpopulation a column label_probability"
        )
    return np.nan_to_num(votes.probability, nan=1.0)


def _checked(votes: PanelVotes, inclusion: ArrayLike) -> Array:
    """Probabilities (I, M), 1 where there is nothing to draw."""
    chance, exists = np.asarray(inclusion, dtype=float), votes.answered.any(1)
    if chance.shape != exists.shape or not ((chance[exists] > 0) & (chance[exists] <= 1)).all():
        raise UsageError(f"inclusion must hold a probability above 0 and up to 1 for each of the {len(exists)} items")
    labelled = labelled_cells(votes)
    part = labelled.any(1) & (votes.answered & ~labelled).any(1)
    missed = exists & (chance == 1.0) & ~labelled.any(1)
    cases = ((part, "are labelled for some models only"), (missed, "were drawn for certain and have no label"))
    for wrong, text in cases:
        if wrong.any():
            names = ", ".join(votes.items[place] for place in np.flatnonzero(wrong)[:5])
            raise UsageError(f"{int(wrong.sum())} items {text}, such as {names}; label all answers to each drawn item")
    return np.broadcast_to(np.where(exists, chance, 1.0)[:, None], votes.label.shape)


def _hajek(weighted: Array, chance: Array) -> Array:
    """Hájek's covariance (M, M) of ``Σ_s e/π`` from the weighted errors (n, M) of the drawn items."""
    loose = chance < 1.0
    spread, left = weighted[loose], (1.0 - chance[loose])[:, None]
    if not len(spread):
        return np.zeros((weighted.shape[1],) * 2)
    several = len(spread) / (len(spread) - 1.0) if len(spread) > 1 else np.nan
    centred = spread - (left * spread).sum(0) / left.sum()
    return np.asarray(several * (left * centred).T @ centred)
