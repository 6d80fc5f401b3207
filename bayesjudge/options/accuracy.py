"""Options of the accuracy question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from bayesjudge.options.option import Option
from bayesjudge.options.question import QuestionOptions

__all__ = ["AccuracyOptions"]

_LABELS = (
    "How answers were selected for labelling: random (evenly; tested), chosen-by-verdict (by the judge's "
    "verdicts and nothing else; they are weighted), or enriched (each by its own label and nothing else: "
    "wrong where items were selected by how hard they are). Known unequal probabilities: a column "
    "label_probability."
)


@dataclass(frozen=True, kw_only=True)
class AccuracyOptions(QuestionOptions):
    """Options of `bayesjudge.accuracy`, checked.

    Examples
    --------
    >>> AccuracyOptions(prob=0.9).settings["pooling"]
    'partial'
    """

    pooling: Annotated[
        Literal["partial", "shared", "specific"],
        Option(help="How similar the judge's errors are between models."),
    ] = "partial"
    labels: Annotated[Literal["random", "chosen-by-verdict", "enriched"], Option(help=_LABELS)] = "random"
    population: Annotated[
        Literal["superpopulation", "items"],
        Option(
            help="superpopulation: accuracy on questions like these; items: on exactly these, where an "
            "answer with a label is known."
        ),
    ] = "superpopulation"
    judges: Annotated[
        Iterable[str] | None,
        Option(help="Only this judge; may be given more than once. By default all.", flag="--judge"),
    ] = None
    group: Annotated[str | None, Option(help="Column that splits the items, for instance subject.")] = None
    cluster: Annotated[Sequence[str] | None, Option(help="Column of items that belong together.")] = None
    compare: Annotated[
        bool | None,
        Option(
            help="Fit the other two poolings too and compare all three by leave-one-out; by default for a "
            "single judge. Needs two models."
        ),
    ] = None
    panel: Annotated[
        bool | None,
        Option(
            help="Also all judges together: labels given their votes (`judge_panel`); by default for two "
            "judges or more and any label. Needs verdicts, not counts."
        ),
    ] = None
