"""The agreement model's fast path with its guard: flip only where flipping is expected to gain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from bayesjudge.baselines.audit import Audit
from bayesjudge.counts.pairs import directions
from bayesjudge.models.verdict_agreement.block_logistic import BlockLogistic, fit_blocks
from bayesjudge.studies.audit.folds import Folds, make_folds

if TYPE_CHECKING:
    from bayesjudge.model import Data
    from bayesjudge.models.verdict_agreement import VerdictAgreement
    from bayesjudge.tables import Pairs

__all__ = ["Guard", "closed_guard", "fast_audit", "flippable", "guard_of"]

#: Flips are applied when P(their precision is above ½) exceeds this.
SURE = 0.9
#: Verified questions below which flips on unseen questions are not applied.
LEAST_QUESTIONS = 10
FOLDS = 10
#: Draws of the Bayesian bootstrap over questions.
REPLICATES = 2000


@dataclass(frozen=True, eq=False, kw_only=True)
class Guard:
    """Whether flips may be applied, and what cross-validation on the verified pairs said.

    Attributes
    ----------
    open : bool
        Flips may be applied.
    reason : str
        Why, in a sentence.
    wins, losses : int
        Held-out flips that people would confirm, and that they would not.
    probability : float
        P(precision of flips > ½).
    held_out : float array (v,)
        P(people agree) of every verified pair, by a model that did not see it.
    rows : int array (v,)
        Places of the verified pairs in the table.
    """

    open: bool
    reason: str
    wins: int
    losses: int
    probability: float
    held_out: NDArray[np.float64]
    rows: NDArray[np.int64]


def fast_audit(pairs: Pairs, model: VerdictAgreement, *, seed: int = 0, guarded: bool = True) -> Audit:
    """Audit by the model's empirical-Bayes form.

    Parameters
    ----------
    pairs : Pairs
        Of one judge, some verified.
    model : VerdictAgreement
        With ``labels="both"``.
    seed : int
        Of the folds.
    guarded : bool
        Apply flips only when the guard is open.

    Returns
    -------
    Audit
        Scores are P(people agree); ``figures`` hold the guard's ``wins``, ``losses``, ``probability`` and
        ``open``.

    Examples
    --------
    >>> from bayesjudge.datasets import simulate_pairs
    >>> from bayesjudge.models.verdict_agreement import VerdictAgreement
    >>> found = fast_audit(simulate_pairs(seed=1).pairs, VerdictAgreement())
    >>> bool(found.figures["open"]), bool(found.flips.any())
    (True, True)
    """
    data = model.prepare(pairs)
    scores = _fitted(data, model, slice(None)).probability(np.asarray(data["x_other"]))
    rows = np.flatnonzero(~pairs.verified)
    flips = (scores < 0.5) & flippable(pairs)[rows]
    figures: dict[str, float] = {}
    warnings: tuple[str, ...] = ()
    if guarded:
        found = guard_of(pairs, data, model, seed=seed)
        flips &= found.open
        figures = {"wins": float(found.wins), "losses": float(found.losses), "open": float(found.open),
                   "probability": found.probability}  # fmt: skip
        warnings = (found.reason,)
    return Audit(
        method=model.label, rows=rows, scores=scores, flips=flips, figures=figures, warnings=warnings
    )


def flippable(pairs: Pairs) -> NDArray[np.bool_]:
    """Pairs that may be flipped at all: two responses that the encoder cannot tell apart never are."""
    return directions(pairs).usable if pairs.dimensions else np.ones(len(pairs), dtype=bool)


def guard_of(pairs: Pairs, data: Data, model: VerdictAgreement, *, seed: int, folds: int = FOLDS) -> Guard:
    """Cross-validate flips on the verified pairs (METHODS 3.2).

    Flips with P(agree) below ½ are counted as wins where people disagree with the judge; the precision's
    posterior is Beta(1 + wins, 1 + losses), and where whole questions are unseen a Bayesian bootstrap over
    questions must agree.
    """
    split = make_folds(pairs, folds=folds, seed=seed)
    y = np.asarray(data["agreements"], dtype=float)
    held_out = _cross_validated(data, model, split, y)
    flips = (held_out < 0.5) & flippable(pairs)[split.rows]
    wins, losses = int((flips & (y == 0)).sum()), int((flips & (y == 1)).sum())
    sure = float(beta.sf(0.5, 1 + wins, 1 + losses))
    if split.by_question:
        sure = min(sure, _over_questions(flips, y, split.question, seed))
    refused = _refused(wins, losses, sure, split)
    told = f"{wins} of {wins + losses} held-out flips were right, P(more right than wrong) = {sure:.2f}"
    return Guard(open=not refused, reason=f"flip nothing, because {refused}" if refused else f"flip: {told}",
                 wins=wins, losses=losses, probability=sure, held_out=held_out, rows=split.rows)  # fmt: skip


def closed_guard() -> Guard:
    """The guard where only agreements were recorded: there is no disagreement to check a flip against."""
    reason = "flip nothing, because only agreements were recorded and no flip can be checked"
    return Guard(open=False, reason=reason, wins=0, losses=0, probability=0.5, held_out=np.zeros(0),
                 rows=np.zeros(0, dtype=np.int64))  # fmt: skip


def _refused(wins: int, losses: int, sure: float, split: Folds) -> str:
    """Why nothing may be flipped; empty where it may."""
    if not wins + losses:
        return "no verified decision looked wrong to a model that had not seen it"
    if split.by_question and split.questions < LEAST_QUESTIONS:
        return (f"only {split.questions} questions are verified and the others are unseen: verify "
                f"{LEAST_QUESTIONS} or more")  # fmt: skip
    if sure <= SURE:
        return (f"flipping is not sure to gain: {wins} of {wins + losses} held-out flips were right, "
                f"P(more right than wrong) = {sure:.2f}, and {SURE} is needed")  # fmt: skip
    return ""


def _cross_validated(
    data: Data, model: VerdictAgreement, split: Folds, y: NDArray[np.float64]
) -> NDArray[np.float64]:
    """P(agree) of every verified row by a fit without its fold."""
    x, found = np.asarray(data["x"]), np.full(len(y), y.mean() if len(y) else np.nan)
    if split.number < 2:
        return found
    for fold in range(split.number):
        out = split.fold == fold
        found[out] = _fitted(data, model, ~out).probability(x[out])
    return found


def _fitted(data: Data, model: VerdictAgreement, rows: NDArray[np.bool_] | slice) -> BlockLogistic:
    scale, freedom = model.priors(data)
    return fit_blocks(np.asarray(data["x"])[rows], np.asarray(data["agreements"], dtype=float)[rows],
                      block=np.asarray(data["block"]), prior_scale=scale, freedom=freedom,
                      intercept_scale=model.intercept_scale)  # fmt: skip


def _over_questions(
    flips: NDArray[np.bool_], y: NDArray[np.float64], question: NDArray[np.int64], seed: int
) -> float:
    """P(more wins than losses) when questions are weighted at random (Rubin 1981)."""
    _, place = np.unique(question, return_inverse=True)
    balance = np.bincount(place, weights=np.where(flips, 1 - 2 * y, 0.0))
    weights = np.random.default_rng([seed, 2]).exponential(size=(REPLICATES, len(balance)))
    return float((weights @ balance > 0).mean())
