"""Frequentist Elo: leaderboards of people and judges, held-out models, conformal intervals, diagnostics."""

from __future__ import annotations

from bayesjudge.baselines.elo.leaderboard import METHODS, elo_baselines, fit_human, fit_judge
from bayesjudge.baselines.elo.temperature import temperature

__all__ = ["METHODS", "elo_baselines", "fit_human", "fit_judge", "temperature"]
