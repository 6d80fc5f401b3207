"""`judge_error`: true accuracy under a judge with unknown sensitivity and specificity."""

from bayesjudge.models.common.verdict_channel import Labels, Pooling
from bayesjudge.models.judge_error.formulas import by_group
from bayesjudge.models.judge_error.model import JudgeError

__all__ = ["JudgeError", "Labels", "Pooling", "by_group"]
