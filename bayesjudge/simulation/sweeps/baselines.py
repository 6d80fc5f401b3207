"""Frequentist answers of the coverage sweeps: a table, a probability and a seed give estimates."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesjudge.baselines import accuracy_baselines
from bayesjudge.baselines.common.intervals import clopper_pearson
from bayesjudge.baselines.elo import elo_baselines, temperature
from bayesjudge.baselines.panel import panel_baselines
from bayesjudge.baselines.reliability import score_baselines, trial_baselines
from bayesjudge.estimates import POPULATIONS, Estimates


def accuracy(counts: Any, *, prob: float, seed: int) -> Estimates:
    """All methods for one judge."""
    return accuracy_baselines(counts, "judge", bootstrap=1000, prob=prob, seed=seed)


def panel(votes: Any, *, prob: float, seed: int) -> Estimates:
    """All methods for several judges, of both populations."""
    return Estimates.concat(
        [panel_baselines(votes, prob=prob, seed=seed, bootstrap=0, population=population) for population in POPULATIONS]
    )


def elo(counts: Any, *, prob: float, seed: int) -> Estimates:
    """Hard-Elo by people's votes."""
    # By a judge's verdicts it is another quantity: what that judge prefers.
    return elo_baselines(counts, prob=prob, seed=seed, bootstrap=1000).where(judge="")


def soft_elo(counts: Any, *, prob: float, seed: int) -> Estimates:
    """Soft-Elo by a judge's scores, and its temperature."""
    # Asked for by name it is refused where a log's temperature is not above 0; so it has no row there.
    elo = elo_baselines(counts, prob=prob, seed=seed, bootstrap=1000).where(method="soft-elo")
    return Estimates.concat([elo, temperature(counts, "j0", prob=prob, seed=seed)])


def trials(counts: Any, *, prob: float, seed: int) -> Estimates:
    """Plug-in figures with bootstrap intervals."""
    return trial_baselines(counts, prob=prob, seed=seed, bootstrap=1000).estimates


def scores(counts: Any, *, prob: float, seed: int) -> Estimates:
    """Analysis of variance."""
    return score_baselines(counts, prob=prob, seed=seed).estimates


def verified_share(pairs: Any, *, prob: float, **_: int) -> Estimates:
    """What the verified pairs say of the others if verdicts are all alike: their share, Clopper–Pearson."""
    category = pairs.frame["category"].to_numpy()
    parts = {"unverified": pairs.verified, **{one: pairs.verified & (category == one) for one in np.unique(category)}}
    rows = []
    for name, mine in parts.items():
        agreed, verified = int(pairs.agrees[mine].sum()), int(mine.sum())
        low, high = clopper_pearson(agreed, verified, prob=prob)
        point = agreed / verified if verified else np.nan
        fixed = {"estimand": "consistency", "unit": name, "method": "verified share", "prob": prob, "n": verified}
        rows.append({**fixed, "point": point, "lower": low, "upper": high})
    return Estimates.from_rows(rows)
