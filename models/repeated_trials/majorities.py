"""How many trials a majority needs, by the posterior: every number of trials looked up once, reduced at once.

Draws, units and numbers of trials together are too many to hold, and every table of an answer asks for the
same means of them: over all items, over the easy and the hard ones, and each item's smallest number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesjudge.maths.majority import TRIALS
from bayesjudge.models.repeated_trials.verdict_draws import VerdictDraws, stretched

type Array = NDArray[np.float64]

#: Numbers of trials whose noise budget is given: one, and the paper's three tiers (section 6.4).
TIERS = (1, 10, 20, 50)
#: Probabilities of the right majority that minimum numbers of trials are given for.
TARGETS = (0.90, 0.95)
#: Mean flip rate below which an item is easy (the paper's section 4.3).
EASY = 0.10
#: All items, which is no stratum of its own.
ALL = "all"


@dataclass(frozen=True, eq=False, kw_only=True)
class Majorities:
    """What K trials of one judge under one condition would give.

    part: Its units.
    stratum: easy or hard, of each unit.
    match: By stratum and K, the mean over units of P(majority of K trials = true majority), (chain, draw).
    smallest: By target, the smallest of `TRIALS` that reaches it, (chain, draw, U); infinite where none does.
    """

    part: VerdictDraws
    stratum: NDArray[np.str_]
    match: Mapping[tuple[str, int], Array]
    smallest: Mapping[float, Array]

    @property
    def strata(self) -> dict[str, NDArray[np.bool_]]:
        """All items, then the easy and the hard ones where there are any, as masks (U,)."""
        return _masks(self.stratum)

    def minimum_trials(self, target: float, stratum: str = ALL) -> Array:
        """Smallest K of `TRIALS` whose mean probability reaches the target, (chain, draw); or ∞."""
        reached = np.stack([self.match[stratum, trials] for trials in TRIALS]) >= target
        smallest = np.array(TRIALS, dtype=np.float64)[reached.argmax(0)]
        return np.where(reached.any(0), smallest, np.inf)


def majorities(draws: VerdictDraws) -> list[Majorities]:
    """Of every judge under every condition."""
    parts = list(draws.parts())
    return [_majorities(part, stratum) for part, stratum in zip(parts, _strata(parts), strict=True)]


def _majorities(part: VerdictDraws, stratum: NDArray[np.str_]) -> Majorities:
    found: dict[tuple[str, int], Array] = {}
    smallest = {target: np.full(part.q.shape[:-1], np.inf) for target in TARGETS}
    for trials in sorted({*TRIALS, *TIERS}):
        match = part.match(trials)
        found |= {
            (name, trials): stretched(part.mean(match[..., mask], mask), part.flips_shared)
            for name, mask in _masks(stratum).items()
        }
        for target, values in smallest.items():
            if trials in TRIALS:
                values[np.isinf(values) & (match >= target)] = trials
    return Majorities(part=part, stratum=stratum, match=found, smallest=smallest)


def _masks(stratum: NDArray[np.str_]) -> dict[str, NDArray[np.bool_]]:
    parts = {name: stratum == name for name in ("easy", "hard")}
    return {ALL: np.ones(len(stratum), dtype=bool)} | {name: mask for name, mask in parts.items() if mask.any()}


def _strata(parts: list[VerdictDraws]) -> Iterator[NDArray[np.str_]]:
    """``easy`` where an item's mean flip rate over the judges of a condition is below `EASY`, of each part's units."""
    sums: dict[tuple[str, int], list[float]] = {}
    for part in parts:
        for item, flip in zip(part.units[:, 1].tolist(), part.flip_rate.mean((0, 1)).tolist(), strict=True):
            sums.setdefault((part.name[1], item), []).append(flip)
    for part in parts:
        mean = np.array([np.mean(sums[part.name[1], item]) for item in part.units[:, 1].tolist()])
        yield np.where(mean < EASY, "easy", "hard")
