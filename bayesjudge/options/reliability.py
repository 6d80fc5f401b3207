"""Options of the reliability question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from bayesjudge.options.decision import DecisionOptions
from bayesjudge.options.option import Option
from bayesjudge.options.question import Draws, Engine, Tune


@dataclass(frozen=True, kw_only=True)
class ReliabilityOptions(DecisionOptions):
    """Options of `bayesjudge.reliability`, checked.

    Examples
    --------
    >>> ReliabilityOptions(budget=100).budget_of(20), ReliabilityOptions().budget_of(20)
    (100, 100)
    """

    warm_up_most: ClassVar[int | None] = 150
    most_draws: ClassVar[int] = 2000
    example: ClassVar[str] = "--budget 200 --formula 'position ~ 1 + words + (1|topic)'"
    #: Hundreds of effects near their normal units need no shorter steps than these.
    target_accept: ClassVar[float] = 0.8

    scores: Annotated[
        Any, Option("Repeated scores of single responses, as `read_scores` takes them.", flag="", recorded="never")
    ] = None
    engine: Engine = "hmc"
    #: Enough for most tables; where they are not, chains go on.
    draws: Draws = 400
    tune: Tune = 150
    likelihood: Annotated[Literal["gaussian", "ordinal"], Option("Scores as numbers, or as ordered levels.")] = (
        "gaussian"
    )
    budget: Annotated[
        int | None, Option("Further trials to plan for each judge and condition; by default 5 an item.", least=0)
    ] = None
    responses: Annotated[
        tuple[str, str] | None,
        Option(
            "A response whose scores are compared; give two where there are more.", flag="--response", metavar="<name>"
        ),
    ] = None
    formula: Annotated[
        Sequence[str],
        Option(
            "What columns of the log do to preference or position (of comparisons), or to score: "
            "'position ~ 1 + words + (1|topic)'; one of each.",
            metavar="<formula>",
            recorded="given",
        ),
    ] = ()
    cluster: Annotated[
        str | None,
        Option(
            "Column whose values (prompts, documents) are drawn together: intervals of comparisons are then for new "
            "ones. By default the item where it has several pairs of models; none: items are independent.",
            metavar="<column>",
            panel="Data",
            recorded="given",
        ),
    ] = None
    judges: Annotated[
        Iterable[str] | None,
        Option("Only this judge; may be given more than once.", flag="--judge", panel="Data", recorded="given"),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        from bayesjudge.effects import REPEATED, read_formula  # needs pandas, which help does not

        for text in self.formula:
            read_formula(text, rates=REPEATED)

    def formulas_of(self, *of: str) -> tuple[str, ...]:
        """Formulas of some of what they may move."""
        from bayesjudge.effects import REPEATED, read_formula

        return tuple(text for text in self.formula if read_formula(text, rates=REPEATED).rate in of)

    def budget_of(self, items: int) -> int:
        """Further trials to spend on a judge's items."""
        return 5 * items if self.budget is None else self.budget
