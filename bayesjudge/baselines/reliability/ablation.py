"""What temperature and prompt change: flip rates and majorities of the same items under two conditions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from bayesjudge.baselines.common.columns import Column
from bayesjudge.baselines.reliability.means import resampled_column
from bayesjudge.baselines.reliability.outcomes import Outcomes, flip_rate, majority
from bayesjudge.baselines.reliability.rank_tests import RankTest, wilcoxon_test
from bayesjudge.counts.conditions import Condition

#: Change in flip rate (second minus first), its mean size, and share of items whose majority changes.
CHANGES = ("flip_rate_change", "flip_rate_change_size", "majority_changed")


@dataclass(frozen=True, eq=False, kw_only=True)
class Ablation:
    """One judge under two conditions that differ in one respect.

    kind: ``"temperature"`` or ``"prompt"``.
    item: Items tried under both.
    majority: Codes of outcomes.
    column: `CHANGES` with bootstrap intervals.
    tested: Wilcoxon signed-rank test of the changes in flip rate.
    """

    judge: str
    kind: str
    first: Condition
    second: Condition
    item: NDArray[np.int64]
    flip_rate: NDArray[np.float64]
    majority: NDArray[np.int64]
    column: Column
    tested: RankTest


def ablations(
    outcomes: Sequence[Outcomes], *, prob: float, bootstrap: int, seed: np.random.SeedSequence
) -> Iterator[Ablation]:
    """Every two conditions of a judge that differ in temperature alone, or in prompt alone."""
    pairs = [
        (left, right, kind)
        for left, right in combinations(outcomes, 2)
        if left.judge == right.judge and (kind := _kind(left.condition, right.condition))
    ]
    for (left, right, kind), stream in zip(pairs, seed.spawn(len(pairs)), strict=True):
        item, ours, theirs = np.intersect1d(left.item, right.item, return_indices=True)
        if len(item):
            rates = np.stack([flip_rate(left.n[ours]), flip_rate(right.n[theirs])], axis=1)
            most = np.stack([majority(left.n[ours])[0], majority(right.n[theirs])[0]], axis=1)
            change = rates[:, 1] - rates[:, 0]
            values = np.stack([change, np.abs(change), (most[:, 0] != most[:, 1]).astype(np.float64)], axis=1)
            rng = np.random.default_rng(stream)
            column = resampled_column(values, prob=prob, bootstrap=bootstrap, rng=rng, bounds=(-1.0, 1.0))
            yield Ablation(
                judge=left.judge,
                kind=kind,
                first=left.condition,
                second=right.condition,
                item=item,
                flip_rate=rates,
                majority=most,
                column=column,
                tested=wilcoxon_test(change),
            )


def _kind(left: Condition, right: Condition) -> str:
    """What two conditions differ in; empty where it is both, or where one was not recorded."""
    prompt, temperature = left.prompt != right.prompt, left.temperature != right.temperature
    if prompt and not temperature and None not in (left.prompt, right.prompt):
        return "prompt"
    if temperature and not prompt and None not in (left.temperature, right.temperature):
        return "temperature"
    return ""
