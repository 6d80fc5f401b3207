"""What a posterior of `judge_error` says of the estimands, and the statistics its users look at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.estimates import Estimates
from bayesjudge.model import Data, Statistic
from bayesjudge.models.verdict_channel import gauss_hermite
from bayesjudge.posterior import differences, summary_rows

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["STATISTICS", "estimates"]


def estimates(posterior: xr.Dataset, data: Data, *, prob: float, method: str) -> Estimates:
    """Accuracy and difference of models, then sensitivity, specificity, Youden's J and ΔJ of each judge."""
    dim = data.facts["unit"]
    theta, quality = accuracy(posterior, data), judge_quality(posterior, data)
    options = {"method": method, "prob": prob, "n": data.units}
    rows: list[dict[str, Any]] = []
    if dim != "model":
        rows += _grouped(summary_rows(theta, estimand="accuracy", **options))
        theta = _over_groups(theta, data)
    overall = summary_rows(theta, estimand="accuracy", **options)
    rows = overall + rows + summary_rows(differences(theta, "model"), estimand="difference", signed=True, **options)
    for judge in data.coords["judge"]:
        extra = {"judge": str(judge)}
        for name, draws in quality.items():
            one = draws.sel(judge=judge, drop=True)
            rows += _grouped(summary_rows(one, estimand=name, signed=name == "youden", extra=extra, **options))
        delta = differences(quality["youden"].sel(judge=judge, drop=True), dim)
        rows += summary_rows(delta, estimand="delta_youden", signed=True, extra=extra, **options)
    return Estimates.from_rows(rows)


def accuracy(posterior: xr.Dataset, data: Data) -> xr.DataArray:
    """θ of each unit, averaged over clusters where items come in clusters."""
    theta = posterior["theta"]
    if not data.facts["clustered"]:
        return theta
    logit = np.log(theta) - np.log1p(-theta)
    return _cluster_mean(logit, posterior["cluster_spread_accuracy"])


def judge_quality(posterior: xr.Dataset, data: Data) -> dict[str, xr.DataArray]:
    """Sensitivity, specificity and Youden's J of each judge on each unit."""
    logits = {name: _logit(posterior, data, name) for name in ("sensitivity", "specificity")}
    if data.facts["clustered"]:
        spread = posterior["cluster_spread_leniency"]
        quality = {name: _cluster_mean(logit, spread) for name, logit in logits.items()}
    else:
        quality = {name: 1 / (1 + np.exp(-logit)) for name, logit in logits.items()}
    return {**quality, "youden": quality["sensitivity"] + quality["specificity"] - 1}


def _logit(posterior: xr.Dataset, data: Data, name: str) -> xr.DataArray:
    import xarray as xr

    dim = data.facts["unit"]
    if f"logit_{name}" in posterior:
        return posterior[f"logit_{name}"]
    mu = posterior[f"mu_{name}"]
    if f"z_{name}" in posterior:
        return mu + posterior[f"tau_{name}"] * posterior[f"z_{name}"]
    return mu * xr.DataArray(np.ones(len(data.coords[dim])), dims=dim, coords={dim: list(data.coords[dim])})


def _cluster_mean(logit: xr.DataArray, spread: xr.DataArray) -> xr.DataArray:
    """Mean of σ(logit + spread·u) over u ~ N(0, 1): what a cluster drawn at random shows."""
    nodes, log_w = gauss_hermite(21)
    return sum(np.exp(w) / (1 + np.exp(-(logit + spread * node))) for node, w in zip(nodes, log_w, strict=True))


def _over_groups(theta: xr.DataArray, data: Data) -> xr.DataArray:
    """Accuracy of each model over its groups, weighted by their share of its answers."""
    import xarray as xr

    models = [str(name).rsplit(" | ", 1)[0] for name in data.coords["model_group"]]
    weighted = theta * xr.DataArray(np.asarray(data["share"]), dims="model_group")
    weighted = weighted.assign_coords(model=("model_group", models))
    return weighted.groupby("model").sum()


def _grouped(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows whose unit ``model | group`` is split into unit and group."""
    out = []
    for row in rows:
        unit, _, group = row["unit"].rpartition(" | ") if " | " in row["unit"] else (row["unit"], "", "")
        out.append({**row, "unit": unit, "group": group})
    return out


def _by_unit(counts: Any, data: Data, chosen: Any, over: Any) -> dict[str, Any]:
    """Share of the counts ``over`` that are ``chosen``, for each unit; 0 of 0 is not shown."""
    names, unit = data.coords[data.facts["unit"]], np.asarray(data["unit"])
    out = {}
    for k, name in enumerate(names):
        whole = (counts * (over & (unit == k))).sum(-1)
        part = (counts * (chosen & over & (unit == k))).sum(-1)
        if np.all(whole > 0):
            out[str(name)] = part / whole
    return out


def _verdict_rate(counts: Any, data: Data) -> dict[str, Any]:
    """Mean over judges and answers of the share of runs that said 1."""
    runs, positives = np.asarray(data["runs"]).sum(1), np.asarray(data["positives"]).sum(1)
    names, unit = data.coords[data.facts["unit"]], np.asarray(data["unit"])
    return {
        str(name): (counts * (positives * (unit == k))).sum(-1) / (counts * (runs * (unit == k))).sum(-1)
        for k, name in enumerate(names)
        if np.any(runs[unit == k])
    }


def _majority(data: Data) -> tuple[Any, Any]:
    runs, positives = np.asarray(data["runs"]).sum(1), np.asarray(data["positives"]).sum(1)
    return positives * 2 > runs, np.asarray(data["label"])


def _true_positive(counts: Any, data: Data) -> dict[str, Any]:
    yes, label = _majority(data)
    return _by_unit(counts, data, yes & (label == 1), label >= 0)


def _false_positive(counts: Any, data: Data) -> dict[str, Any]:
    yes, label = _majority(data)
    return _by_unit(counts, data, yes & (label == 0), label >= 0)


def _labelled_accuracy(counts: Any, data: Data) -> dict[str, Any]:
    _, label = _majority(data)
    return _by_unit(counts, data, label == 1, label >= 0)


def _unlabelled_rate(counts: Any, data: Data) -> dict[str, Any]:
    yes, label = _majority(data)
    return _by_unit(counts, data, yes, label < 0)


STATISTICS: Mapping[str, Statistic] = {
    "verdict rate": _verdict_rate,
    "verdict rate, unlabelled": _unlabelled_rate,
    "labelled: correct": _labelled_accuracy,
    "labelled: correct, judged correct": _true_positive,
    "labelled: wrong, judged correct": _false_positive,
}
