"""What an answer offers to the conditions under which its run is to fail: rows, draws, doubts, facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.conditions import condition_of
from bayesjudge.conditions.decision import Evidence, decide
from bayesjudge.estimates import Estimates, estimand_of
from bayesjudge.estimates.posterior import draws_by_unit
from bayesjudge.model import GivesQuantities

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bayesjudge.options import QuestionOptions
    from bayesjudge.report.comparison import Comparison


def with_conditions(
    answer: Comparison, options: QuestionOptions, *, rows: float | None = None, labels: float | None = None
) -> Comparison:
    """The answer with what became of the conditions in its options.

    ``rows`` of the table were used, and ``labels`` of them have a person's label; None where that is not known.
    """
    if not options.fail_if:
        return answer
    dropped = sum(answer.dropped.values())
    share = None if rows is None else dropped / max(dropped + rows, 1)
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


def draws_of(answer: Comparison) -> Callable[[Mapping[str, Any]], NDArray[np.float64] | None]:
    """A row of the answer to the draws (S,) behind it; None where its posterior gives none."""

    @cache
    def of(name: str, estimand: str) -> dict[tuple[str, str, str], NDArray[np.float64]]:
        fit = answer.fits[name]
        if not isinstance(fit.model, GivesQuantities):
            return {}
        derive: Any = fit.model.quantities
        items = {"population": "items"} if estimand.endswith(estimand_of("", "items")) else {}
        found = derive(fit.posterior, fit.data, **items)
        return (
            draws_by_unit(found[estimand], estimand=estimand, prob=answer.settings["prob"]) if estimand in found else {}
        )

    def draws(row: Mapping[str, Any]) -> NDArray[np.float64] | None:
        if (name := _fit_of(answer, row)) is None:
            return None
        mine = of(name, row["estimand"])
        found = mine.get((row["unit"], row["judge"], row["group"]), mine.get((row["unit"], "", row["group"])))
        # What a row says may rest on other draws than what its model derives; then they are not its draws.
        return found if found is not None and np.isclose(found.mean(), row["point"]) else None

    return draws


def _fit_of(answer: Comparison, row: Mapping[str, Any]) -> str | None:
    """Name of the fit behind a row, None where there is none."""
    method = row["method"].removesuffix("[independent]")
    return next((name for name in (f"{method}, judge {row['judge']}", method) if name in answer.fits), None)


def _doubt(answer: Comparison, row: Mapping[str, Any]) -> str:
    """Why the answer's gate speaks against a row: reasons of its own fit, or of none in particular."""
    if (mine := _fit_of(answer, row)) is None:
        return ""
    others = tuple(f"{name}: " for name in answer.fits if name != mine)
    return "; ".join(reason for reason in answer.gate.reasons if not reason.startswith(others))
