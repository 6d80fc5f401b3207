"""The reliability question: would the judge say the same if asked again, and how often must we ask."""

from bayesjudge.studies.reliability.study import reliability

__all__ = ["reliability"]
