"""How many judged battles it takes: held-out error and β on random subsets (seed, appendix C)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from bayesjudge.baselines.elo.held_out import held_out
from bayesjudge.baselines.elo.leaderboard import METHODS
from bayesjudge.counts.battles.counts import BattleCounts
from bayesjudge.errors import UsageError


def subsample(counts: BattleCounts, judge: str, battles: int, rng: np.random.Generator) -> BattleCounts:
    """Counts with so many of one judge's battles, drawn without replacement; votes stay, other judges go."""
    one = counts.for_judges([judge])
    total = int(one.judged.n.sum())
    if not 0 < battles <= total:
        raise UsageError(f"cannot draw {battles} of the {total} battles of {judge!r}")
    n = rng.multivariate_hypergeometric(one.judged.n, battles, method="marginals")
    return replace(one, judged=replace(one.judged, n=n.astype(np.int64)).keep(n > 0))


def sample_curve(
    counts: BattleCounts,
    judge: str,
    *,
    budgets: Iterable[float] = (5, 10, 25, 50, 100, 200),
    methods: Iterable[str] = METHODS[:2],
    repeats: int = 5,
    seed: int = 0,
) -> pd.DataFrame:
    """Held-out error and temperature at growing numbers of judged battles.

    Parameters
    ----------
    counts : BattleCounts
    judge : str
    budgets : iterable of float
        Battles per model, ``b = |B|/M``; those beyond the data are left out.
    methods : iterable of str
    repeats : int
        Random subsets at each budget.
    seed : int

    Returns
    -------
    pandas.DataFrame
        ``budget, battles, repeat, method, mae, beta, note``; human Elo is always that of all votes. Where a
        subset is too small to fit, ``mae`` is NaN and the note says why.

    Raises
    ------
    UsageError
        No budget that the data allow.
    """
    models = len(counts.models)
    total = int(counts.judged.n[counts.judged.judge == counts.code("judge", judge)].sum())
    sizes = [(budget, round(budget * models)) for budget in budgets if 0 < round(budget * models) <= total]
    if not sizes:
        raise UsageError(
            f"no budget fits: {judge!r} judged {total} battles of {models} models, which is "
            f"{total / models:.1f} a model"
        )
    streams = iter(np.random.SeedSequence(seed).spawn(len(sizes) * repeats))
    chosen = list(methods)
    return pd.DataFrame(
        [
            {"budget": budget, "battles": battles, "repeat": repeat, "method": method, **found}
            for budget, battles in sizes
            for repeat in range(repeats)
            for method, found in _one(counts, judge, battles, chosen, next(streams))
        ]
    )


def _one(
    counts: BattleCounts, judge: str, battles: int, methods: list[str], stream: np.random.SeedSequence
) -> list[tuple[str, dict[str, Any]]]:
    drawn = subsample(counts, judge, battles, np.random.default_rng(stream))
    found = []
    for method in methods:
        try:
            held = held_out(drawn, judge, method, setting="as-in-paper")
        except UsageError as error:
            found.append((method, {"mae": np.nan, "beta": np.nan, "note": str(error)}))
        else:
            score = {"mae": float(np.abs(held.residual).mean()), "beta": float(held.beta.mean()), "note": ""}
            found.append((method, score))
    return found


def sweep_smoothing(
    counts: BattleCounts, judge: str, *, constants: Iterable[float] = (0.55, 0.65, 0.75, 0.85, 0.95)
) -> pd.DataFrame:
    """Held-out error of label smoothing at several constants: ``constant, mae`` (seed, table 8).

    The best of them was chosen with the human Elo at hand: it says what could be reached, not what was.
    """
    held = {c: held_out(counts, judge, f"label-smoothing[{c:g}]", setting="as-in-paper") for c in constants}
    return pd.DataFrame([{"constant": c, "mae": np.abs(one.residual).mean()} for c, one in held.items()])
