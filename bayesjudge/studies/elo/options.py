"""Options of the Elo question, checked before anything is counted or sampled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bayesjudge.errors import UsageError
from bayesjudge.inference.sampling import SamplingOptions
from bayesjudge.models.judge_elo import JudgeElo
from bayesjudge.models.judge_elo.model import Scores

__all__ = ["EloOptions"]


@dataclass(frozen=True, kw_only=True)
class EloOptions(SamplingOptions):
    """What `elo` was asked for; the parameters are described there.

    Raises
    ------
    UsageError, EngineError
        The first option that cannot be, with what is allowed.

    Examples
    --------
    >>> EloOptions(scores="verdicts").judge_elo().label
    'bayes:judge_elo[verdicts]'
    """

    engine: str = "hmc"
    bootstrap: int = 1000
    scores: Scores = "graded"
    length_effect: bool = False
    battle_effect: bool = False
    families: Mapping[str, str] = field(default_factory=dict)
    covariates: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bootstrap == 1:
            raise UsageError("bootstrap=1 has no spread; give 0 (sandwich errors) or some hundreds")
        self.judge_elo()

    def judge_elo(self) -> JudgeElo:
        """The joint model of people and judges."""
        families = tuple(sorted(self.families.items()))
        return JudgeElo(scores=self.scores, length_effect=self.length_effect, families=families,
                        battle_effect=self.battle_effect)  # fmt: skip

    @property
    def settings(self) -> Mapping[str, Any]:
        """What the manifest of the answer records."""
        return {**super().settings, "scores": self.scores, "length_effect": self.length_effect,
                "battle_effect": self.battle_effect,
                "families": dict(self.families), "covariates": list(self.covariates)}  # fmt: skip
