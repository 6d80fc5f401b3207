"""What LLM-judge verdicts are worth: generative models and frequentist baselines, side by side."""

from __future__ import annotations

__version__ = "0.1.0"
