"""What a posterior of `judge_error` says of the estimands, after the adjustment for shared items.

On exactly these items the accuracy of unit u is

    θ_u = (Σ labelled y + Σ unlabelled P(y = 1 | v, φ) + e_u)/N_u,      e ~ N(0, S),

with S the binomial variances of the answers without a label, and between models the correlation that the
residuals y − P(y = 1 | v) of labelled answers show over items.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.counts.pair_cells import CELLS
from bayesjudge.errors import UsageError
from bayesjudge.estimates import Population
from bayesjudge.estimates.posterior import EVERYWHERE, accuracy_quantities
from bayesjudge.model import Data, Statistic
from bayesjudge.models.common.verdict_channel import quality_quantities
from bayesjudge.models.judge_error.adjustment import RATES

if TYPE_CHECKING:
    import xarray as xr


type Array = NDArray[np.float64]


def quality(rates: xr.Dataset, data: Data) -> dict[str, xr.DataArray]:
    """Sensitivity, specificity and Youden's J, dims ``chain, draw, judge`` and the unit's."""
    judge = list(data.coords["judge"])
    found = {name: rates[name].expand_dims(judge=judge) for name in RATES[1:]}
    return {**found, "youden": found["sensitivity"] + found["specificity"] - 1}


def accuracy(rates: xr.Dataset, data: Data, population: Population, *, seed: int = 0) -> xr.DataArray:
    """Accuracy of each unit on a population; NaN on exactly these items where there are none."""
    theta: xr.DataArray = rates["theta"]
    if population == "items" and data.facts["weighted"]:
        raise UsageError(
            "population='items' needs labels that were drawn evenly: with label_probability the "
            "labelled items' weights speak of questions like these"
        )
    return theta if population == "superpopulation" else _of_items(rates, data, seed=seed)


def shifted(rates: xr.Dataset, data: Data, *, odds: float) -> xr.DataArray:
    """Accuracy of each unit if unlabelled answers had other odds of being right than labelled ones."""
    theta, q1, q0 = (rates[name].to_numpy() for name in RATES)
    n = np.asarray(data["n"], dtype=float).reshape(theta.shape[-1], len(CELLS))
    right = np.stack([theta * (1 - q1), theta * q1])
    wrong = (1 - theta) * np.stack([q0, 1 - q0])
    change = odds * right / (odds * right + wrong) - right / (right + wrong)
    share = (n[:, :2] / np.maximum(n.sum(axis=1, keepdims=True), 1e-12)).T[:, None, None]
    return rates["theta"].copy(data=theta + (share * change).sum(axis=0))


def _of_items(rates: xr.Dataset, data: Data, *, seed: int) -> xr.DataArray:
    theta, q1, q0 = (rates[name].to_numpy() for name in RATES)
    n = np.asarray(data["n"], dtype=float).reshape(theta.shape[-1], len(CELLS))
    right = np.stack([theta * (1 - q1), theta * q1])
    p = right / (right + (1 - theta) * np.stack([q0, 1 - q0]))
    known, size = n[:, 4] + n[:, 5], n.sum(axis=1)
    spread = _unlabelled_covariance(p.mean(axis=(1, 2)), n, data)
    values, vectors = np.linalg.eigh(spread)
    noise = np.random.default_rng(seed + 1).normal(size=theta.shape) * np.sqrt(np.maximum(values, 0.0))
    unlabelled = n[:, 0] + n[:, 1]
    drawn = np.clip(whole(p[0] * n[:, 0] + p[1] * n[:, 1] + noise @ vectors.T, data), 0.0, unlabelled)
    share = np.divide(known + drawn, size, where=size > 0, out=np.full(theta.shape, np.nan))
    return rates["theta"].copy(data=share)


def whole(drawn: Array, data: Data) -> Array:
    """Numbers of right answers, which are whole where answers are: of a few, all or none may be right."""
    n = np.asarray(data["n"])
    return np.rint(drawn) if (n == np.rint(n)).all() else drawn


def _unlabelled_covariance(p: Array, n: Array, data: Data) -> Array:
    """S (U, U): of the numbers of right answers among those without a label, given P(y = 1 | v) (2, U)."""
    units = len(n)
    labelled, unlabelled = np.zeros((units, 6, units)), np.zeros((units, 6, units))
    at = np.arange(units)
    labelled[at, 2:, at] = np.stack([-p[0], -p[1], 1 - p[0], 1 - p[1]], axis=-1)
    unlabelled[at, :2, at] = np.sqrt(p * (1 - p)).T
    together = np.asarray(data["together"]).sum(axis=0)
    residual, spread = (x.reshape(-1, units).T @ together @ x.reshape(-1, units) for x in (labelled, unlabelled))
    scale = np.sqrt(np.maximum(np.diag(residual), 1e-12))
    correlation = np.clip(residual / np.outer(scale, scale), -1.0, 1.0)
    found: Array = np.where(
        np.eye(units, dtype=bool), np.diag((n[:, :2].T * p * (1 - p)).sum(axis=0)), correlation * spread
    )
    return found


def quantities(
    theta: xr.DataArray, rates: xr.Dataset, data: Data, *, population: Population
) -> dict[str, xr.DataArray]:
    """Accuracy and difference of models, and the quality of the judge, overall and by group.

    ``theta`` holds the accuracy of each unit on the population.
    """
    every, of_models = quality(rates, data), quality(_of_models(rates, data), data)
    by_model = {name: _with_groups(draws, every[name], data) for name, draws in of_models.items()}
    of_rates = {name: _labels(data, *cells) for name, cells in _MISSES_AND_HITS.items()}
    judges = quality_quantities(by_model, n=data.units, labels=of_rates)
    accuracies = _with_groups(overall(theta, data), theta, data)
    labels = _labels(data, (2, 3), (4, 5))
    return accuracy_quantities(accuracies, n=data.units, population=population, quality=judges, labels=labels)


def _with_groups(total: xr.DataArray, units: xr.DataArray, data: Data) -> xr.DataArray:
    """Of all items and then of every group, along an axis ``group``, where there are groups."""
    import xarray as xr

    if data.facts["unit"] == "system":
        return total
    parts = [total, *(_within(units, group, data) for group in data.coords["group"])]
    return xr.concat(parts, dim="group").assign_coords(group=[EVERYWHERE, *data.coords["group"]])


#: Cells of labelled answers on which the judge is wrong, and right, by the rate they inform.
_MISSES_AND_HITS = {"sensitivity": ((4,), (5,)), "specificity": ((3,), (2,))}


def _labels(data: Data, against: tuple[int, ...], for_it: tuple[int, ...]) -> dict[str, tuple[float, float]]:
    """How many labelled answers of a model, and of it within a group, are in these cells."""
    models, groups = data.coords["system"], data.coords["group"]
    n = np.asarray(data["n"], dtype=float).reshape(len(models), len(groups), len(CELLS))
    n = np.stack([n[..., list(cells)].sum(axis=-1) for cells in (against, for_it)], axis=-1)
    parts = dict(zip(models, n.sum(axis=1), strict=True))
    parts |= {f"{m} | {g}": n[i, k] for i, m in enumerate(models) for k, g in enumerate(groups)}
    return {str(name): (float(no), float(yes)) for name, (no, yes) in parts.items()}


def overall(theta: xr.DataArray, data: Data) -> xr.DataArray:
    """Accuracy of each model, dims ``chain, draw, system``; groups weigh by their share of its answers."""
    import xarray as xr

    if data.facts["unit"] == "system":
        return theta
    share = xr.DataArray(np.asarray(data["share"]), dims="system_group")
    parts = [_within((theta * share).fillna(0.0), group, data) for group in data.coords["group"]]
    total: xr.DataArray = sum(parts[1:], parts[0])
    return total


def _of_models(rates: xr.Dataset, data: Data) -> xr.Dataset:
    """Rates of each model, dim ``system``: of its right, and of its wrong, answers in all groups."""
    if data.facts["unit"] == "system":
        return rates
    right = rates["theta"]
    found = {"theta": overall(right, data)}
    for name, weight in (("sensitivity", right), ("specificity", 1 - right)):
        found[name] = overall(weight * rates[name], data) / overall(weight, data)
    return rates.drop_dims("system_group").assign(found)


def _within(draws: xr.DataArray, group: str, data: Data) -> xr.DataArray:
    """The units of one group, along a dim ``system``."""
    models, groups = data.coords["system"], data.coords["group"]
    chosen = [k * len(groups) + groups.index(group) for k in range(len(models))]
    return draws.isel(system_group=chosen).rename(system_group="system").assign_coords(system=list(models))


type Members = Callable[[Data], Mapping[str, Array]]


def _of_units(data: Data) -> dict[str, Array]:
    """Which patterns are of each unit."""
    names = data.coords[data.facts["unit"]]
    return {str(name): (np.asarray(data["unit"]) == k) * 1.0 for k, name in enumerate(names)}


def _statistic(members: Members, numerator: tuple[str, ...], denominator: tuple[str, ...] = ()) -> Statistic:
    """Share of answers with these properties among those with other ones, by set of patterns; 0 of 0 is left out."""

    def shares(counts: Any, data: Data) -> dict[str, Any]:
        label, verdict = np.asarray(data["label"]), np.asarray(data["verdict"])
        holds = {
            "labelled": label >= 0,
            "unlabelled": label < 0,
            "correct": label == 1,
            "wrong": label == 0,
            "judged correct": verdict == 1,
        }
        counted = np.prod([holds[name] for name in denominator] or [np.ones(len(label))], axis=0)
        chosen = counted * np.prod([holds[name] for name in numerator], axis=0)
        found = {}
        for name, inside in members(data).items():
            total = counts @ (counted * inside)
            if np.all(total > 0):
                found[name] = (counts @ (chosen * inside)) / total
        return found

    return shares


def statistics_of(members: Members) -> dict[str, Statistic]:
    """Verdict rates and labelled cells of each set of patterns."""
    return {
        "verdict rate": _statistic(members, ("judged correct",)),
        "verdict rate, unlabelled": _statistic(members, ("judged correct",), ("unlabelled",)),
        "labelled: correct": _statistic(members, ("correct",), ("labelled",)),
        "labelled: correct, judged correct": _statistic(members, ("correct", "judged correct"), ("labelled",)),
        "labelled: wrong, judged correct": _statistic(members, ("wrong", "judged correct"), ("labelled",)),
    }


STATISTICS: Mapping[str, Statistic] = statistics_of(_of_units)
