"""From files and other tables to validated ones: one reader a format."""

from bayesjudge.readers.battles import read_battles
from bayesjudge.readers.log import Log, read
from bayesjudge.readers.pairs import read_pairs
from bayesjudge.readers.trials import read_repeats, read_scores, read_trials
from bayesjudge.readers.verdicts import read_verdicts

__all__ = ["Log", "read", "read_battles", "read_pairs", "read_repeats", "read_scores", "read_trials", "read_verdicts"]
