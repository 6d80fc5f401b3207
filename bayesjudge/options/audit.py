"""Options of the audit question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from bayesjudge.options.option import Option
from bayesjudge.options.question import QuestionOptions


@dataclass(frozen=True, kw_only=True)
class AuditOptions(QuestionOptions):
    """Options of `bayesjudge.audit`, checked.

    Examples
    --------
    >>> AuditOptions(features="style").settings["features"]
    ['style']
    """

    example: ClassVar[str] = "--feature style --components 16"

    bootstrap: Annotated[int, Option("None.", flag="")] = field(default=0, init=False)
    judge: Annotated[
        str | None,
        Option(
            "Which judge, where there are several; the others' verdicts are then features.",
            metavar="<name>",
            panel="Data",
        ),
    ] = None
    labels: Annotated[
        Literal["both", "positives"], Option("both, or positives: only agreements were recorded, which needs reviewed.")
    ] = "both"
    reviewed: Annotated[
        float | str | None,
        Option("With positives: share of agreements that were reviewed, or its column.", metavar="<share|column>"),
    ] = None
    share: Annotated[
        float | None,
        Option("Share s of consistent verdicts for partial optimal transport; by default measured.", above=0, most=1),
    ] = None
    folds: Annotated[int, Option("Parts in which verified pairs are held out.", least=2)] = 10
    features: Annotated[
        Sequence[str],
        Option("Further numeric column; may be given more than once.", flag="--feature", metavar="<column>"),
    ] = ()
    formula: Annotated[
        Sequence[str],
        Option(
            "What else agreement depends on, in R's notation: 'agreement ~ 1 + style + (1|topic)', with (1|topic) for "
            "groups that pool.",
            metavar="<formula>",
            recorded="given",
        ),
    ] = ()
    components: Annotated[int, Option("Most principal directions of the embeddings.", least=0)] = 32
    embeddings: Annotated[
        Any, Option("As in `read_pairs`, where ``pairs`` is not a `Pairs`.", flag="", recorded="never")
    ] = None
