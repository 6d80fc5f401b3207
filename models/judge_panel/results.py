"""What a posterior of `judge_panel` says: accuracies and differences on both populations, judges' weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.estimates import POPULATIONS, Estimates
from bayesjudge.estimates.posterior import accuracy_rows, summary_rows

if TYPE_CHECKING:
    import xarray as xr

    from bayesjudge.model import Data

__all__ = ["estimates", "judge_weights"]

#: Labelled answers below which the labels have hardly been heard.
FEW_LABELS = 10


def estimates(posterior: xr.Dataset, data: Data, *, prob: float, method: str) -> Estimates:
    """Accuracies and differences on both populations, overall and by group, then every judge's weight."""
    from bayesjudge.models.judge_panel.population import accuracy_draws

    rows: list[dict[str, Any]] = []
    for population in POPULATIONS:
        overall, by_group = accuracy_draws(posterior, data, population=population)
        rows += accuracy_rows(overall, population=population, method=method, prob=prob, n=data.units)
        for group in data.coords["group"] if len(data.coords["group"]) > 1 else ():
            part = by_group.sel(group=group, drop=True)
            part = part.isel(model=np.isfinite(part.isel(chain=0, draw=0).to_numpy()))
            n = {model: data.units[f"{model} | {group}"] for model in data.coords["model"]}
            rows += accuracy_rows(
                part, population=population, method=method, prob=prob, n=n, group=str(group)
            )
    weights = judge_weights(posterior)
    n = {judge: data.units[f"votes:{judge}"] for judge in data.coords["judge"]}
    rows += summary_rows(weights, estimand="judge weight", method=method, prob=prob, n=n, signed=True)
    return _noted(Estimates.from_rows(rows), data)


def judge_weights(posterior: xr.Dataset) -> xr.DataArray:
    """Draws of β_j: by how many logits a yes of judge j rather than a no moves the answer, the others fixed.

    Dims ``chain, draw, judge``. A judge whose votes others repeat shares their weight, so a small weight says
    redundant or uninformative, not which of the two.
    """
    return posterior["weight_mean"] + posterior["weight_spread"] * posterior["z_weight"]


def _noted(table: Estimates, data: Data) -> Estimates:
    """Warnings about the labels in the rows that they concern."""
    labels = np.asarray(data["label"])[np.asarray(data["answer_n"]) > 0]
    everywhere = []
    if not len(labels):
        everywhere.append("no human label: this is what the prior makes of the votes")
    elif len(labels) < FEW_LABELS:
        everywhere.append(f"only {len(labels)} labelled answers")
    elif labels.min() == labels.max():
        everywhere.append(f"all {len(labels)} labels are {labels[0]}")
    for text in everywhere:
        table = table.with_note(text)
    bare = {model for model in data.coords["model"] if not data.units[f"labelled:{model}"]}
    silent = {judge for judge in data.coords["judge"] if not data.units[f"votes:{judge}"]}
    bare = bare if len(labels) else set()
    rows = zip(*(table.frame[name] for name in ("note", "unit", "estimand")), strict=True)
    notes = [_joined(note, unit, estimand, bare, silent) for note, unit, estimand in rows]
    return table.with_column(note=notes)


def _joined(note: str, unit: str, estimand: str, bare: set[str], silent: set[str]) -> str:
    if estimand == "judge weight":
        added = ["it never voted: this is the prior"] if unit in silent else []
    else:
        own = [model for model in sorted(bare) if model in unit.split(" − ")]
        added = [f"no label on {model}: what other models' labels say of the judges is carried over"
                 for model in own]  # fmt: skip
    return "; ".join([*([note] if note else []), *added])
