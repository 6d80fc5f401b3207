"""Options of the reliability question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from bayesjudge.options.option import Option
from bayesjudge.options.question import QuestionOptions

__all__ = ["ReliabilityOptions"]

#: Further trials an item that are planned by default.
EACH = 5


@dataclass(frozen=True, kw_only=True)
class ReliabilityOptions(QuestionOptions):
    """Options of `bayesjudge.reliability`, checked.

    Examples
    --------
    >>> ReliabilityOptions(budget=100).budget_of(20), ReliabilityOptions().budget_of(20)
    (100, 100)
    """

    warm_up_most: ClassVar[int | None] = 600

    scores: Annotated[
        Any,
        Option(
            help="Repeated scores of single responses: a table, its counts, or what `read_scores` takes.",
            flag="",
            recorded="never",
        ),
    ] = None
    engine: Annotated[
        Literal["nuts", "hmc", "laplace", "pymc"],
        Option(
            help="What draws from posteriors, as in `fit`; with the effects of many items and judges hmc "
            "is faster than nuts."
        ),
    ] = "hmc"
    draws: Annotated[
        int,
        Option(
            help="Posterior draws of each chain, after the warm-up (of as many steps, at most 600): each "
            "of many effects must pass its convergence check.",
            least=4,
        ),
    ] = 2000
    tune: Annotated[int, Option(help="Warm-up steps of each chain.", least=0, flag="")] = 600
    likelihood: Annotated[
        Literal["gaussian", "ordinal"], Option(help="Scores as numbers, or as ordered levels.")
    ] = "gaussian"
    budget: Annotated[
        int | None,
        Option(help="Further trials to plan for each judge and condition; by default 5 an item.", least=0),
    ] = None
    responses: Annotated[
        tuple[str, str] | None,
        Option(
            help="The response whose scores are compared; give two where there are more.", flag="--response"
        ),
    ] = None
    judges: Annotated[
        Iterable[str] | None,
        Option(
            help="Only this judge; may be given more than once. By default all.",
            flag="--judge",
            recorded="given",
        ),
    ] = None

    def budget_of(self, items: int) -> int:
        """Further trials to spend on a judge's items."""
        return EACH * items if self.budget is None else self.budget

    @property
    def sampling(self) -> Mapping[str, Any]:
        """Keywords of `fit`: hundreds of effects near their normal units need no shorter steps than these."""
        return {**super().sampling, "target_accept": 0.9}
