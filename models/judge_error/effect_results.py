"""What a posterior of `judge_error` with formulas says: totals, rows of groups, and average effects of numbers.

The accuracy of a system is Σ_c w_c θ_c over cells c. On questions like these w are Dirichlet(1, …, 1) weights of
items, or a stated mix of a column's levels; on exactly these items known labels stay known and the number of right
answers among the others is drawn. An effect is how much a rate changes, on average over the answers it speaks of,
when a number is one standard deviation higher.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from bayesjudge.counts.pair_cells import CELLS
from bayesjudge.effects import RATES, Formula
from bayesjudge.effects.cells import item_weights, within_systems
from bayesjudge.errors import UsageError, did_you_mean
from bayesjudge.estimates import Population
from bayesjudge.estimates.posterior import EVERYWHERE, accuracy_quantities, quantity
from bayesjudge.maths.definite import nearest_definite
from bayesjudge.model import Data, Statistic
from bayesjudge.models.common.verdict_channel import quality_quantities
from bayesjudge.models.judge_error.results import statistics_of, whole

if TYPE_CHECKING:
    import xarray as xr


type Array = NDArray[np.float64]
#: Share of a column's levels, by column.
type Shares = Mapping[str, Mapping[str, float]]
_NO_SHARE = 1e-12


@dataclass(frozen=True, eq=False, kw_only=True)
class Rates:
    """Draws (D, C) of a log's rates in each cell, with the weights (D, C) of cells within their system.

    shape: Chains and draws of each.
    """

    theta: Array
    sensitivity: Array
    specificity: Array
    weight: Array
    coefficients: list[Array]
    shape: tuple[int, int]
    stated: bool = False


def rates_of(
    coefficients: list[Array], shape: tuple[int, int], data: Data, formulas: tuple[Formula, ...], *, seed: int = 0
) -> Rates:
    """Rates and weights of cells from coefficients."""
    logits = [b @ np.asarray(data[f"design_{f.rate}"]).T for b, f in zip(coefficients, formulas, strict=True)]
    theta, q1, q0 = (expit(logit) for logit in logits)
    weight = _weights(data, len(theta), seed)
    return Rates(theta=theta, sensitivity=q1, specificity=q0, weight=weight, coefficients=coefficients, shape=shape)


def _weights(data: Data, draws: int, seed: int) -> Array:
    """Of cells within their system: sums of exponential weights of the items in them."""
    code, item, entry = (np.asarray(data[name]) for name in ("of_system", "entry_item", "entry_cell"))
    if not len(item):
        sizes = np.random.default_rng(seed + 2).standard_gamma(
            np.asarray(data["size"], dtype=float), size=(draws, len(code))
        )
        return within_systems(sizes, code)
    cell = entry // len(CELLS)
    items, cells = np.unique(np.stack([item, cell]), axis=1)
    # An item of a cluster counts as often as the cluster has answers in the cell.
    n = np.bincount(item * len(code) + cell, weights=data["entry_n"], minlength=(int(item.max()) + 1) * len(code))
    return item_weights(items, cells, n[items * len(code) + cells], code, draws=draws, seed=seed + 2)


def mixed(rates: Rates, data: Data, shares: Shares) -> Rates:
    """The same rates, weighted to stated shares of a column's levels."""
    if not shares:
        return rates
    weight, code = rates.weight.copy(), np.asarray(data["of_system"])
    for column, stated in shares.items():
        levels = _levels(data, column)
        wrong = [name for name in stated if name not in levels]
        if wrong or (missing := [name for name in levels if name not in stated]):
            what = f"has no level {wrong[0]!r}{did_you_mean(wrong[0], levels)}" if wrong else f"also has {missing[0]!r}"
            raise UsageError(f"shares of {column!r}: the column {what}; give a share to each of {', '.join(levels)}")
        if min(stated.values()) < 0 or abs(sum(stated.values()) - 1) > 1e-6:
            raise UsageError(
                f"shares of {column!r} sum to {sum(stated.values()):g}: they must be 0 or more and sum to 1"
            )
        for m, name in enumerate(data.coords["system"]):
            for level, member in levels.items():
                mine = (code == m) & (member > 0)
                if stated[level] > 0 and not mine.any():
                    raise UsageError(
                        f"shares of {column!r}: {name} has no answers in {level!r}, and a share of it was stated"
                    )
                # A level without a share still has rows of its own.
                weight[:, mine] *= max(stated[level], _NO_SHARE) / weight[:, mine].sum(axis=1, keepdims=True)
    return replace(rates, weight=within_systems(weight, code), stated=True)


