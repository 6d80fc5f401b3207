"""Options of the audit question, checked before anything is sampled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from bayesjudge.errors import UsageError
from bayesjudge.inference.sampling import SamplingOptions
from bayesjudge.models.verdict_agreement import VerdictAgreement

__all__ = ["AuditOptions"]


@dataclass(frozen=True, kw_only=True)
class AuditOptions(SamplingOptions):
    """What `audit` was asked for; the parameters are described there.

    Raises
    ------
    UsageError, EngineError
        The first option that cannot be, with what is allowed.

    Examples
    --------
    >>> AuditOptions(features=("style",)).model.extra
    ('style',)
    """

    judge: str | None = None
    labels: Literal["both", "positives"] = "both"
    reviewed: float | str | None = None
    features: tuple[str, ...] = ()
    components: int = 32
    share: float | None = None
    folds: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.folds < 2 or self.folds != int(self.folds):
            raise UsageError(f"folds={self.folds} must be a whole number of at least 2")
        if self.share is not None and not 0 < self.share <= 1:
            raise UsageError(f"share={self.share} must lie above 0 and not above 1")
        _ = self.model

    @property
    def model(self) -> VerdictAgreement:
        """The model of agreement."""
        return VerdictAgreement(labels=self.labels, reviewed=self.reviewed, components=self.components,
                                extra=self.features)  # fmt: skip

    @property
    def settings(self) -> Mapping[str, Any]:
        """What the manifest of the answer records."""
        own = {"judge": self.judge, "labels": self.labels, "reviewed": self.reviewed, "share": self.share,
               "folds": self.folds, "features": list(self.features),
               "components": self.components}  # fmt: skip
        return {**super().settings, **own}
