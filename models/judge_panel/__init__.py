"""`judge_panel`: many judges, few human labels: the label regressed on all the votes."""

from bayesjudge.models.judge_panel.model import JudgePanel

__all__ = ["JudgePanel"]
