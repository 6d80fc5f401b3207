"""`bradley_terry`: a leaderboard from battles that people, or one judge, decided."""

from bayesjudge.models.bradley_terry.groups import why_not_by_group
from bayesjudge.models.bradley_terry.model import BradleyTerry

__all__ = ["BradleyTerry", "why_not_by_group"]
