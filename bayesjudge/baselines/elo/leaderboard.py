"""Hard-Elo, Soft-Elo and label smoothing for people and judges, as `Estimates`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from bayesjudge.baselines.common.bootstrap import percentile
from bayesjudge.baselines.common.intervals import normal_quantile
from bayesjudge.baselines.elo.fit import EloFit, fit_elo
from bayesjudge.baselines.elo.targets import (
    HARD,
    SOFT,
    Floats,
    graded,
    human_targets,
    judge_targets,
    smoothing,
)
from bayesjudge.baselines.elo.temperature import gap_votes
from bayesjudge.counts.battles.counts import BattleCounts
from bayesjudge.errors import UsageError
from bayesjudge.estimates import Estimates
from bayesjudge.maths.bradley_terry import RIDGE, shown_pairs
from bayesjudge.maths.temperature import solve_beta

__all__ = ["METHODS", "elo_baselines", "fit_human", "fit_judge", "judge_beta"]

#: Methods where none are named; any label-smoothing constant may be asked for.
METHODS = (HARD, SOFT, "label-smoothing[0.75]")


def elo_baselines(
    counts: BattleCounts,
    *,
    judges: Iterable[str] | None = None,
    methods: Iterable[str] | None = None,
    prob: float = 0.95,
    ridge: float = RIDGE,
    bootstrap: int = 1000,
    seed: int = 0,
) -> Estimates:
    """Elo of every model and every difference, by people's votes and by each judge.

    Parameters
    ----------
    counts : BattleCounts
        From `bayesjudge.counts.battles.counts.count_battles`.
    judges : iterable of str, optional
        Some of ``counts.judges``; all by default.
    methods : iterable of str, optional
        Some of ``hard-elo``, ``soft-elo``, ``label-smoothing[c]``; by default all of `METHODS` that the
        judge's data allow. People's votes always have ``hard-elo`` alone.
    prob : float
        Level of the intervals: bootstrap percentiles, or normal intervals with sandwich errors where
        ``bootstrap`` is 0.
    ridge : float
        Penalty; the notes say what it alone holds finite.
    bootstrap : int
        Resamples of the battles.
    seed : int
        Equal seeds give equal results, whatever the judges and methods chosen.

    Returns
    -------
    Estimates
        Estimands ``elo`` and ``difference`` (``a − b``); ``judge`` is empty for people's votes. Past 30
        models, differences are those of neighbours. ``n`` counts battles, or votes. A model without battles
        is NaN.

    Raises
    ------
    UsageError
        An unknown judge or method, a method that the data do not allow, or an ill-posed fit at ridge 0.

    Examples
    --------
    >>> import pandas as pd
    >>> from bayesjudge.counts.battles.counts import count_battles
    >>> from bayesjudge.tables import Battles
    >>> votes = [1, 1, 1, 0] * 10
    >>> frame = pd.DataFrame({"item": range(40), "model_a": "x", "model_b": "y", "human": votes})
    >>> found = elo_baselines(count_battles(Battles.from_frame(frame)), bootstrap=0).frame
    >>> found[["unit", "point"]].round().values.tolist()
    [['x', 1595.0], ['y', 1405.0], ['x − y', 191.0]]
    """
    rows: list[dict[str, Any]] = []
    options: dict[str, Any] = {"ridge": ridge, "bootstrap": bootstrap, "seed": seed}
    if counts.human.votes.sum():
        rows += elo_rows(fit_human(counts, **options), method=HARD, judge="", prob=prob)
    for judge in counts.judges if judges is None else list(dict.fromkeys(judges)):
        for method in _methods(counts, judge, methods):
            fit = fit_judge(counts, judge, method, **options)
            rows += elo_rows(fit, method=method, judge=judge, prob=prob)
    return Estimates.from_rows(rows)


def fit_human(counts: BattleCounts, *, ridge: float = RIDGE, bootstrap: int = 0, seed: int = 0) -> EloFit:
    """Elo by people's votes; see `bayesjudge.baselines.elo.fit.fit_elo`."""
    return fit_elo(human_targets(counts), counts.models, ridge=ridge, bootstrap=bootstrap, seed=seed)


