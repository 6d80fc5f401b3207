"""Frequentist estimators of accuracy under an imperfect judge, one family a file.

`accuracy_baselines` gives every method's accuracies and differences for one judge, `judge_quality` the
judge's sensitivity, specificity and J on each model. All of them are functions of the same moments
(`moments`), all variances come from influence values (`variance`), all bootstraps from weights (`bootstrap`).
"""

from __future__ import annotations

from bayesjudge.baselines.accuracy import accuracy_baselines
from bayesjudge.baselines.accuracy.judge_quality import judge_quality
from bayesjudge.baselines.accuracy.methods import EVEN_METHODS, ITEMS_METHODS, METHODS, WEIGHTED_METHODS

__all__ = ["EVEN_METHODS", "ITEMS_METHODS", "METHODS", "WEIGHTED_METHODS", "accuracy_baselines", "judge_quality"]
