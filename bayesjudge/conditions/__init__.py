"""Conditions under which a run is to fail: read, held against an answer, and reported."""

from bayesjudge.conditions.condition import Condition, condition_of, quoted

__all__ = ["Condition", "condition_of", "quoted"]
