"""Moments, over responses, of what a formula adds to scores: from moments of its design, whatever their number.

With x_rb the row of response r in block b and β a draw, the mean of x_rb β over r is x̄_b β, and the covariance of two
blocks' is β' C_bc β with C_bc that of their rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.effects import Formula
from bayesjudge.model import Data
from bayesjudge.models.common.added_terms import coefficients_of

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True, eq=False, kw_only=True)
class Moments:
    """Draws by block of what a formula adds, on the scale on which it is added; 0 without one.

    mean, variance: Over the responses of each block.
    shared: Covariance of two blocks, summed over all ordered pairs; without the dimension of blocks.
    """

    mean: xr.DataArray | float
    variance: xr.DataArray | float
    shared: xr.DataArray | float


NOTHING = Moments(mean=0.0, variance=0.0, shared=0.0)


def moments(formula: Formula | None, posterior: xr.Dataset, data: Data) -> Moments:
    """Moments of what a formula adds."""
    if formula is None:
        return NOTHING
    beta, design, there = _coefficients(formula, posterior, data), _by_block(data), _scored(data)
    weight = there / there.sum(axis=1, keepdims=True)
    mean = np.einsum("bt,btp->bp", weight, design)
    centred = (design - mean[:, None]) * np.sqrt(weight)[..., None]
    value = np.stack([_square(beta, one.T @ one) for one in centred], axis=-1)
    # Of all pairs of blocks, those with themselves left out.
    among = [_square(beta, one.T @ centred.sum(axis=0) - one.T @ one) for one in centred]
    return Moments(
        mean=_drawn(beta @ mean.T, posterior, data),
        variance=_drawn(value, posterior, data),
        shared=_drawn(np.stack(among, axis=-1), posterior, data).sum("block"),
    )


def category_means(
    formula: Formula, posterior: xr.Dataset, data: Data
) -> dict[str, tuple[xr.DataArray, NDArray[np.int64]]]:
    """Mean of what the formula adds over the responses of each category, and how many each block scored.

    Where it scored none the mean is 0.
    """
    if "member" not in data.arrays:
        return {}
    beta, design, there = _coefficients(formula, posterior, data), _by_block(data), _scored(data)
    found = {}
    for category, mine in zip(data.coords["of_category"], np.asarray(data["member"]).T, strict=True):
        size = (there * mine).sum(axis=1)
        mean = np.einsum("bt,btp->bp", there * mine / np.maximum(size, 1)[:, None], design)
        found[str(category)] = _drawn(beta @ mean.T, posterior, data), size.astype(np.int64)
    return found


def mean_changes(formula: Formula, posterior: xr.Dataset, data: Data) -> dict[str, xr.DataArray]:
    """Mean over responses of what one more standard deviation of each number adds."""
    beta, there = _coefficients(formula, posterior, data), _scored(data)
    weight = there / there.sum(axis=1, keepdims=True)
    found = {}
    for k, (_, number) in enumerate(data.facts["changes"], start=1):
        mean = np.einsum("bt,btp->bp", weight, _by_block(data, f"change_{k}"))
        found[number] = _drawn(beta @ mean.T, posterior, data)
    return found


def _coefficients(formula: Formula, posterior: xr.Dataset, data: Data) -> NDArray[np.float64]:
    """Draws (D, P), in score points where scores are numbers."""
    per = float(np.asarray(data["scale"])[0]) if "scale" in data.arrays else 1.0
    return per * coefficients_of(formula).draws(posterior, data)


def _by_block(data: Data, name: str = "design_score") -> NDArray[np.float64]:
    """A design as (blocks, responses, P)."""
    matrix = np.asarray(data[name])
    return matrix.reshape(len(data.coords["block"]), -1, matrix.shape[1])


def _scored(data: Data) -> NDArray[np.float64]:
    """1 where a block scored a response, (blocks, responses)."""
    n = np.asarray(data["n"]).T if "n" in data.arrays else np.reshape(data["total"], (len(data.coords["block"]), -1))
    return np.asarray(n > 0, dtype=np.float64)


def _square(beta: NDArray[np.float64], matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(((beta @ matrix) * beta).sum(axis=1))


def _drawn(values: NDArray[np.float64], posterior: xr.Dataset, data: Data) -> Any:
    """Draws (D, blocks) with their names."""
    import xarray as xr

    shape = (posterior.sizes["chain"], posterior.sizes["draw"], -1)
    names = list(data.coords["block"])
    return xr.DataArray(values.reshape(shape), dims=("chain", "draw", "block"), coords={"block": names})
