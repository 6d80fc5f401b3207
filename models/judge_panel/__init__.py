"""`judge_panel`: many judges, few human labels: the label regressed on all the votes."""

from bayesjudge.models.judge_panel.model import JudgePanel, PanelPrior

__all__ = ["JudgePanel", "PanelPrior"]
