"""Accuracy on exactly these items by `judge_error`: labels where known, draws given the verdicts elsewhere.

Given the parameters, answers are independent, and one without a label is right with probability

    P(y = 1 | v) = θ_m P(v | y = 1) / (θ_m P(v | y = 1) + (1 − θ_m) P(v | y = 0)),

so of the n answers that show one pattern of verdicts, Binomial(n, P(y = 1 | v)) are right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.models.common.at_draws import at_draws

if TYPE_CHECKING:
    import xarray as xr

    from bayesjudge.model import Data

__all__ = ["unit_accuracy"]


def unit_accuracy(
    log_joint: Callable[[], Any], posterior: xr.Dataset, data: Data, *, seed: int
) -> xr.DataArray:
    """Share of right answers in each unit, dims ``chain, draw`` and the unit's.

    Parameters
    ----------
    log_joint : callable
        Samples the model's sites and returns log P(y, v) of every pattern, (2, patterns), y = 0 first.
    posterior, data
        Draws and the patterns they were fitted to.
    seed : int
        Of the draws of unknown labels.

    Notes
    -----
    A unit without answers has no such share, and NaN.
    """
    import xarray as xr

    def right(_: Any) -> Any:
        import jax

        wrong, correct = log_joint()
        return jax.nn.sigmoid(correct - wrong)

    p, label, n = at_draws(right, posterior), np.asarray(data["label"]), np.asarray(data["n"])
    drawn = np.random.default_rng(seed).binomial(np.where(label < 0, n, 0), p)
    dim, unit = data.facts["unit"], np.asarray(data["unit"])
    of_unit = unit[:, None] == np.arange(data.size(dim))
    size = n @ of_unit
    share = np.divide((drawn + n * (label == 1)) @ of_unit, size, where=size > 0,
                      out=np.full((*p.shape[:2], len(size)), np.nan))  # fmt: skip
    return xr.DataArray(share, dims=("chain", "draw", dim), coords={dim: list(data.coords[dim])})
