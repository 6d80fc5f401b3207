"""`judge_elo`: the Elo that people would give, from their votes and from judges of other battles too."""

from bayesjudge.models.judge_elo.held_out import Prediction
from bayesjudge.models.judge_elo.model import JudgeElo

__all__ = ["JudgeElo", "Prediction"]
