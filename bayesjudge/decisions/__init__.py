"""What to do, from joint draws of what systems are worth: verdicts with a margin, losses, the value of labels."""

from bayesjudge.decisions.choice import UNDECIDED, compared_with, loss_of_choosing, regret
from bayesjudge.decisions.labels import Labels, after_labels, item_covariance, value_of_labels
from bayesjudge.decisions.significance import adjusted, estimate_tests, paired_tests

__all__ = [
    "UNDECIDED",
    "Labels",
    "adjusted",
    "after_labels",
    "compared_with",
    "estimate_tests",
    "item_covariance",
    "loss_of_choosing",
    "paired_tests",
    "regret",
    "value_of_labels",
]
