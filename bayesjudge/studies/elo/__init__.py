"""The Elo question: a leaderboard on the human scale, and what the judges add to it."""

from bayesjudge.studies.elo.study import elo

__all__ = ["elo"]
