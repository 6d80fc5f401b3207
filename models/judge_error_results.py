"""What a posterior of `judge_error` says of the estimands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.estimates import Estimates
from bayesjudge.model import Data
from bayesjudge.models.channel_results import channel_quality, logistic_normal_mean, quality_rows
from bayesjudge.posterior import differences, summary_rows

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["accuracy", "estimates"]


def estimates(posterior: xr.Dataset, data: Data, *, prob: float, method: str) -> Estimates:
    """Accuracy and difference of models, overall and by group, then the quality of each judge."""
    dim = data.facts["unit"]
    rows = _accuracy_rows(accuracy(posterior, data), method=method, prob=prob, n=data.units)
    by_unit = _unit_accuracy(posterior, data)
    quality = channel_quality(posterior, dim, data.coords[dim])
    for group in data.coords["group"] if dim == "model_group" else ():
        n = {model: data.units[f"{model} | {group}"] for model in data.coords["model"]}
        part = _within(by_unit, group, data)
        rows += _accuracy_rows(part, method=method, prob=prob, n=n, group=group)
        parts = {name: _within(draws, group, data) for name, draws in quality.items()}
        rows += quality_rows(parts, method=method, prob=prob, n=n, group=group)
    if dim == "model":
        rows += quality_rows(quality, method=method, prob=prob, n=data.units)
    return Estimates.from_rows(rows)


def accuracy(posterior: xr.Dataset, data: Data) -> xr.DataArray:
    """Accuracy of each model, dims ``chain, draw, model``; groups weigh by their share of its answers."""
    import xarray as xr

    theta = _unit_accuracy(posterior, data)
    if data.facts["unit"] == "model":
        return theta
    share = xr.DataArray(np.asarray(data["share"]), dims="model_group")
    parts = [_within(theta * share, group, data) for group in data.coords["group"]]
    total: xr.DataArray = sum(parts[1:], parts[0])
    return total


def _unit_accuracy(posterior: xr.Dataset, data: Data) -> xr.DataArray:
    """θ of each unit, averaged over clusters where items come in clusters."""
    theta: xr.DataArray = posterior["theta"]
    if data.facts["clusters"]:
        theta = logistic_normal_mean(np.log(theta) - np.log1p(-theta), posterior["accuracy_spread"])
    return theta


def _within(draws: xr.DataArray, group: str, data: Data) -> xr.DataArray:
    """The units of one group, along a dim ``model``."""
    models, groups = data.coords["model"], data.coords["group"]
    chosen = [k * len(groups) + groups.index(group) for k in range(len(models))]
    return draws.isel(model_group=chosen).rename(model_group="model").assign_coords(model=list(models))


def _accuracy_rows(
    theta: xr.DataArray, *, method: str, prob: float, n: Any, group: str = ""
) -> list[dict[str, Any]]:
    extra, delta = {"group": group}, differences(theta, "model")
    rows = summary_rows(theta, estimand="accuracy", method=method, prob=prob, n=n, extra=extra)
    return rows + summary_rows(
        delta, estimand="difference", method=method, prob=prob, n=n, extra=extra, signed=True
    )