def _levels(data: Data, column: str) -> dict[str, Array]:
    """Which cells belong to each level of a column of categories that formulas name."""
    members = np.asarray(data["member"], dtype=float)
    there = data.facts["columns"]
    if column not in there:
        known = ", ".join(there) or "none"
        raise UsageError(
            f"shares of {column!r}: no formula groups by it{did_you_mean(column, there)}; columns: {known}"
        )
    names = [
        (name, k) for k, name in enumerate(data.coords["group"]) if len(there) == 1 or name.startswith(f"{column}=")
    ]
    return {name if len(there) == 1 else name.removeprefix(f"{column}="): members[:, k] for name, k in names}


def totals(values: Array, rates: Rates, data: Data, *, among: Array | None = None) -> Array:
    """Weighted mean of values (D, C) over the cells of each system, overall and by group, (D, M, 1 + G).

    among: Further weights (D, C): the answers that the values speak of.
    """
    weight = rates.weight if among is None else rates.weight * among
    code, groups = np.asarray(data["of_system"]), data.coords["group"]
    member = np.concatenate([np.ones((len(code), 1)), np.asarray(data["member"])[:, : len(groups)]], axis=1)
    parts = []
    for m in range(len(data.coords["system"])):
        mine = code == m
        size = weight[:, mine] @ member[mine]
        with np.errstate(invalid="ignore"):
            parts.append((weight * values)[:, mine] @ member[mine] / size)
    return np.stack(parts, axis=1)


def accuracy(rates: Rates, data: Data, population: Population, *, seed: int = 0) -> Array:
    """Accuracies (D, M, 1 + G) on a population."""
    if population == "superpopulation":
        return totals(rates.theta, rates, data)
    if rates.stated:
        raise UsageError("shares state a mix of questions like these: leave out population='items'")
    if data.facts["weighted"]:
        raise UsageError("population='items' needs labels that were drawn evenly, without label_probability")
    n = np.asarray(data["n"], dtype=float).reshape(-1, len(CELLS))
    right = np.stack([rates.theta * (1 - rates.sensitivity), rates.theta * rates.sensitivity])
    p = right / (right + (1 - rates.theta) * np.stack([rates.specificity, 1 - rates.specificity]))
    expected = n[:, 4] + n[:, 5] + (p * n[:, :2].T[:, None]).sum(axis=0)
    variance = (n[:, :2].T * p.mean(axis=1) * (1 - p.mean(axis=1))).sum(axis=0)
    code, groups = np.asarray(data["of_system"]), data.coords["group"]
    systems = (code[:, None] == np.arange(len(data.coords["system"]))) * 1.0
    member = np.concatenate([np.ones((len(code), 1)), np.asarray(data["member"])[:, : len(groups)]], axis=1)
    into = (systems[:, :, None] * member[:, None, :]).reshape(len(code), -1)
    known, size = (n[:, 4] + n[:, 5]) @ into, n.sum(axis=1) @ into
    spread = np.sqrt(variance @ into)
    together = _residual_correlation(p.mean(axis=1), data)
    # Of one system and a group of it independently: only systems are compared.
    noise = np.random.default_rng(seed + 1).normal(size=(len(expected), *np.shape(into)[1:]))
    shaped = noise.reshape(len(expected), systems.shape[1], -1)
    shaped[:, :, 0] = shaped[:, :, 0] @ np.linalg.cholesky(together + 1e-9 * np.eye(len(together))).T
    right = whole(expected @ into + spread * shaped.reshape(noise.shape), data)
    drawn = np.clip(right, known, size - n[:, 2:4].sum(axis=1) @ into)
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Array = np.where(size > 0, drawn / size, np.nan)
    return found.reshape(shaped.shape)


