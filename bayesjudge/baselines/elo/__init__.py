"""Frequentist Elo: leaderboards of people and judges, held-out models, conformal intervals, diagnostics."""

from __future__ import annotations

from bayesjudge.baselines.elo.conformal import conformal, strength_strata
from bayesjudge.baselines.elo.curves import sample_curve, sweep_smoothing
from bayesjudge.baselines.elo.diagnostics import judge_diagnostics, reliability_table
from bayesjudge.baselines.elo.fit import EloFit, fit_elo
from bayesjudge.baselines.elo.held_out import HeldOut, held_out
from bayesjudge.baselines.elo.leaderboard import METHODS, elo_baselines, fit_human, fit_judge
from bayesjudge.baselines.elo.scale import held_out_scores, held_out_summary, split_coverage, width_decomposition
from bayesjudge.baselines.elo.temperature import temperature

__all__ = [
    "METHODS",
    "EloFit",
    "HeldOut",
    "conformal",
    "elo_baselines",
    "fit_elo",
    "fit_human",
    "fit_judge",
    "held_out",
    "held_out_scores",
    "held_out_summary",
    "judge_diagnostics",
    "reliability_table",
    "sample_curve",
    "split_coverage",
    "strength_strata",
    "sweep_smoothing",
    "temperature",
    "width_decomposition",
]
