"""What a posterior of `repeated_trials` with formulas says: average effects of numbers, and rows of categories.

Effects are on decided verdicts about a pair that is even otherwise: of a preference on P(a), of a position bias on
P(first) − P(second), when the number is one standard deviation higher, on average over judges and items.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.effects import POSITION, Formula
from bayesjudge.estimates.posterior import summary_rows
from bayesjudge.model import Data
from bayesjudge.models.common.added_terms import JUDGE, changed, shift_draws
from bayesjudge.models.common.effect_terms import flat
from bayesjudge.models.repeated_trials.verdict_draws import VerdictDraws

if TYPE_CHECKING:
    import xarray as xr


_EVEN = "decided verdicts on a pair that is even otherwise"


def effect_rows(
    formulas: Sequence[Formula], posterior: xr.Dataset, data: Data, common: dict[str, Any]
) -> list[dict[str, Any]]:
    """One row for each number of a formula, of all judges; of each where the formula has terms by judge."""
    import xarray as xr

    by_judge = {formula.rate for formula in formulas if JUDGE in formula.columns}
    rows: list[dict[str, Any]] = []
    for (of, number), logit in changed(formulas, posterior, data).items():
        change = _changes(of, logit, formulas, posterior, data).mean(axis=-1)
        whose = {"": change.mean(axis=-1)}
        if of in by_judge:
            whose |= {str(name): change[:, j] for j, name in enumerate(data.coords["judge"])}
        unit = f"{of}, +1 sd of {number}"
        for judge, values in whose.items():
            draws = xr.DataArray(
                values.reshape(posterior.sizes["chain"], -1, 1), dims=("chain", "draw", "unit"), coords={"unit": [unit]}
            )
            found = summary_rows(draws, estimand="effect", n={unit: data.size("item")}, signed=True, **common)
            rows += [{**row, "judge": judge, "note": _EVEN} for row in found]
    return rows


def _changes(
    of: str, logit: NDArray[np.float64], formulas: Sequence[Formula], posterior: xr.Dataset, data: Data
) -> NDArray[np.float64]:
    """Changes of probabilities (D, J, I) from changes of logits (D, J·I)."""
    shape = (len(logit), data.size("judge"), data.size("item"))
    logit = logit.reshape(shape)
    if of == POSITION:
        (formula,) = (one for one in formulas if one.rate == POSITION)
        own = flat(posterior["position"])[:, data["position_of"], None]
        gamma = own + shift_draws(formula, posterior, data).reshape(shape)
        return np.asarray(np.tanh((gamma + logit) / 2) - np.tanh(gamma / 2))
    kappa = np.ones((1, 1, 1))
    if "judge_decisiveness" in posterior:
        log = flat(posterior["judge_decisiveness"])
        kappa = np.exp(log - log.mean(axis=1, keepdims=True))[..., None]
    return np.asarray(np.tanh(kappa * logit / 2) / 2)


def category_parts(part: VerdictDraws) -> Iterator[tuple[str, VerdictDraws]]:
    """The units of each category that formulas group items by."""
    for k, category in enumerate(part.data.coords.get("of_category", ())):
        mine = np.asarray(part.data["member"])[part.units[:, 1], k] > 0
        if mine.any():
            yield str(category), part.where(mine)
