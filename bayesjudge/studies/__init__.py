"""The questions, each one call from a table to a `Comparison`."""

from bayesjudge.studies.accuracy import accuracy
from bayesjudge.studies.comparison import Comparison
from bayesjudge.studies.elo import elo
from bayesjudge.studies.output import json_schema

__all__ = ["Comparison", "accuracy", "elo", "json_schema"]
