"""Options of the reliability question, checked before anything is counted or sampled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bayesjudge.errors import UsageError
from bayesjudge.inference.sampling import SamplingOptions
from bayesjudge.models.pointwise_scores import Likelihood, PointwiseScores

__all__ = ["ReliabilityOptions"]

#: Further trials an item that are planned by default.
EACH = 5


@dataclass(frozen=True, kw_only=True)
class ReliabilityOptions(SamplingOptions):
    """What `reliability` was asked for; the parameters are described there.

    Raises
    ------
    UsageError, EngineError
        The first option that cannot be, with what is allowed.

    Examples
    --------
    >>> ReliabilityOptions(budget=100).budget_of(20), ReliabilityOptions().budget_of(20)
    (100, 100)
    """

    likelihood: Likelihood = "gaussian"
    budget: int | None = None
    responses: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.pointwise_scores()
        if self.budget is not None and self.budget < 0:
            raise UsageError(f"budget={self.budget} must be a number of further trials, 0 or more")

    def pointwise_scores(self) -> PointwiseScores:
        """The model of scores."""
        return PointwiseScores(likelihood=self.likelihood)

    def budget_of(self, items: int) -> int:
        """Further trials to spend on a judge's items."""
        return EACH * items if self.budget is None else self.budget

    @property
    def sampling(self) -> Mapping[str, Any]:
        """Keywords of `fit`: hundreds of effects near their normal units need no shorter steps than these."""
        return {**super().sampling, "target_accept": 0.9}

    @property
    def settings(self) -> Mapping[str, Any]:
        """What the manifest of the answer records."""
        return {**super().settings, "likelihood": self.likelihood, "budget": self.budget,
                "responses": None if self.responses is None else list(self.responses)}  # fmt: skip
