"""Everything that repeated comparisons say about judges without a model: estimates and frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.baselines.common.intervals import require_options
from bayesjudge.baselines.reliability.agreement import AGREEMENTS, Agreement, judge_agreement
from bayesjudge.baselines.reliability.means import estimand_rows
from bayesjudge.baselines.reliability.outcomes import (
    Outcomes,
    binomial_p,
    entropy,
    flip_rate,
    judge_outcomes,
    majority,
    mixed_disagreement,
    order_p,
    position_effect,
)
from bayesjudge.baselines.reliability.significance import CHANGES, EASY, Ablation, ablations, strata, trial_tests
from bayesjudge.baselines.reliability.single import Single, single_judge
from bayesjudge.counts.trials import TrialCounts
from bayesjudge.errors import UsageError
from bayesjudge.estimates import Estimates
from bayesjudge.tables.words import OUTCOMES

#: Probabilities of the reference majority that minimum numbers of trials are given for.
TARGETS = (0.90, 0.95)
#: Judges and conditions named in one warning.
SHOWN = 3


@dataclass(frozen=True, eq=False, kw_only=True)
class TrialReliability:
    """Frequentist answers about repeated comparisons.

    Attributes
    ----------
    estimates : Estimates
        By judge (``unit``) and condition (``group``, empty where there is one), of the N trials made:
        ``flip_rate[N=6]``, ``disagreement``, ``entropy``, ``position_bias``, ``position_effect``,
        ``noise_budget[K=1,N=6]``, ``minimum_trials[90%,N=6]``, ...; of infinitely many trials (method
        ``beta-binomial``): ``flip_rate``, ``noise_budget[K=1]``, ``minimum_trials[90%]``, ...; by pair of
        judges: ``agreement``, ``kappa``, ``kappa[linear]``, ``ac1``; by pair of conditions:
        ``flip_rate_change``, ``flip_rate_change_size``, ``majority_changed``.
    items : pandas.DataFrame
        One row a judge, condition and item: counts, flip rate, entropy, majority, stratum, exact tests.
    curves : pandas.DataFrame
        ``judge, group, stratum, trials, point, lower, upper, items``: P(majority of K = majority of all).
    minimum : pandas.DataFrame
        ``judge, group, stratum, target, point, lower, upper``: smallest K, infinite where none reaches it.
    tests : pandas.DataFrame
        ``test, unit, group, statistic, p, effect, n, note``.
    ablations : pandas.DataFrame
        One row a judge, pair of conditions and item: flip rates and majorities under both.
    agreements : tuple of Agreement
        With the tables of majorities.
    warnings : tuple of str
        What cannot be said from this table, and why.
    """

    estimates: Estimates
    items: pd.DataFrame
    curves: pd.DataFrame
    minimum: pd.DataFrame
    tests: pd.DataFrame
    ablations: pd.DataFrame
    agreements: tuple[Agreement, ...]
    warnings: tuple[str, ...]


def trial_baselines(
    counts: TrialCounts,
    *,
    prob: float = 0.95,
    bootstrap: int = 10_000,
    seed: int = 0,
    targets: Sequence[float] = TARGETS,
    easy: float = EASY,
) -> TrialReliability:
    """Flip rates, reliability curves, position bias, agreement of judges and ablations (METHODS 2).

    Parameters
    ----------
    counts : TrialCounts
        From `bayesjudge.counts.trials.count_trials`.
    prob, bootstrap, seed : float, int, int
        Confidence level; bootstrap replicates over items, and their seed.
    targets : sequence of float
        Probabilities for which the smallest number of trials is sought.
    easy : float
        Mean flip rate over judges below which an item is easy.

    Raises
    ------
    UsageError
        An option out of range.

    Notes
    -----
    ``1 − max/N`` grows with N by construction, so its estimand names N: tables with different numbers of
    trials are compared on ``flip_rate``. The reference of curves is the majority of all of an item's own
    trials, which is uncertain itself: where few were run the curve is optimistic. The model `repeated_trials`
    has the judge's true majority instead.
    """
    require_options(prob, bootstrap)
    if not all(0.0 < target < 1.0 for target in targets):
        raise UsageError(f"targets must be probabilities between 0 and 1, for instance 0.95, not {targets!r}")
    outcomes = list(judge_outcomes(counts))
    items = item_frame(counts, outcomes, easy=easy)
    streams = np.random.SeedSequence(seed).spawn(3)
    settings: dict[str, Any] = {"prob": prob, "bootstrap": bootstrap}
    singles = [
        single_judge(one, _strata(items, one), targets=targets, rng=np.random.default_rng(stream), **settings)
        for one, stream in zip(outcomes, streams[0].spawn(len(outcomes)), strict=True)
    ]
    agreements = tuple(judge_agreement(outcomes, seed=streams[1], **settings))
    changes = list(ablations(outcomes, seed=streams[2], **settings))
    return TrialReliability(
        estimates=Estimates.from_rows(_rows(singles, agreements, changes, prob)),
        items=items,
        curves=_framed([single.curve for single in singles]),
        minimum=_framed([single.minimum for single in singles]),
        tests=trial_tests(counts, outcomes, items, changes),
        ablations=_framed([_changes(change, counts) for change in changes]),
        agreements=agreements,
        warnings=tuple(_folded(singles)),
    )


def _others(number: int) -> str:
    return f"{number} other{'s' * (number > 1)}"


def _folded(singles: Sequence[Single]) -> Iterator[str]:
    """Each warning once, with everyone it is about."""
    whose: dict[str, list[str]] = {}
    for single in singles:
        for text in single.warnings:
            whose.setdefault(text, []).append(single.whose)
    for text, names in whose.items():
        rest = f" and {_others(len(names) - SHOWN)}" if len(names) > SHOWN else ""
        yield f"{', '.join(names[:SHOWN])}{rest}: {text}"
    tied = sorted((one for one in singles if one.undecided), key=lambda one: -one.undecided)
    if tied:
        shown = ", ".join(f"{one.undecided} items of {one.whose}" for one in tied[:SHOWN])
        rest = f", fewer of {_others(len(tied) - SHOWN)}" if len(tied) > SHOWN else ""
        yield (
            f"no majority on {shown}{rest} (several outcomes are equally frequent): they count as ties, "
            "and the reliability curve breaks them at random"
        )


def _strata(items: pd.DataFrame, one: Outcomes) -> NDArray[Any]:
    mine = (items["judge"] == one.judge) & (items["condition"] == str(one.condition))
    return items.loc[mine, "stratum"].to_numpy()


def _rows(
    singles: list[Single], agreements: tuple[Agreement, ...], changes: list[Ablation], prob: float
) -> list[dict[str, Any]]:
    found = [row for single in singles for row in single.rows]
    for one in agreements:
        unit = " × ".join(one.judges)
        found += estimand_rows(one.column, AGREEMENTS, unit=unit, group=one.group, prob=prob)
    for change in changes:
        group = f"{change.first} → {change.second}"
        found += estimand_rows(change.column, CHANGES, unit=change.judge, judge=change.judge, group=group, prob=prob)
    return found


def _changes(change: Ablation, counts: TrialCounts) -> pd.DataFrame:
    most = np.asarray(OUTCOMES, dtype=object)[change.majority]
    return pd.DataFrame(
        {
            "judge": change.judge,
            "kind": change.kind,
            "first": str(change.first),
            "second": str(change.second),
            "item": np.asarray(counts.items, dtype=object)[change.item],
            "first_flip_rate": change.flip_rate[:, 0],
            "second_flip_rate": change.flip_rate[:, 1],
            "first_majority": most[:, 0],
            "second_majority": most[:, 1],
        }
    )


def _framed(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def item_frame(counts: TrialCounts, outcomes: Sequence[Outcomes], *, easy: float) -> pd.DataFrame:
    """All items of all judges and conditions.

    Returns: ``judge, condition, group, item, category, trials, n_a, n_b, n_tie, flip_rate, disagreement, entropy,
        majority`` (a, b, tie), ``shared`` (several outcomes are equally frequent), ``preference_p`` (exact binomial of
        a against b), ``first, second`` (wins of the response shown first and second), ``position_p`` (exact binomial of
        these), ``order_p`` (Fisher: does the winner depend on the order), ``position_effect``, ``mean_flip_rate`` (over
        the judges of the condition) and ``stratum``.
    """
    frame = pd.concat([_one(counts, one) for one in outcomes], ignore_index=True)
    mean = frame.groupby(["condition", "item"], sort=False)["flip_rate"].transform("mean")
    return frame.assign(mean_flip_rate=mean, stratum=strata(mean, easy=easy).astype(object))


def _one(counts: TrialCounts, one: Outcomes) -> pd.DataFrame:
    names = np.array([*counts.categories, None], dtype=object)
    outcome, shared = majority(one.n)
    position = one.position
    return pd.DataFrame(
        {
            "judge": one.judge,
            "condition": str(one.condition),
            "group": one.group,
            "item": np.asarray(counts.items, dtype=object)[one.item],
            "category": names[counts.category[one.item]],
            "trials": one.trials,
            "n_a": one.n[:, 0],
            "n_b": one.n[:, 1],
            "n_tie": one.n[:, 2],
            "flip_rate": flip_rate(one.n),
            "disagreement": mixed_disagreement(one),
            "entropy": entropy(one.n),
            "majority": np.asarray(OUTCOMES, dtype=object)[outcome],
            "shared": shared,
            "preference_p": binomial_p(one.n[:, 0], one.n[:, 1]),
            "first": position[:, 0],
            "second": position[:, 1],
            "position_p": binomial_p(position[:, 0], position[:, 1]),
            "order_p": order_p(one.ordered),
            "position_effect": position_effect(one.ordered),
        }
    )
