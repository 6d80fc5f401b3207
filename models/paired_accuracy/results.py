"""What a posterior of `paired_accuracy` says of the estimands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.estimates import Estimates, Population
from bayesjudge.estimates.posterior import accuracy_rows
from bayesjudge.model import Data
from bayesjudge.models.common.channel_results import (
    channel_logit,
    channel_quality,
    headline,
    logistic_normal_mean,
    quality_rows,
    shared_spread,
)
from bayesjudge.models.common.verdict_runs import gauss_hermite

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["accuracy", "estimates", "quantities"]


def estimates(
    theta: xr.DataArray, posterior: xr.Dataset, data: Data, *, prob: float, method: str,
    population: Population,
) -> Estimates:  # fmt: skip
    """Accuracy of each model, difference of each pair, then the judge's quality on each model."""
    common: dict[str, Any] = {"method": method, "prob": prob, "n": data.units}
    rows = accuracy_rows(theta, population=population, **common)
    return Estimates.from_rows(rows + quality_rows(_quality(posterior, data), **common))


def quantities(posterior: xr.Dataset, data: Data) -> dict[str, xr.DataArray]:
    """Draws of what the answer rests on: accuracies, differences, Youden's J."""
    return headline(accuracy(posterior, data), _quality(posterior, data)["youden"])


def _quality(posterior: xr.Dataset, data: Data) -> dict[str, xr.DataArray]:
    if data.facts["form"] == "two models":
        return channel_quality(posterior, "model", data.coords["model"])
    return _item_quality(posterior, data)


def accuracy(posterior: xr.Dataset, data: Data) -> xr.DataArray:
    """Draws of each model's accuracy, dims ``chain, draw, model``."""
    import xarray as xr

    if data.facts["form"] == "items":
        averaged: xr.DataArray = logistic_normal_mean(posterior["alpha"], posterior["item_spread"])
        return averaged
    stick = posterior["stick"]
    both, first, second = (stick.sel(step=step, drop=True) for step in data.coords["step"])
    rest = (1 - both) * (1 - first) * second
    theta = xr.concat([both + (1 - both) * first, both + rest], dim="model")
    return theta.assign_coords(model=list(data.coords["model"])).transpose("chain", "draw", "model")


def _item_quality(posterior: xr.Dataset, data: Data) -> dict[str, xr.DataArray]:
    """Judge quality over all items: the judge's leniency and the answers' correctness both move with u.

    ``q1 = E_u[P(y=1|u) P(v=1|y=1,u)] / E_u[P(y=1|u)]``, and q0 alike.
    """
    logit_1, logit_0 = (channel_logit(posterior, name, "model", data.coords["model"])
                        for name in ("sensitivity", "specificity"))  # fmt: skip
    lenient, spread = posterior["item_leniency"], shared_spread(posterior)
    found: Any = 0.0
    rejected: Any = 0.0
    right: Any = 0.0
    for u, log_w in zip(*gauss_hermite(), strict=True):
        p: Any = np.exp(log_w) / (1 + np.exp(-(posterior["alpha"] + posterior["item_spread"] * u)))
        right = right + p
        found = found + p * logistic_normal_mean(logit_1 + lenient.sel(label=1, drop=True) * u, spread)
        wrong = np.exp(log_w) - p
        rejected = rejected + wrong * logistic_normal_mean(
            logit_0 - lenient.sel(label=0, drop=True) * u, spread
        )
    quality = {"sensitivity": found / right, "specificity": rejected / (1 - right)}
    return {**quality, "youden": quality["sensitivity"] + quality["specificity"] - 1}
