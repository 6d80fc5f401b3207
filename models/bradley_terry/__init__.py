"""`bradley_terry`: a leaderboard from battles that people, or one judge, decided."""

from bayesjudge.models.bradley_terry.groups import MOST as MOST_GROUP_EFFECTS
from bayesjudge.models.bradley_terry.model import BradleyTerry

__all__ = ["MOST_GROUP_EFFECTS", "BradleyTerry"]
