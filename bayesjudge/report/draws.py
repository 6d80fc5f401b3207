"""The draws behind an answer's rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.estimates import estimand_of
from bayesjudge.estimates.posterior import draws_by_unit
from bayesjudge.report.comparison import Comparison


def draws_of(answer: Comparison) -> Callable[[Mapping[str, Any]], NDArray[np.float64] | None]:
    """A row of the answer to the draws (S,) behind it; None where its posterior gives none."""

    @cache
    def of(name: str, estimand: str) -> dict[tuple[str, str, str], NDArray[np.float64]]:
        on: dict[str, Any] = {"population": "items"} if estimand.endswith(estimand_of("", "items")) else {}
        on |= {"shares": shares} if (shares := answer.settings.get("shares")) else {}
        found = answer.fits[name].quantities(**on)
        return (
            draws_by_unit(found[estimand], estimand=estimand, prob=answer.settings["prob"]) if estimand in found else {}
        )

    def draws(row: Mapping[str, Any]) -> NDArray[np.float64] | None:
        if (name := fit_of(answer, row)) is None:
            return None
        mine = of(name, row["estimand"])
        found = mine.get((row["unit"], row["judge"], row["group"]), mine.get((row["unit"], "", row["group"])))
        # What a row says may rest on other draws than what its model derives; then they are not its draws.
        return found if found is not None and np.isclose(found.mean(), row["point"]) else None

    return draws


def fit_of(answer: Comparison, row: Mapping[str, Any]) -> str | None:
    """Name of the fit behind a row, None where there is none."""
    method = row["method"].removesuffix("[independent]")
    return next((name for name in (f"{method}, judge {row['judge']}", method) if name in answer.fits), None)
