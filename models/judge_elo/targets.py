"""What each rater makes of each battle, as sums by battle and by cluster: the data behind `judge_elo`.

People enter by their votes. A judge that scores every battle enters by soft targets σ(βs), with β from the
votes that are there (METHODS 4.2); a judge without scores, or whose scores no β makes sense of, by its
verdicts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesjudge.counts.battles.clusters import PEOPLE, BattleClusters
from bayesjudge.counts.battles.counts import BattleCounts
from bayesjudge.errors import UsageError
from bayesjudge.maths.battle_sums import BattleSums
from bayesjudge.maths.temperature import soft_probability, solve_beta

type Floats = NDArray[np.float64]
#: Covariates of a judge's verdict, and what their effects are called.
ORDER, LONGER = "shown first", "longer"


@dataclass(frozen=True, eq=False, kw_only=True)
class RaterSums:
    """Targets of people (rater 0) and of J judges.

    battles: By battle.
    clusters: By prompt, by voter, ...; empty where battles are taken as independent.
    covariates: Columns of x.
    beta: Temperature of each judge's soft targets; NaN where it enters by verdicts.
    """

    battles: BattleSums
    clusters: tuple[BattleSums, ...]
    covariates: tuple[str, ...]
    beta: Floats


def rater_sums(counts: BattleCounts, *, length: bool) -> RaterSums:
    """Targets and covariates of every rater."""
    if not counts.human.votes.sum() or not counts.judges:
        missing = "people's votes" if counts.judges else "judges' verdicts or scores"
        raise UsageError(
            f"judge_elo links judges to people and the table has no {missing}; use "
            "bradley_terry for people or one judge alone"
        )
    beta = np.array([_beta(counts, judge) for judge in range(len(counts.judges))])
    used = [name for name in (ORDER, LONGER) if np.any(_covariate(counts.battles, name))]
    if length and LONGER not in used:
        raise UsageError(
            "length_effect=True needs the lengths of the two answers (length_a, length_b) in "
            "battles that judges saw; the table has none"
        )
    covariates = tuple(name for name in used if length or name != LONGER)
    tables = [_sums(rows, counts, covariates, beta) for rows in (counts.battles, *_larger(counts))]
    return RaterSums(battles=tables[0], clusters=tuple(tables[1:]), covariates=covariates, beta=beta)


def single_targets(counts: BattleCounts, sums: RaterSums) -> BattleSums:
    """The same targets, each a cluster of its own."""
    return _sums(counts.battles.single(), counts, sums.covariates, sums.beta)


def distinct_judges(counts: BattleCounts) -> BattleCounts:
    """Without judges whose every view is another's: a copy is no second witness.

    With a correlation of exactly 1 an LKJ prior on deviations is improper in effect: each copy multiplies the
    posterior of their spread by 1/s², and would narrow intervals by a tenth or more.
    """
    rows, recorded, kept = counts.battles, list[tuple[bytes, ...]](), []
    for j, judge in enumerate(counts.judges):
        own = rows.keep(rows.rater == 1 + j)
        order = np.lexsort((own.gap, own.label, own.second, own.first, own.cluster))
        views = tuple(
            getattr(own, name)[order].tobytes() for name in ("cluster", "first", "second", "label", "gap", "shown", "n")
        )
        if views not in recorded:
            recorded.append(views)
            kept.append(judge)
    return counts if len(kept) == len(counts.judges) else counts.for_judges(kept)


def _larger(counts: BattleCounts) -> list[BattleClusters]:
    """Clusters that hold more than a battle each: items of one battle add nothing to the table by battle."""
    battles = counts.battles
    return [rows for rows in counts.clusters if len(rows) != len(battles) or rows.times.sum() != battles.times.sum()]


def _beta(counts: BattleCounts, judge: int) -> float:
    """β of one judge; NaN where it did not score every battle, or where no finite positive β is best."""
    rows = counts.judged.keep(counts.judged.judge == judge)
    if not len(rows) or not np.all(np.isfinite(rows.gap)):
        return float("nan")
    won, lost = rows.votes[:, 0] * rows.n, rows.votes[:, 2] * rows.n
    beta = float(solve_beta(rows.gap, won, lost)[0])
    return beta if 0 < beta < np.inf else float("nan")


def _covariate(rows: BattleClusters, name: str) -> Floats:
    """+1 where the first model's answer was shown first, or is longer; 0 where neither or not known."""
    return np.where(rows.rater == PEOPLE, 0.0, rows.side_longer if name == LONGER else rows.order)


def _sums(rows: BattleClusters, counts: BattleCounts, covariates: tuple[str, ...], beta: Floats) -> BattleSums:
    temperature = np.concatenate([[np.nan], beta])[rows.rater]
    soft = np.isfinite(temperature)
    target = np.where(soft, soft_probability(np.nan_to_num(rows.gap), np.nan_to_num(temperature)), rows.label)
    x = np.column_stack([np.zeros((len(rows), 0)), *(_covariate(rows, name) for name in covariates)])
    return rows.sums(models=len(counts.models), raters=1 + len(counts.judges), target=target, x=x)
