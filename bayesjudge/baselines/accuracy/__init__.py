"""Every baseline's accuracies and differences for one judge, as `Estimates`."""

from bayesjudge.baselines.accuracy.estimates import accuracy_baselines

__all__ = ["accuracy_baselines"]
