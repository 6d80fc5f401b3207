"""`judge_error`: true accuracy under a judge with unknown sensitivity and specificity."""

from bayesjudge.models.judge_error.model import JudgeError

__all__ = ["JudgeError"]
