"""`pointwise_scores`: how much of a single score is the response, and how much the day it was given."""

from bayesjudge.models.pointwise_scores.model import Likelihood, PointwiseScores

__all__ = ["Likelihood", "PointwiseScores"]
