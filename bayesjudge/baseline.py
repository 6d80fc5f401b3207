"""The `Baseline` of a question and the registry of baselines from other packages."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Literal

from bayesjudge.errors import UsageError

if TYPE_CHECKING:
    from bayesjudge.estimates import Estimates


#: What stands for all of a question's own models, or baselines.
DEFAULT = "default"
type QuestionName = Literal["accuracy", "elo", "reliability", "audit"]


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """A frequentist method of one question, of this package or of another.

    estimates: ``estimates(counts, options=...)`` gives `Estimates`, from the question's counts (`VerdictCounts` of one
        judge, `BattleCounts`, `TrialCounts` or `ScoreCounts`, `Pairs` of one judge) and its checked options
        (``options.prob``, ``options.seed``, ``options.bootstrap``, ...). Estimands are named as the question names
        them, and the method is ``name``.
    """

    name: str
    question: QuestionName
    estimates: Callable[..., Estimates]


def find_baseline(name: str, question: str, own: Collection[str] = ()) -> Baseline:
    """The baseline that another package registered under that name."""
    found: list[Baseline] = [point.load() for point in entry_points(group="bayesjudge.baselines")]
    known = {one.name: one for one in found if one.question == question}
    if name not in known:
        names = ", ".join([*own, *known])
        near = difflib.get_close_matches(name, [*own, *known], n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise UsageError(f"no baseline {name!r}{hint} for {question}; there are {names}")
    return known[name]


def chosen_baselines(
    chosen: Iterable[Any] | None, *, question: QuestionName, own: Collection[str]
) -> tuple[list[str] | None, list[Baseline]]:
    """Methods of this package and baselines of others among those chosen; None, as "default", is all of ours."""
    if chosen is None:
        return None, []
    texts = [one for one in chosen if isinstance(one, str)]
    others = [one for one in chosen if isinstance(one, Baseline)]
    others += [find_baseline(one, question, own) for one in texts if one not in own and one != DEFAULT]
    ours = None if DEFAULT in texts else [one for one in texts if one in own]
    for one in others:
        if one.question != question:
            raise UsageError(f"baseline {one.name!r} answers {one.question}, not {question}")
    return ours, others
