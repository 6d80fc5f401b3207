"""What an answer offers to the conditions under which its run is to fail, and to a reader of few rows of a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bayesjudge.conditions import condition_of
from bayesjudge.conditions.decision import Evidence, decide
from bayesjudge.estimates import Estimates
from bayesjudge.report.comparison import Comparison
from bayesjudge.report.draws import draws_of, fit_of

if TYPE_CHECKING:
    from bayesjudge.options import DecisionOptions, QuestionOptions

#: Share of dropped rows from which the answer is hardly one of the file.
MOST_DROPPED = 0.95


def with_conditions(
    answer: Comparison, options: QuestionOptions, *, rows: float | None = None, labels: float | None = None
) -> Comparison:
    """The answer with what became of the conditions in its options, and a warning where it rests on few of the rows.

    ``rows`` of the table were used, and ``labels`` of them have a person's label; None where that is not known.
    """
    dropped = sum(answer.dropped.values())
    share = None if rows is None else dropped / max(dropped + rows, 1)
    if share is not None and share > MOST_DROPPED:
        answer = _about_few(answer, dropped, dropped + (rows or 0))
    if not options.fail_if:
        return answer
    known = {"dropped": share, "labels": labels}
    evidence = Evidence(
        rows=Estimates.concat([answer.estimates, answer.diagnostics]),
        draws=draws_of(answer),
        doubts=lambda row: _doubt(answer, row),
        facts={name: value for name, value in known.items() if value is not None},
        gate=answer.gate.reasons,
    )
    how: dict[str, Any] = {"prob": options.fail_prob, "by": options.fail_by, "undecided": options.undecided}
    return replace(answer, conditions=tuple(decide(condition_of(text), evidence, **how) for text in options.fail_if))


def _about_few(answer: Comparison, dropped: float, rows: float) -> Comparison:
    """The answer that says first how few of the rows it is about."""
    of = f"{dropped:,.0f} of {rows:,.0f} rows could not be used"
    said = f"{of}: the answer is about the others alone; check which columns were taken for what"
    return replace(answer, warnings=(said, *answer.warnings))


def with_decision(answer: Comparison, options: DecisionOptions) -> Comparison:
    """The answer with the decision that its options ask for."""
    if options.decide is None:
        return answer
    prices = {name: getattr(options, name, None) for name in ("cost_label", "horizon")}
    return answer.decide(options.decide, margin=options.margin, **prices)


def _doubt(answer: Comparison, row: Mapping[str, Any]) -> str:
    """Why the answer's gate speaks against a row: reasons of its own fit, or of none in particular."""
    if (mine := fit_of(answer, row)) is None:
        return ""
    others = tuple(f"{name}: " for name in answer.fits if name != mine)
    return "; ".join(reason for reason in answer.gate.reasons if not reason.startswith(others))
