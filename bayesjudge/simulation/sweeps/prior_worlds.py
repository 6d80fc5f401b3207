"""Worlds of the coverage sweeps whose parameters come from the models' own priors, as their cards have them.

On average over those a Bayesian interval holds what it says, neither less nor more, and what is random apart from
the parameters (which questions were asked, the labels nobody gave, the targets of endless battles) is drawn
here and kept, so that its truth is known. Nothing of the models' densities is used.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from bayesjudge.counts import count_verdicts
from bayesjudge.counts.battles.counts import count_battles
from bayesjudge.counts.panel import PanelVotes
from bayesjudge.counts.trials import count_trials
from bayesjudge.datasets import BattleDesign, simulate_battles, simulate_pairs, simulate_trials, soft_truth
from bayesjudge.datasets.design import by_model
from bayesjudge.models.verdict_agreement.features import features
from bayesjudge.simulation.sweeps.worlds import World, consistency
from bayesjudge.tables import Battles, Verdicts

type Floats = NDArray[np.float64]

#: Items of a log (pairs of an audit); kinds of questions that a panel's are drawn from.
_ITEMS, _KINDS = 300, 4000
_MODELS, _JUDGES = ("a", "b"), ("heron", "otter", "tern")


def accuracy(value: float, seed: int) -> World:
    """Two models and their judge of the prior of `judge_error`, by labelled items of 300.

    Labels of one item agree as those of real questions do: normal scores that correlate by .5.
    """
    rng = np.random.default_rng([seed, 9])
    theta, sensitivity, specificity = rng.random(2), _rate(rng), _rate(rng)
    score = np.sqrt(0.5) * (rng.normal(size=(_ITEMS, 1)) + rng.normal(size=(_ITEMS, 2)))
    label = (ndtr(score) < theta).astype(int)
    verdict = rng.random((_ITEMS, 2)) < np.where(label == 1, sensitivity, 1 - specificity)
    item, model = (axis.ravel() for axis in np.indices((_ITEMS, 2)))
    shown = np.where(item < value, label.ravel(), np.nan)
    answers = {"item": item, "model": np.array(_MODELS)[model], "judge": "judge"}
    frame = pd.DataFrame({**answers, "verdict": verdict.ravel().astype(int), "label": shown})
    return count_verdicts(Verdicts.from_frame(frame)), by_model("accuracy", "difference", _MODELS, theta)


def _rate(rng: np.random.Generator) -> Floats:
    """A judge's sensitivity, or specificity, on two models."""
    rates: Floats = expit(rng.normal(1.5, 1.5) + np.exp(rng.normal(0, 0.4)) * rng.normal(size=2))
    return rates


def audit(value: float, seed: int) -> World:
    """Decisions that people agree with as the prior of `verdict_agreement` has it, by verified pairs of 300."""
    rng = np.random.default_rng([seed, 10])
    pairs = simulate_pairs(seed=seed, n=_ITEMS, dimensions=4, verified=int(value)).pairs
    known, spread = features(pairs), np.array([0.5, 0.5, 0.5, 0.2]) * abs(rng.normal(size=4))
    # Question types differ: their scale is Rayleigh, the others' are half-normal.
    spread[1] = rng.rayleigh(0.5)
    chance = expit(rng.normal(0, 1.5) + known.x @ (spread[known.block] * rng.normal(size=len(known.block))))
    people = np.where((rng.random(_ITEMS) < chance) == pairs.prefers_a, "a", "b")
    frame = pairs.frame.assign(human_prefers=pd.Series(people).where(pairs.verified))
    return replace(pairs, frame=frame), consistency(pairs, chance)


def league(value: float, seed: int) -> World:
    """Six models of the prior of `bradley_terry`, by battles."""
    rng = np.random.default_rng([seed, 6])
    strengths = rng.rayleigh() * _zero_sum(rng.normal(size=6))
    design = BattleDesign(strengths=tuple(strengths.tolist()), battles=int(value), judges=0, log_tie=rng.normal(-1, 2))
    return count_battles(simulate_battles(seed=seed, design=design).battles), design.truth


def judged(value: float, seed: int) -> World:
    """Six models and a judge of the prior of `judge_elo`, by battles, of which a third have a vote.

    Nobody ties, so that what the judge adds for the answer shown first is the model's effect.
    """
    rng = np.random.default_rng([seed, 11])
    strengths = rng.rayleigh() * _zero_sum(rng.normal(size=6))
    design = BattleDesign(
        strengths=tuple(strengths.tolist()),
        battles=int(value),
        voted=1 / 3,
        log_tie=-50,
        slope=rng.normal(1, 1),
        position=rng.normal(),
        deviation=abs(rng.normal(0, 0.5)),
    )
    log = simulate_battles(seed=seed, design=design)
    # A key of any length: Elo has two parts, what a judge adds has four.
    truth: dict[tuple[str, ...], float] = {(*key,): value for key, value in design.truth.items()}
    truth["effect", "shown first", "j0", ""] = float(design.position)
    for model, deviation in zip(design.models, _zero_sum(log.deviations[0]), strict=True):
        truth["deviation", model, "j0", ""] = float(deviation)
    return count_battles(log.battles), truth


