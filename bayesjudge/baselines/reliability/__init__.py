"""Frequentist answers to how repeatable a judge is, one statistic a file (METHODS 2).

`trial_baselines` gives everything that repeated comparisons say, `score_baselines` everything that repeated
scores do.
"""

from __future__ import annotations

from bayesjudge.baselines.reliability.means import score_means
from bayesjudge.baselines.reliability.scores import ScoreReliability, score_baselines
from bayesjudge.baselines.reliability.trials import TrialReliability, trial_baselines

__all__ = ["ScoreReliability", "TrialReliability", "score_baselines", "score_means", "trial_baselines"]
