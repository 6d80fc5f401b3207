"""`repeated_trials`: what a judge would say if it were asked again, and why it would not say the same."""

from bayesjudge.models.repeated_trials.model import RepeatedTrials

__all__ = ["RepeatedTrials"]
