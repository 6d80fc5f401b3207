"""`conditional_panel`: judges who err independently given the label (Dawid & Skene 1979)."""

from bayesjudge.models.conditional_panel.model import ConditionalPanel

__all__ = ["ConditionalPanel"]
