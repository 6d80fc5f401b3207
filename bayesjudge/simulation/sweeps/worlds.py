"""Worlds of the coverage sweeps: a value of what is swept and a seed give a table and its truth."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesjudge.counts.battles.counts import count_battles
from bayesjudge.counts.panel import panel_votes
from bayesjudge.counts.scores import count_scores
from bayesjudge.counts.trials import count_trials
from bayesjudge.datasets import (
    BattleDesign,
    VerdictDesign,
    simulate_battles,
    simulate_counts,
    simulate_pairs,
    simulate_scores,
    simulate_trials,
    simulate_verdicts,
    soft_truth,
)
from bayesjudge.estimates import Truth
from bayesjudge.tables import Pairs

type World = tuple[Any, Truth]


def _judged(mean: float, gap: float, seed: int) -> World:
    world: dict[str, Any] = {"youden": (mean + gap / 2, mean - gap / 2)}
    (counts,) = simulate_counts(datasets=1, seed=seed, **world)
    return counts, VerdictDesign.from_options(world).truth()


def by_mean(value: float, seed: int) -> World:
    """Two models, .1 apart in Youden's J, by the mean J of their judge."""
    return _judged(value, 0.1, seed)


def by_gap(value: float, seed: int) -> World:
    """Two models with a mean J of .4, by the difference of J."""
    return _judged(0.4, value, seed)


def panel(value: float, seed: int) -> World:
    """Two models before three judges who err together, by labelled items of 300."""
    judges = ("heron", "otter", "tern")
    log = simulate_verdicts(
        seed=seed, judges=judges, judge_correlation=0.4, labelled=int(value), unlabelled=300 - int(value)
    )
    return panel_votes(log.verdicts), log.truth


def votes(value: float, seed: int) -> World:
    """A league of six fixed strengths, by battles."""
    # Which model has which strength is dealt anew for each log: pooled intervals promise their coverage on
    # average over the models of a league, not for the one that is best.
    dealt = np.random.default_rng([seed, 1]).permutation(BattleDesign().strengths)
    return _league(dealt, int(value), seed)


def leagues(value: float, seed: int) -> World:
    """One league of many: six models whose strengths come from a population of that spread."""
    return _league(np.random.default_rng([seed, 2]).normal(0, value, 6), 100, seed)


def _league(strengths: Any, battles: int, seed: int) -> World:
    design = BattleDesign(strengths=tuple(strengths.tolist()), battles=battles, judges=0)
    return count_battles(simulate_battles(seed=seed, design=design).battles), design.truth


def graded(value: float, seed: int) -> World:
    """Battles of which people voted on a third, and a judge with deviations of its own scored all."""
    dealt = np.random.default_rng([seed, 1]).permutation(BattleDesign().strengths)
    design = BattleDesign(strengths=tuple(dealt.tolist()), battles=int(value), voted=1 / 3, graded=True)
    log = simulate_battles(seed=seed, design=design)
    return count_battles(log.battles), soft_truth(log)


def trials(value: float, seed: int) -> World:
    """One judge of 15 items in both orders, by trials of each."""
    log = simulate_trials(seed=seed, items=15, trials=int(value), judges=("heron",))
    return count_trials(log.trials), log.truth


def scores(value: float, seed: int) -> World:
    """Two judges of unequal noise, by scores of each of 30 responses."""
    log = simulate_scores(
        seed=seed, responses=30, trials=int(value), trial_spread=0.2, noise={"heron": 0.6, "otter": 1.2}
    )
    return count_scores(log.scores), log.truth


def pairs(value: float, seed: int) -> World:
    """Question types of unequal difficulty, by verified pairs of 300."""
    # Which question type has which effect is dealt anew, as strengths are to the models of a league.
    dealt = np.random.default_rng([seed, 5]).permutation([0.8, 0.0, -0.8])
    return _audited(seed, verified=int(value), categories=dealt.tolist())


def types(value: float, seed: int) -> World:
    """Question types of many: three whose effects come from a population of that spread."""
    drawn = np.random.default_rng([seed, 4]).normal(0, value, 3)
    return _audited(seed, verified=60, categories=drawn.tolist())


def _audited(seed: int, **world: Any) -> World:
    made = simulate_pairs(seed=seed, n=300, dimensions=4, **world)
    return made.pairs, consistency(made.pairs, made.probability)


def consistency(pairs: Pairs, probability: Any) -> Truth:
    """How often people would agree with the decisions they have not verified, all of them and each question type."""
    hidden, category = ~pairs.verified, pairs.frame["category"].to_numpy()
    parts = {"unverified": hidden, **{name: hidden & (category == name) for name in np.unique(category)}}
    return {("consistency", name): float(probability[mine].mean()) for name, mine in parts.items()}
