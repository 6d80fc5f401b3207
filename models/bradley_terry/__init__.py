"""`bradley_terry`: a leaderboard from battles that people, or one judge, decided."""

from bayesjudge.models.bradley_terry.model import BradleyTerry

__all__ = ["BradleyTerry"]
