"""The adjustment of `judge_error` for items that models share: H and V* of its likelihood, moved draws."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from bayesjudge.counts.pair_cells import CELLS
from bayesjudge.model import Data
from bayesjudge.models.common.shared_items import LEAST_DF, adjust, exact_margins, item_covariance
from bayesjudge.models.common.verdict_channel import channel_logit
from bayesjudge.models.judge_error.likelihood import information, scores

if TYPE_CHECKING:
    import xarray as xr


type Array = NDArray[np.float64]

#: The parameters of a unit, in their order.
RATES = ("theta", "sensitivity", "specificity")


@dataclass(frozen=True, eq=False, kw_only=True)
class SharedItems:
    """What items that models share do to one log, at a point of its parameters (U units, P = 3 U).

    information, variance: H, and V* of METHODS 1.9b; parameters of a unit next to each other, in the order of `RATES`.
    df: Degrees of freedom of each parameter's t factor: accuracy's by the labelled items of the unit with the fewest,
        sensitivity's by the unit's labelled right answers, specificity's by its wrong ones.
    design_effect: Of each rate averaged over the models, by the labelled items: variance relative to independent
        answers.
    """

    information: Array
    variance: Array
    df: NDArray[np.float64]
    design_effect: Mapping[str, float]


def shared_items(centre: Array, data: Data, *, enriched: bool) -> SharedItems:
    """H and V* at one point, logits (U, 3)."""
    rates = expit(centre)
    n = np.asarray(data["n"], dtype=float).reshape(len(centre), len(CELLS))
    h = _between_no_units(information(*rates.T, n=n, enriched=enriched))
    score = _between_no_units(scores(*rates.T, enriched=enriched))
    block = np.repeat(np.arange(len(centre)), len(RATES))
    cells = {name: np.asarray(data[name]) for name in ("together", "sums", "items")}
    weighted = data.facts["weighted"]
    if weighted:
        # Which items carry a label is itself drawn, so that they are no stratum.
        cells = {name: array.sum(axis=0, keepdims=True) for name, array in cells.items()}
    v = exact_margins(item_covariance(score, **cells), h, block, widen_only=not data.facts["exact"])
    behind = np.asarray(data["behind"])
    fewest = float(behind[behind > 0].min()) if behind.any() else 0.0
    if weighted and fewest > 1:
        v = v * fewest / (fewest - 1)
    # What the labelled items are worth is a question to them alone, and with weights to their labels.
    given = np.array([0, 0, 1, 1, 1, 1])
    about = score * np.tile(given, len(centre))[:, None] if weighted else score
    alone = item_covariance(about, **{name: array[-1:] for name, array in cells.items()})
    own = information(*rates.T, n=n * given, enriched=enriched)
    effect = {name: float(alone[k::3, k::3].sum() / max(own[:, k, k].sum(), 1e-12)) for k, name in enumerate(RATES)}
    df = _degrees(n, centre, fewest=fewest)
    return SharedItems(information=h, variance=v, df=df, design_effect=effect)


def _degrees(n: Array, centre: Array, *, fewest: float) -> Array:
    """Degrees of freedom (3 U,): how a judge errs on right, or wrong, answers shows on those labelled so alone."""
    right, wrong = n[:, 4:].sum(axis=1), n[:, 2:4].sum(axis=1)
    informing = np.stack([right + wrong, right, wrong], axis=1)
    # A rate that the units share is one parameter, of which all their labels say something.
    informing = np.where(np.ptp(centre, axis=0) == 0, informing.sum(axis=0), informing)
    informing[:, 0] = fewest
    informing[right + wrong == 0] = fewest
    return np.asarray(np.maximum(np.floor(np.minimum(informing, fewest)).reshape(-1) - 1, LEAST_DF))


def adjusted(posterior: xr.Dataset, data: Data, *, enriched: bool, seed: int = 0) -> xr.Dataset:
    """Draws of ``theta, sensitivity, specificity`` of each unit, dims ``chain, draw`` and the unit's.

    The draws of the composite posterior are moved on the logit scale; with one model only the t factor is
    new.
    """
    import xarray as xr

    flat, theta = _logits(posterior, data)
    shared = _at_the_mean(flat, data, enriched=enriched)
    moved = adjust(flat, information=shared.information, variance=shared.variance, df=shared.df, seed=seed)
    rates = expit(moved.reshape(*theta.shape, len(RATES)))
    return xr.Dataset({name: theta.copy(data=rates[..., k]) for k, name in enumerate(RATES)})


def unadjusted(posterior: xr.Dataset, data: Data) -> xr.Dataset:
    """Draws of the rates of each unit as they were sampled."""
    flat, theta = _logits(posterior, data)
    rates = expit(flat.reshape(*theta.shape, len(RATES)))
    return theta.to_dataset(name="theta").assign({name: (theta.dims, rates[..., k]) for k, name in enumerate(RATES)})


def describe(posterior: xr.Dataset, data: Data, *, enriched: bool) -> dict[str, Any]:
    """Facts of the adjustment for a manifest.

    ``df``; of each rate ``design_effect``, and ``effective_answers``: labelled answers over that; the
    smallest and the largest eigenvalue of H^−½ V* H^−½, which are 1 where no items are shared. Accuracy's
    effect has a 95 % interval, by Student's t on the log scale.
    """
    shared = _at_the_mean(_logits(posterior, data)[0], data, enriched=enriched)
    n = np.asarray(data["n"], dtype=float).reshape(-1, len(CELLS)).sum(axis=0)
    answers = {"theta": n[2:].sum(), "sensitivity": n[4:].sum(), "specificity": n[2:4].sum()}
    effect = {name: value for name, value in shared.design_effect.items() if answers[name] and value > 0}
    ends = {name: _interval(effect[name], data) for name in ("theta",) if name in effect}
    return {
        "df": dict(zip(RATES, shared.df.reshape(-1, len(RATES)).min(axis=0).tolist(), strict=True)),
        "labelled_items": int(np.asarray(data["items"])[1]),
        "labelled_answers": {name: round(float(answers[name]), 1) for name in effect},
        "design_effect": {name: round(value, 4) for name, value in effect.items()},
        "effective_answers": {name: round(float(answers[name] / value), 1) for name, value in effect.items()},
        "design_effect_95": {name: [round(end, 4) for end in found] for name, found in ends.items() if found},
        "effective_answers_95": {
            name: [round(float(answers[name] / end), 1) for end in reversed(found)]
            for name, found in ends.items()
            if found
        },
        "eigenvalues": _relative(shared),
    }


def _interval(effect: float, data: Data) -> list[float]:
    """Ends of the design effect's interval, none where labelled items do not show its error."""
    from scipy.stats import t

    error, items = float(data["log_effect_error"]), int(np.asarray(data["items"])[1])
    if not np.isfinite(error):
        return []
    away = float(t.ppf(0.975, items - 1)) * error
    return [effect * math.exp(-away), effect * math.exp(away)]


