"""What a posterior of `paired_accuracy` says of the estimands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesjudge.estimates import Estimates
from bayesjudge.model import Data
from bayesjudge.models.channel_results import (
    channel_quality,
    headline,
    logistic_normal_mean,
    quality_rows,
)
from bayesjudge.posterior import differences, summary_rows

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["accuracy", "estimates", "quantities"]


def estimates(posterior: xr.Dataset, data: Data, *, prob: float, method: str) -> Estimates:
    """Accuracy of each model, difference of each pair, then the judge's quality on each model."""
    theta, n = accuracy(posterior, data), data.units
    rows = summary_rows(theta, estimand="accuracy", method=method, prob=prob, n=n)
    rows += summary_rows(
        differences(theta, "model"), estimand="difference", method=method, prob=prob, n=n, signed=True
    )
    quality = channel_quality(posterior, "model", data.coords["model"])
    return Estimates.from_rows(rows + quality_rows(quality, method=method, prob=prob, n=n))


def quantities(posterior: xr.Dataset, data: Data) -> dict[str, xr.DataArray]:
    """Draws of what the answer rests on: accuracies, differences, Youden's J."""
    quality = channel_quality(posterior, "model", data.coords["model"])
    return headline(accuracy(posterior, data), quality["youden"])


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
