"""What a posterior of `judge_error` says of the estimands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.estimates import Estimates, Population
from bayesjudge.estimates.posterior import accuracy_rows
from bayesjudge.model import Data
from bayesjudge.models.common.channel_results import channel_quality, logistic_normal_mean, quality_rows

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["estimates", "overall", "unit_accuracy"]


def estimates(
    theta: xr.DataArray, posterior: xr.Dataset, data: Data, *, prob: float, method: str,
    population: Population,
) -> Estimates:  # fmt: skip
    """Accuracy and difference of models, overall and by group, then the quality of each judge.

    ``theta`` holds the accuracy of each unit on the population.
    """
    dim: str = data.facts["unit"]
    common: dict[str, Any] = {"method": method, "prob": prob}
    rows = accuracy_rows(overall(theta, data), n=data.units, population=population, **common)
    quality = channel_quality(posterior, dim, data.coords[dim])
    for group in data.coords["group"] if dim == "model_group" else ():
        n = {model: data.units[f"{model} | {group}"] for model in data.coords["model"]}
        part = _answered(_within(theta, group, data))
        rows += accuracy_rows(part, n=n, population=population, group=group, **common)
        parts = {name: _within(draws, group, data) for name, draws in quality.items()}
        rows += quality_rows(parts, n=n, group=group, **common)
    if dim == "model":
        rows += quality_rows(quality, n=data.units, **common)
    return Estimates.from_rows(rows)


def overall(theta: xr.DataArray, data: Data) -> xr.DataArray:
    """Accuracy of each model, dims ``chain, draw, model``; groups weigh by their share of its answers."""
    import xarray as xr

    if data.facts["unit"] == "model":
        return theta
    share = xr.DataArray(np.asarray(data["share"]), dims="model_group")
    parts = [_within((theta * share).fillna(0.0), group, data) for group in data.coords["group"]]
    total: xr.DataArray = sum(parts[1:], parts[0])
    return total


def unit_accuracy(posterior: xr.Dataset, data: Data) -> xr.DataArray:
    """θ of each unit, averaged over clusters where items come in clusters."""
    theta: xr.DataArray = posterior["theta"]
    if data.facts["clusters"]:
        theta = logistic_normal_mean(np.log(theta) - np.log1p(-theta), posterior["accuracy_spread"])
    return theta


def _answered(theta: xr.DataArray) -> xr.DataArray:
    """Without models that have no answers here: of exactly these items there is nothing to say."""
    return theta.isel(model=np.isfinite(theta.isel(chain=0, draw=0).to_numpy()))


def _within(draws: xr.DataArray, group: str, data: Data) -> xr.DataArray:
    """The units of one group, along a dim ``model``."""
    models, groups = data.coords["model"], data.coords["group"]
    chosen = [k * len(groups) + groups.index(group) for k in range(len(models))]
    return draws.isel(model_group=chosen).rename(model_group="model").assign_coords(model=list(models))
