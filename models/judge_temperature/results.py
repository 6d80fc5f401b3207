"""What a posterior of `judge_temperature` says: β, soft Elo from the cut posterior; its statistics."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.estimates.posterior import quantity
from bayesjudge.maths.bradley_terry import to_elo
from bayesjudge.model import Data, Statistic
from bayesjudge.models.common.elo_results import ELO
from bayesjudge.models.common.units import Guess
from bayesjudge.models.judge_temperature.data import group_units, judge_units
from bayesjudge.models.judge_temperature.soft_targets import SoftTable, cut_strengths

if TYPE_CHECKING:
    import xarray as xr


#: Draws of β, evenly spaced, that strengths are drawn for: a table of estimates needs no more.
CUT_DRAWS = 1000
#: Edges of the bins of |gap|, in standard deviations.
EDGES = (0.0, 0.25, 0.5, 1.0, 1.5, np.inf)


def quantities(posterior: xr.Dataset, data: Data, *, learning_rate: float | None) -> dict[str, xr.DataArray]:
    """β of each judge and group, then each judge's soft Elo, of fewer draws."""
    import xarray as xr

    draws, kept = posterior.sizes["draw"], max(CUT_DRAWS // posterior.sizes["chain"], 1)
    thin = posterior.isel(draw=np.unique(np.linspace(0, draws - 1, min(draws, kept)).astype(int)))
    judges, models = (list(map(str, data.coords[name])) for name in ("judge", "system"))
    boards = [elo(thin, data, judge=judge, learning_rate=learning_rate, seed=0) for judge in judges]
    n = [[data.units[f"{judge} | {model}"] for model in models] for judge in judges]
    soft = xr.concat(boards, dim="judge").assign_coords(judge=judges, n=(("judge", "system"), n))
    return {"beta": quantity(beta(posterior, data), n=data.units, headline=True), ELO: quantity(soft)}


def beta(posterior: xr.Dataset, data: Data) -> xr.DataArray:
    """Draws of β in logits a point of score, dims ``chain, draw, judge, group``."""
    import xarray as xr

    dims = ("chain", "draw", "judge", "group")
    sites = {
        name: values.expand_dims([dim for dim in dims if dim not in values.dims]).transpose(*dims).to_numpy()
        for name, values in posterior.items()
    }
    guess = Guess(information=np.asarray(data["information"]), pull=np.asarray(data["pull"]))
    omega = sites.get("omega", 0.0)
    log_beta = sites["mu"] + judge_units(guess, sites["mu"], sites["tau"], omega).effect(sites["z_judge"])
    if "z_group" in sites:
        log_beta = log_beta + group_units(guess, log_beta, omega).effect(sites["z_group"])
    coords = {name: list(data.coords[name]) for name in dims[2:]}
    found = np.exp(log_beta) / np.asarray(data["scale"])[:, None]
    return xr.DataArray(np.broadcast_to(found, (*found.shape[:3], len(coords["group"]))), coords, dims)


def elo(posterior: xr.Dataset, data: Data, *, judge: str, learning_rate: float | None, seed: int) -> xr.DataArray:
    """Draws of one judge's soft Elo, dims ``chain, draw, system``; groups add up, each at its own β."""
    import xarray as xr

    temperatures = beta(posterior, data).sel(judge=judge).to_numpy()
    shape = temperatures.shape[:2]
    flat = temperatures.reshape(-1, temperatures.shape[-1])
    code = [str(name) for name in data.coords["judge"]].index(judge)
    tables = [_table(data, code, g, flat[:, g]) for g in range(flat.shape[1])]
    models = tuple(str(model) for model in data.coords["system"])
    theta = cut_strengths(
        [t for t in tables if t is not None],
        [flat[:, g] for g, t in enumerate(tables) if t is not None],
        len(models),
        learning_rate=learning_rate,
        seed=seed,
    )
    return xr.DataArray(
        to_elo(theta).reshape(*shape, len(models)),
        dims=("chain", "draw", "system"),
        coords={"system": list(models)},
        name=ELO,
    )


def _table(data: Data, judge: int, group: int, temperatures: Any) -> SoftTable | None:
    mine = (np.asarray(data["soft_judge"]) == judge) & (np.asarray(data["soft_group"]) == group)
    mine &= np.asarray(data["soft_n"]) > 0
    if not mine.any():
        return None
    parts = (np.asarray(data[f"soft_{name}"])[mine] for name in ("first", "second", "gap", "n"))
    log = np.log(temperatures)
    return SoftTable.tabulate(*parts, low=float(log.min()), high=float(log.max()))


def _agreement(counts: Any, data: Data) -> dict[str, Any]:
    """Share of votes that go with the judge, by the size of its gap."""
    gap, found = np.abs(np.asarray(data["signed_gap"])), {}
    with_it = np.asarray(data["signed_gap"]) > 0
    for j, judge in enumerate(data.coords["judge"]):
        for low, high in itertools.pairwise(EDGES):
            rows = (np.asarray(data["judge"]) == j) & (gap > low) & (gap <= high)
            if np.all(counts @ rows > 0):
                share = counts @ (rows & with_it) / (counts @ rows)
                found[f"{judge}: |gap| {low:g} to {high:g} sd"] = share
    return found


def _group_agreement(counts: Any, data: Data) -> dict[str, Any]:
    """The same by group, over all gaps."""
    found: dict[str, Any] = {}
    with_it = np.asarray(data["signed_gap"]) > 0
    for g, group in enumerate(data.coords["group"]):
        rows = np.asarray(data["group"]) == g
        if np.all(counts @ rows > 0):
            found[str(group)] = counts @ (rows & with_it) / (counts @ rows)
    return found


STATISTICS: Mapping[str, Statistic] = {
    "votes with the judge, by |gap|": _agreement,
    "votes with the judges": _group_agreement,
}
