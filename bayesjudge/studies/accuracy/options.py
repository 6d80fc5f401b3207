"""Options of the accuracy question, checked before anything is counted or sampled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bayesjudge.estimates import Population, estimand_of
from bayesjudge.inference.sampling import SamplingOptions
from bayesjudge.models.common.verdict_channel import Labels, Pooling
from bayesjudge.models.judge_error import JudgeError
from bayesjudge.models.paired_accuracy import PairedAccuracy

__all__ = ["POOLINGS", "AccuracyOptions"]

POOLINGS: tuple[Pooling, ...] = ("partial", "shared", "specific")


@dataclass(frozen=True, kw_only=True)
class AccuracyOptions(SamplingOptions):
    """What `accuracy` was asked for; the parameters are described there.

    Raises
    ------
    UsageError, EngineError
        The first option that cannot be, with what is allowed.

    Examples
    --------
    >>> AccuracyOptions(prob=0.9).judge_error().label
    'bayes:judge_error[partial]'
    """

    pooling: Pooling = "partial"
    labels: Labels = "random"
    compare: bool | None = None
    population: Population = "superpopulation"

    def __post_init__(self) -> None:
        super().__post_init__()
        estimand_of("accuracy", self.population)
        self.judge_error()

    def judge_error(self, pooling: Pooling | None = None) -> JudgeError:
        """The model of accuracies, with another pooling where one is given."""
        return JudgeError(pooling=pooling or self.pooling, labels=self.labels)

    def paired_accuracy(self) -> PairedAccuracy:
        """The model of differences."""
        return PairedAccuracy(pooling=self.pooling, labels=self.labels)

    @property
    def settings(self) -> Mapping[str, Any]:
        """What the manifest of the answer records."""
        own = {"pooling": self.pooling, "labels": self.labels, "population": self.population}
        return {**super().settings, **own}
