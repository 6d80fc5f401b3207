"""Sufficient statistics: how often each pattern of verdicts and labels occurs, as Ibis expressions."""

from bayesjudge.counts.verdicts import AnswerPatterns, ItemPatterns, VerdictCounts, count_verdicts

__all__ = ["AnswerPatterns", "ItemPatterns", "VerdictCounts", "count_verdicts"]
