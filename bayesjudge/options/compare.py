"""Options of the comparison of two runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from bayesjudge.errors import UsageError
from bayesjudge.options.accuracy import AccuracyOptions
from bayesjudge.options.option import Option


@dataclass(frozen=True, kw_only=True)
class CompareOptions(AccuracyOptions):
    """Options of `bayesjudge.compare`, checked.

    Examples
    --------
    >>> CompareOptions(runs=("main", "branch")).runs
    ('main', 'branch')
    """

    margin_alone: ClassVar[bool] = True
    example: ClassVar[str] = "--run main --run branch --margin .05"

    compare: Annotated[bool, Option("None.", flag="")] = field(default=False, init=False)
    after: Annotated[Any, Option("The second run, as the first.", flag="", recorded="never")] = None
    question: Annotated[Literal["accuracy", "elo"], Option("What is compared: accuracy, or the Elo of battles.")] = (
        "accuracy"
    )
    runs: Annotated[
        tuple[str, str],
        Option("Name of the first run, then of the second; a model is named gpt-4o @ before.", flag="--run"),
    ] = ("before", "after")
    label_judge: Annotated[
        bool, Option("The judge changed between the runs although its name did not: say what that can explain.")
    ] = False
    margin: Annotated[
        float | None,
        Option("Also the probability that a difference is smaller than this, either way; that of --decide.", above=0),
    ] = None
    anchors: Annotated[
        Sequence[str],
        Option(
            "Of Elo: a model that did not change, against which both runs are measured.",
            flag="--anchor",
            metavar="<model>",
        ),
    ] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(set(self.runs)) < 2 or not all(self.runs):
            raise UsageError(f"runs={self.runs!r}: give the two runs two names")
        if (self.question == "elo") != bool(self.anchors):
            wanted = "needs anchors= (--anchor): a model of both runs that did not change"
            raise UsageError(f"question='elo' {wanted}" if not self.anchors else "anchors= (--anchor) is for Elo alone")
