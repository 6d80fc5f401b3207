"""What a posterior says of a judge, for any model with the verdict channel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.estimates.posterior import differences, summary_rows
from bayesjudge.models.common.verdict_runs import gauss_hermite

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "channel_logit",
    "channel_quality",
    "headline",
    "logistic_normal_mean",
    "quality_rows",
    "shared_spread",
]


def channel_quality(posterior: xr.Dataset, dim: str, names: tuple[str, ...]) -> dict[str, xr.DataArray]:
    """Sensitivity, specificity and Youden's J, dims ``chain, draw, judge`` and ``dim``.

    Where answers share effects on the judge (clusters, how easy an answer is to judge), these are the
    probabilities for an answer drawn at random, so the effects are averaged over.
    """
    logits = {name: channel_logit(posterior, name, dim, names) for name in ("sensitivity", "specificity")}
    spread = shared_spread(posterior)
    quality = {name: logistic_normal_mean(logit, spread) for name, logit in logits.items()}
    return {**quality, "youden": quality["sensitivity"] + quality["specificity"] - 1}


def headline(theta: xr.DataArray, youden: xr.DataArray) -> dict[str, xr.DataArray]:
    """Draws of what the answer rests on: every accuracy, every difference, and J of each judge."""
    found = {"accuracy": theta, "youden": youden}
    return found if theta.sizes["model"] == 1 else {**found, "difference": differences(theta, "model")}


def channel_logit(posterior: xr.Dataset, name: str, dim: str, names: tuple[str, ...]) -> Any:
    """Logit of ``sensitivity`` or ``specificity`` without effects that answers share."""
    import xarray as xr

    if f"logit_{name}" in posterior:
        return posterior[f"logit_{name}"]
    if f"z_{name}" in posterior:
        return posterior[f"mu_{name}"] + posterior[f"tau_{name}"] * posterior[f"z_{name}"]
    return posterior[f"mu_{name}"] * xr.DataArray(np.ones(len(names)), dims=dim, coords={dim: list(names)})


def shared_spread(posterior: xr.Dataset) -> Any:
    """Standard deviation of what answers share, in logits; independent normal effects add in squares."""
    parts = [posterior[name] ** 2 for name in ("leniency_spread", "ease_spread") if name in posterior]
    return np.sqrt(sum(parts[1:], parts[0])) if parts else None


def logistic_normal_mean(logit: Any, spread: Any) -> Any:
    """Mean of σ(logit + spread·u) over u ~ N(0, 1); without a spread, σ(logit).

    Examples
    --------
    >>> round(float(logistic_normal_mean(0.0, 2.0)), 12)
    0.5
    """
    if spread is None:
        return 1 / (1 + np.exp(-logit))
    nodes, log_w = gauss_hermite(21)
    return sum(
        np.exp(w) / (1 + np.exp(-(logit + spread * node))) for node, w in zip(nodes, log_w, strict=True)
    )


def quality_rows(
    quality: Mapping[str, xr.DataArray], *, method: str, prob: float, n: Mapping[str, int], group: str = ""
) -> list[dict[str, Any]]:
    """Rows of each judge's quality on each model, and of ΔJ for each pair of models (dim ``model``)."""
    rows = []
    for judge in quality["youden"]["judge"].to_numpy():
        extra = {"judge": str(judge), "group": group}
        alone = {name: draws.sel(judge=judge, drop=True) for name, draws in quality.items()}
        for name, draws in alone.items():
            rows += summary_rows(draws, estimand=name, method=method, prob=prob, n=n, extra=extra,
                                 signed=name == "youden")  # fmt: skip
        rows += summary_rows(differences(alone["youden"], "model"), estimand="delta_youden", method=method,
                             prob=prob, n=n, extra=extra, signed=True)  # fmt: skip
    return rows
