"""Options of the accuracy question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from bayesjudge.options.decision import LabelDecisionOptions
from bayesjudge.options.option import Option
from bayesjudge.options.question import Judges


@dataclass(frozen=True, kw_only=True)
class AccuracyOptions(LabelDecisionOptions):
    """Options of `bayesjudge.accuracy`, checked.

    Examples
    --------
    >>> AccuracyOptions(prob=0.9).settings["pooling"]
    'partial'
    """

    example: ClassVar[str] = "--pooling shared --population items"

    pooling: Annotated[
        Literal["partial", "shared", "specific"], Option("How similar the judge's errors are between models.")
    ] = "partial"
    labels: Annotated[
        Literal["random", "chosen-by-verdict", "enriched"],
        Option(
            "How answers were selected for labelling: random (evenly; tested), chosen-by-verdict (by the "
            "judge's verdicts and nothing else; they are weighted), or enriched (each by its own label and "
            "nothing else: wrong where items were selected by how hard they are). Known unequal "
            "probabilities: a column label_probability."
        ),
    ] = "random"
    population: Annotated[
        Literal["superpopulation", "items"],
        Option(
            "superpopulation: accuracy on questions like these; items: on exactly these, where an answer "
            "with a label is known."
        ),
    ] = "superpopulation"
    judges: Judges = None
    group: Annotated[
        str | None, Option("Column that splits the items, for instance subject.", metavar="<column>", panel="Data")
    ] = None
    cluster: Annotated[
        Sequence[str] | None, Option("Column of items that belong together.", metavar="<column>", panel="Data")
    ] = None
    compare: Annotated[
        bool | None,
        Option("Compare all three poolings by leave-one-out; by default for a single judge. Needs two models."),
    ] = None
    panel: Annotated[
        bool | None,
        Option(
            "Also all judges together: labels given their votes (`judge_panel`); by default for two judges "
            "or more and any label. Needs verdicts, not counts."
        ),
    ] = None