def fit_judge(
    counts: BattleCounts, judge: str, method: str = HARD, *, ridge: float = RIDGE, bootstrap: int = 0,
    seed: int = 0,
) -> EloFit:  # fmt: skip
    """Elo by one judge; the temperature of ``soft-elo`` is fitted to all human non-ties first."""
    beta = judge_beta(counts, judge) if method == SOFT else np.nan
    targets = judge_targets(counts, judge, method, beta=beta)
    return fit_elo(targets, counts.models, ridge=ridge, bootstrap=bootstrap, seed=seed)


def judge_beta(counts: BattleCounts, judge: str) -> float:
    """Maximum-likelihood β over all human non-ties.

    Raises
    ------
    UsageError
        No scores, no human non-ties beside them, or a β that is not above 0.
    """
    rows = counts.judged.keep(counts.judged.judge == counts.code("judge", judge))
    votes = gap_votes(graded(rows, judge))
    beta = float(solve_beta(votes.gap, votes.won, votes.lost)[0]) if votes.n else np.nan
    if not beta > 0:
        found = "none" if np.isnan(beta) else f"β = {beta:.3g}"
        raise UsageError(
            f"soft-elo needs a temperature above 0, and judge {judge!r} has {found} from {votes.n} human "
            "votes that are no ties beside a score gap; use hard-elo or label-smoothing[0.75]"
        )
    return beta


def _methods(counts: BattleCounts, judge: str, methods: Iterable[str] | None) -> list[str]:
    if methods is not None:
        chosen = list(dict.fromkeys(methods))
        for method in chosen:
            smoothing(method)
        return chosen
    rows = counts.judged.keep(counts.judged.judge == counts.code("judge", judge))
    votes = gap_votes(rows)
    soft = bool(votes.n) and solve_beta(votes.gap, votes.won, votes.lost)[0] > 0
    return [method for method in METHODS if method != SOFT or soft]


def elo_rows(fit: EloFit, *, method: str, judge: str, prob: float) -> list[dict[str, Any]]:
    """Rows of a fit: each model's Elo, then differences."""
    first, second = (list(side) for side in zip(*shown_pairs(fit.elo), strict=True))
    contrast = np.eye(len(fit.models))[first] - np.eye(len(fit.models))[second]
    shared = {"method": method, "judge": judge, "prob": prob, "note": "; ".join(fit.notes)}
    single = _limits(fit, np.eye(len(fit.models)), prob)
    paired = _limits(fit, contrast, prob)
    names = [f"{fit.models[a]} − {fit.models[b]}" for a, b in zip(first, second, strict=True)]
    n = np.minimum(fit.n[first], fit.n[second])
    return [*_rows("elo", fit.models, single, fit.n, shared),
            *_rows("difference", names, paired, n, shared)]  # fmt: skip


def _limits(fit: EloFit, contrast: Floats, prob: float) -> tuple[Floats, Floats, Floats]:
    """Point and limits of linear combinations; nothing is known of one that holds a model without battles."""
    known = ~np.isnan(fit.elo)
    defined = ~(contrast[:, ~known] != 0).any(axis=1)
    used = contrast[:, known]
    point = np.where(defined, used @ fit.elo[known], np.nan)
    if len(fit.replicates):
        _, lower, upper, _ = percentile(used @ fit.replicates[:, known].T, prob=prob)
    else:
        covariance = fit.covariance[np.ix_(known, known)]
        half = normal_quantile(prob) * np.sqrt(np.einsum("cm,mk,ck->c", used, covariance, used))
        lower, upper = point - half, point + half
    return point, np.where(defined, lower, -np.inf), np.where(defined, upper, np.inf)


def _rows(
    estimand: str, units: Iterable[str], limits: tuple[Floats, Floats, Floats], n: Any, shared: dict[str, Any]
) -> list[dict[str, Any]]:
    undefined = {"note": "undefined: no battles"}
    return [
        {"estimand": estimand, "unit": unit, "point": point, "lower": low, "upper": high, "n": int(count)}
        | (shared | undefined if np.isnan(point) else shared)
        for unit, point, low, high, count in zip(units, *limits, n, strict=True)
    ]  # fmt: skip
