"""Options of a decision between the systems of an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from bayesjudge.errors import UsageError
from bayesjudge.options.option import Option
from bayesjudge.options.question import QuestionOptions

KEEP = "keep="


@dataclass(frozen=True, kw_only=True)
class DecisionOptions(QuestionOptions):
    """Which system to choose.

    Examples
    --------
    >>> DecisionOptions(decide="keep=old", margin=0.01).margin
    0.01
    """

    #: Whether a margin says something without a decision.
    margin_alone: ClassVar[bool] = False

    decide: Annotated[
        str | None,
        Option(
            "Which system to choose: best, or keep=NAME, which compares every system with one in use.",
            metavar="<rule>",
            recorded="given",
        ),
    ] = None
    margin: Annotated[
        float | None,
        Option(
            "With --decide: the largest difference that does not matter; by default .02, for Elo 10.",
            above=0,
            recorded="given",
        ),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.decide is not None and self.decide != "best" and self.decide.removeprefix(KEEP) in ("", self.decide):
            raise UsageError(f"decide={self.decide!r}: write best, or keep=NAME with the system that is in use")
        needing = [] if self.margin_alone else ["margin"]
        needing = [name for name in (*needing, "cost_label", "horizon") if getattr(self, name, None) is not None]
        if needing and self.decide is None:
            raise UsageError(f"{needing[0]}= is about a decision: add decide='best'")


@dataclass(frozen=True, kw_only=True)
class LabelDecisionOptions(DecisionOptions):
    """Which system to choose, and whether further labels pay.

    Examples
    --------
    >>> LabelDecisionOptions(decide="best", cost_label=1.5, horizon=100_000).horizon
    100000.0
    """

    cost_label: Annotated[
        float | None,
        Option("Of --decide: what a label costs, in wrong answers (lost battles).", least=0, recorded="given"),
    ] = None
    horizon: Annotated[
        float | None, Option("Of --decide: how many answers (battles) the choice is for.", above=0, recorded="given")
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.cost_label is None) != (self.horizon is None):
            raise UsageError("cost_label= and horizon= go together: what a label costs, and what the choice is for")
