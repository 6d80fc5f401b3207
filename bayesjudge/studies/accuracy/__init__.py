"""The accuracy question: each model's true accuracy, and which model is better."""

from bayesjudge.studies.accuracy.study import accuracy

__all__ = ["accuracy"]
