"""The questions, each one call from a table to a `Comparison`."""

from bayesjudge.report.comparison import Comparison, json_schema
from bayesjudge.studies.accuracy import accuracy
from bayesjudge.studies.audit import audit
from bayesjudge.studies.compare import compare
from bayesjudge.studies.elo import elo
from bayesjudge.studies.reliability import reliability

__all__ = ["Comparison", "accuracy", "audit", "compare", "elo", "json_schema", "reliability"]