def _residual_correlation(p: Array, data: Data) -> Array:
    """Between systems, of y − P(y | v) of labelled answers of one item, (M, M)."""
    from scipy.sparse import csr_array

    systems = len(data.coords["system"])
    place = np.asarray(data["entry_cell"])
    residual = np.zeros((p.shape[1], len(CELLS)))
    residual[:, 2:4], residual[:, 4:] = -p.T, 1 - p.T
    if not len(place):
        return np.eye(systems)
    code = np.asarray(data["of_system"])[place // len(CELLS)]
    values = residual.reshape(-1)[place] * np.asarray(data["entry_n"])
    by_item = csr_array(
        (values, (np.asarray(data["entry_item"]), code)), shape=(int(np.max(data["entry_item"])) + 1, systems)
    )
    products = (by_item.T @ by_item).toarray()
    scale = np.sqrt(np.maximum(np.diag(products), 1e-12))
    found: Array = np.where(np.eye(systems, dtype=bool), 1.0, 0.99 * products / np.outer(scale, scale))
    floored = nearest_definite(found, least=1e-9)
    return floored / np.sqrt(np.outer(np.diag(floored), np.diag(floored)))


def shifted(rates: Rates, data: Data, *, odds: float) -> Rates:
    """Rates if unlabelled answers had other odds of being right than labelled ones of the same cell."""
    n = np.asarray(data["n"], dtype=float).reshape(-1, len(CELLS))
    right = np.stack([rates.theta * (1 - rates.sensitivity), rates.theta * rates.sensitivity])
    wrong = (1 - rates.theta) * np.stack([rates.specificity, 1 - rates.specificity])
    change = odds * right / (odds * right + wrong) - right / (right + wrong)
    share = n[:, :2].T / np.maximum(n.sum(axis=1), 1e-12)
    return replace(rates, theta=rates.theta + (share[:, None] * change).sum(axis=0))


def labelled(values: Array, rates: Rates, data: Data) -> xr.DataArray:
    """Draws (D, M, 1 + G) with names: dims ``chain, draw, system`` and, where there are groups, ``group``."""
    import xarray as xr

    shaped = values.reshape(*rates.shape, *values.shape[1:])
    coords = {"system": list(data.coords["system"]), "group": [EVERYWHERE, *data.coords["group"]]}
    found = xr.DataArray(shaped, dims=("chain", "draw", "system", "group"), coords=coords)
    return found if data.coords["group"] else found.isel(group=0, drop=True)


def overall(values: Array, rates: Rates, data: Data) -> xr.DataArray:
    """Draws of each system over all its answers, dims ``chain, draw, system``."""
    found = labelled(values, rates, data)
    return found.sel(group=EVERYWHERE, drop=True) if data.coords["group"] else found


def quantities(
    rates: Rates, data: Data, formulas: tuple[Formula, ...], population: Population
) -> dict[Any, xr.DataArray]:
    """Accuracies, differences, the judge's quality and effects, overall and by group."""
    theta, q1, q0 = rates.theta, rates.sensitivity, rates.specificity
    of = {"sensitivity": totals(q1, rates, data, among=theta), "specificity": totals(q0, rates, data, among=1 - theta)}
    of["youden"] = of["sensitivity"] + of["specificity"] - 1
    judge = list(data.coords["judge"])
    by_model = {name: labelled(draws, rates, data).expand_dims(judge=judge, axis=2) for name, draws in of.items()}
    quality = quality_quantities(by_model, n=data.units)
    accuracies = labelled(accuracy(rates, data, population), rates, data)
    found = accuracy_quantities(accuracies, n=data.units, population=population, quality=quality)
    effects = effects_of(rates, data, formulas)
    return {**found, **({"effect": quantity(effects, signed=True)} if effects.sizes["of"] else {})}


def effects_of(rates: Rates, data: Data, formulas: tuple[Formula, ...]) -> xr.DataArray:
    """Average change of each rate when a number is one standard deviation higher, dims ``chain, draw, of``."""
    import xarray as xr

    theta, found = rates.theta, {}
    among = dict(zip(RATES, (np.ones_like(theta), theta, 1 - theta), strict=True))
    now = dict(zip(RATES, (theta, rates.sensitivity, rates.specificity), strict=True))
    size = np.asarray(data["size"], dtype=float)
    by_rate = {formula.rate: b for formula, b in zip(formulas, rates.coefficients, strict=True)}
    for k, (rate, number) in enumerate(data.facts["changes"], start=1):
        odds = np.exp(by_rate[rate] @ np.asarray(data[f"change_{k}"]).T)
        q = now[rate]
        change = odds * q / (odds * q + 1 - q) - q
        weight = among[rate] * size
        found[f"{rate}, +1 sd of {number}"] = (change * weight).sum(axis=1) / weight.sum(axis=1)
    values = np.stack(list(found.values()), axis=-1) if found else np.zeros((len(theta), 0))
    return xr.DataArray(values.reshape(*rates.shape, -1), dims=("chain", "draw", "of"), coords={"of": list(found)})


def _of_systems(data: Data) -> dict[str, Array]:
    """Which patterns are of each system, overall and in each group."""
    unit = np.asarray(data["unit"])
    code, member = np.asarray(data["of_system"])[unit], np.asarray(data["member"])[unit]
    found: dict[str, Array] = {}
    for m, system in enumerate(data.coords["system"]):
        mine = (code == m) * 1.0
        found[str(system)] = mine
        found |= {f"{system} | {group}": mine * member[:, k] for k, group in enumerate(data.coords["group"])}
    return found


STATISTICS: Mapping[str, Statistic] = statistics_of(_of_systems)