def _zero_sum(values: Floats) -> Floats:
    return values - values.mean()


def graded(value: float, seed: int) -> World:
    """A judge of the prior of `judge_temperature`, by battles, of which a third have a vote.

    The gaps are those of a judge with deviations of its own, as where nothing is drawn from a prior; the votes
    follow from the gaps alone, as the model has it.
    """
    rng = np.random.default_rng([seed, 7])
    strengths = rng.permutation(BattleDesign().strengths)
    design = BattleDesign(strengths=tuple(strengths.tolist()), battles=int(value), voted=1 / 3, graded=True)
    log = simulate_battles(seed=seed, design=design)
    frame = log.battles.frame
    gap = frame["gap"].to_numpy(float)
    # The prior is about gaps in units of their root mean square.
    beta = np.exp(_log_temperature(rng)) / np.sqrt(np.mean(gap**2))
    vote = pd.Series(rng.random(len(gap)) < expit(beta * gap), index=frame.index).astype(float)
    votes = frame.assign(human=vote.where(frame["human"].notna()))
    return count_battles(Battles.from_frame(votes)), soft_truth(log, beta=float(beta))


def _log_temperature(rng: np.random.Generator) -> float:
    """One judge of a population of judges."""
    return float(rng.normal() + abs(rng.normal(0, 0.5)) * rng.normal())


def panel(value: float, seed: int) -> World:
    """Two models before three judges, labels of the prior of `judge_panel`, by labelled items."""
    rng = np.random.default_rng([seed, 8])
    kinds = _votes(rng)
    drawn = rng.integers(_KINDS, size=_ITEMS)
    chance = expit(_label_logits(kinds, drawn, rng))
    label = (rng.random((_ITEMS, 2)) < chance[drawn]).astype(float)
    shown = (np.arange(_ITEMS) < value)[:, None] & np.ones(2, bool)
    votes = PanelVotes(
        models=_MODELS,
        judges=_JUDGES,
        groups=("all",),
        items=tuple(f"{k:03d}" for k in range(_ITEMS)),
        votes=kinds[drawn],
        runs=np.ones((_ITEMS, 2, 3), np.int64),
        label=np.where(shown, label, np.nan),
        annotations=shown.astype(np.int64),
        group=np.zeros(_ITEMS, np.int64),
        cluster=np.arange(_ITEMS),
    )
    here = "accuracy (these items)", "difference (these items)"
    return votes, (
        by_model("accuracy", "difference", _MODELS, chance.mean(axis=0)) | by_model(*here, _MODELS, label.mean(axis=0))
    )


def _votes(rng: np.random.Generator) -> Floats:
    """Votes on every kind of question, (kinds, models, judges): what is hard is hard for all."""
    ease, level, leniency = rng.normal(size=(_KINDS, 1, 1)), rng.normal(0, 0.5, (2, 1)), rng.normal(size=3)
    answer = rng.normal(size=(_KINDS, 2, 1))
    return (rng.random((_KINDS, 2, 3)) < expit(ease + level + answer + leniency)).astype(float)


def _label_logits(kinds: Floats, drawn: Any, rng: np.random.Generator) -> Floats:
    """Logit of a right answer of each model to every kind of question, (kinds, models).

    The parameters speak of votes centred as those of the log are.
    """
    log = kinds[drawn]
    level = rng.normal(0, 1.5) + rng.lognormal(-0.1, 0.6) * rng.normal(size=2)
    weights = rng.normal(1, 1) + abs(rng.normal()) * rng.normal(size=3)
    of_model, of_item = rng.normal(size=2)
    yes, size = log.sum(axis=(0, 2)) + 0.5, 3 * len(log) + 1
    rate = _zero_sum(np.log(yes / (size - yes)))
    on_item = kinds.mean(axis=(1, 2)) - log.mean()
    logit: Floats = level + of_model * rate + (kinds - log.mean(axis=(0, 1))) @ weights + of_item * on_item[:, None]
    return logit


def trials(value: float, seed: int) -> World:
    """Two judges of the prior of `repeated_trials`, by trials of each item in each order."""
    rng, judges = np.random.default_rng([seed, 3]), _JUDGES[:2]
    log_kappa = rng.normal(0, 0.5, 2)

    def each(values: Any) -> dict[str, float]:
        return dict(zip(judges, values.tolist(), strict=True))

    log = simulate_trials(
        seed=seed,
        items=15,
        trials=int(value),
        judges=judges,
        preference=rng.normal(),
        item_spread=rng.gamma(2, 1),
        judge_spread=rng.gamma(2, 0.5),
        tie_spread=rng.gamma(2, 0.5),
        position=each(rng.normal(size=2)),
        decisiveness=each(np.exp(log_kappa - log_kappa.mean())),
        tie=each(rng.normal(-2, 2, 2)),
        correlation=each(rng.uniform(size=2)),
    )
    return count_trials(log.trials), log.truth