def _relative(shared: SharedItems) -> list[float]:
    values, vectors = np.linalg.eigh(shared.information)
    kept = values > 1e-9 * values.max()
    half = vectors[:, kept] / np.sqrt(values[kept])
    found = np.linalg.eigvalsh(half.T @ shared.variance @ half)
    return [round(float(found.min()), 4), round(float(found.max()), 4)]


def _at_the_mean(flat: Array, data: Data, *, enriched: bool) -> SharedItems:
    return shared_items(flat.mean(axis=0).reshape(-1, len(RATES)), data, enriched=enriched)


def _logits(posterior: xr.Dataset, data: Data) -> tuple[Array, xr.DataArray]:
    """Draws (D, 3 U) of the logits as they were sampled, and those of θ with their names."""
    dim = data.facts["unit"]
    theta = posterior["theta"].transpose("chain", "draw", dim)
    shares = theta.to_numpy()
    logits = [np.log(shares) - np.log1p(-shares)]
    for name in RATES[1:]:
        logit = channel_logit(posterior, data, name, dim).isel(judge=0, drop=True)
        logits.append(np.broadcast_to(logit.transpose("chain", "draw", dim).to_numpy(), shares.shape))
    return np.stack(logits, axis=-1).reshape(-1, shares.shape[-1] * len(RATES)), theta


def _between_no_units(own: Array) -> Array:
    """Blocks of units (U, rows, columns) as one matrix (U rows, U columns) that is 0 between units."""
    units, rows, columns = own.shape
    found = np.zeros((units, rows, units, columns))
    found[np.arange(units), :, np.arange(units)] = own
    return found.reshape(units * rows, units * columns)
