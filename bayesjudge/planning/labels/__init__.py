"""Which answers to have labelled next, and what that saves over labelling at random."""

from __future__ import annotations

from bayesjudge.planning.labels.plan import LabelPlan, difference_contrast, expected_variance, plan_labels
from bayesjudge.planning.labels.sampling import LabelSample, sample_labels
from bayesjudge.planning.labels.savings import accuracy_draws, labels_saved, retrospective

__all__ = [
    "LabelPlan",
    "LabelSample",
    "accuracy_draws",
    "difference_contrast",
    "expected_variance",
    "labels_saved",
    "plan_labels",
    "retrospective",
    "sample_labels",
]
