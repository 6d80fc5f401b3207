"""The tables every question starts from: validated, frozen, one row an event."""

from bayesjudge.tables.battles import Battles
from bayesjudge.tables.pairs import Pairs
from bayesjudge.tables.scores import Scores
from bayesjudge.tables.trials import Trials
from bayesjudge.tables.verdicts import Verdicts

__all__ = ["Battles", "Pairs", "Scores", "Trials", "Verdicts"]
