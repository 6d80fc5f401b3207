"""`paired_accuracy`: two models or more compared on the same items, under a judge with errors."""

from bayesjudge.models.paired_accuracy.model import PairedAccuracy

__all__ = ["PairedAccuracy"]
