"""What the posterior of `verdict_agreement` says of unverified verdicts, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.estimates.posterior import quantity
from bayesjudge.model import Data, Statistic

if TYPE_CHECKING:
    import xarray as xr


#: Rows whose draws are held at a time.
BLOCK = 1000


def quantities(posterior: xr.Dataset, data: Data) -> dict[str, xr.DataArray]:
    """Quantities of `VerdictAgreement`.

    ``consistency``: share of the unverified verdicts that people would agree with, a pair's verdicts counted
    as one, over all, by category and by groups of a formula (where people verified every pair, of all pairs);
    ``effect``: change in the log odds of agreement for one standard deviation (or one category, one
    model's strength); ``spread``: scale τ of each block of effects.
    """
    found, used = {"consistency": consistency(posterior, data)}, int(np.sum(data["looks"]))
    if data.coords["feature"]:
        # The effect of one direction means nothing by itself.
        named = [name for name in data.coords["feature"] if not name.startswith("direction ")]
        n = dict.fromkeys([*named, *data.coords["block"]], used)
        if named:
            found["effect"] = quantity(effects(posterior, data).sel(feature=named), signed=True, n=n)
        found["spread"] = quantity(posterior["tau"], n=n)
    elif not len(data["category_other"]):
        found["intercept"] = quantity(posterior["alpha"], n={"intercept": used})
    return found


def effects(posterior: xr.Dataset, data: Data) -> xr.DataArray:
    """Draws of every feature's effect β, dims ``chain, draw, feature``."""
    z = posterior["z"].transpose("chain", "draw", "feature")
    tau = posterior["tau"].transpose("chain", "draw", "block").to_numpy()
    return z * tau[..., np.asarray(data["block"])]


def consistency(posterior: xr.Dataset, data: Data, *, side: NDArray[np.float64] | None = None) -> xr.DataArray:
    """Draws of the expected consistency of the unverified verdicts, over all, by category and by a formula's groups.

    Where nobody left anything unverified, of all pairs (unit ``verified``).

    side: Mean side (other,) of each unverified pair's verdicts after some were reversed; by default its vote.
    """
    import xarray as xr

    kind = "other" if len(data["category_other"]) else "pair"
    codes = np.asarray(data["category_other"] if kind == "other" else data["category"])
    vote = np.asarray(data["vote_other"] if kind == "other" else data["vote"]) if side is None else side
    named = {name: codes == k for k, name in enumerate(data.coords["category_name"]) if (codes == k).any()}
    all_of_them = "unverified" if kind == "other" else "verified"
    groups = {all_of_them: np.ones(len(codes), dtype=bool), **(named if len(named) > 1 else {})}
    groups |= _members(np.asarray(data["member_other" if kind == "other" else "member"]), data)
    n = {name: int(mine.sum()) for name, mine in groups.items()}
    total: dict[str, Any] = dict.fromkeys(groups, 0.0)
    for rows, agree in _in_blocks(posterior, data, kind):
        # Of verdicts that disagree one is right, whichever it is.
        p = 0.5 + vote[rows] * (agree - 0.5)
        for name, mine in groups.items():
            total[name] = total[name] + p[..., mine[rows]].sum(axis=-1)
    shares = np.stack([total[name] / n[name] for name in groups], axis=-1)
    draws = xr.DataArray(shares, dims=("chain", "draw", "unit"), coords={"unit": list(groups)})
    return quantity(draws, n=n, headline=[all_of_them])


def _members(members: NDArray[Any], data: Data) -> dict[str, NDArray[np.bool_]]:
    """Rows of every level of a formula's groups that has any."""
    return {name: mine > 0 for name, mine in zip(data.coords["group"], members.T, strict=True) if mine.any()}


def trust(posterior: xr.Dataset, data: Data, *, prob: float) -> pd.DataFrame:
    """P(people agree) of every unverified pair with its equal-tailed interval."""
    parts = []
    for _, p in _in_blocks(posterior, data, "other"):
        low, high = np.quantile(p, [(1 - prob) / 2, (1 + prob) / 2], axis=(0, 1))
        parts.append(np.column_stack([p.mean(axis=(0, 1)), low, high]))
    figures = np.concatenate(parts) if parts else np.zeros((0, 3))
    names = np.array(data.coords["category_name"], dtype=object)
    return pd.DataFrame(
        {
            "item": list(data.coords["other"]),
            "category": names[data["category_other"]],
            "vote": data["vote_other"],
            "trust": figures[:, 0],
            "lower": figures[:, 1],
            "upper": figures[:, 2],
        }
    )


def _in_blocks(posterior: xr.Dataset, data: Data, kind: str) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """P(agree given not recorded as agreeing) (chains, draws, rows): of the unverified pairs or of the others."""
    end = "_other" if kind == "other" else ""
    x, vote = np.asarray(data[f"x{end}"]), np.asarray(data[f"vote{end}"])
    reviewed = np.asarray(data["reviewed_other"]) if kind == "other" else np.zeros(len(x))
    alpha = posterior["alpha"].transpose("chain", "draw").to_numpy()
    beta = effects(posterior, data).to_numpy() if data.coords["feature"] else np.zeros((*alpha.shape, 0))
    for start in range(0, len(x), BLOCK):
        rows = slice(start, start + BLOCK)
        p = 0.5 * (1.0 + np.tanh(0.5 * (alpha[..., None] * vote[rows] + beta @ x[rows].T)))
        # An agreement had its chance to be recorded: a pair without a record is less likely one.
        e = reviewed[rows]
        yield rows, p * (1 - e) / (1 - e * p)


def _rate(sample: Any, mine: NDArray[np.bool_], data: Data) -> Any:
    """Share of verdicts that people agree with: ½ where a pair's two disagree, whichever is right."""
    vote = np.asarray(data["vote"])[mine]
    return 0.5 + (vote * (sample[..., mine] - 0.5)).mean(axis=-1)


def _by_category(sample: Any, data: Data) -> dict[str, Any]:
    code, looked = np.asarray(data["category"]), np.asarray(data["looks"]) > 0
    masks = {name: looked & (code == k) for k, name in enumerate(data.coords["category_name"])}
    masks |= {name: looked & mine for name, mine in _members(np.asarray(data["member"]), data).items()}
    return {name: _rate(sample, mine, data) for name, mine in masks.items() if mine.any()}


def _by_feature(sample: Any, data: Data) -> dict[str, Any]:
    """Rate where a scalar is above its median, minus the rate where it is not; of agreeing verdicts."""
    x, looked, found = np.asarray(data["x"]), np.asarray(data["looks"]) > 0, {}
    looked &= np.asarray(data["vote"]) > 0
    scalar = [k for k, b in enumerate(np.asarray(data["block"])) if data.coords["block"][b] == "scalar"]
    for k in scalar if looked.any() else []:
        high = x[:, k] > np.median(x[looked, k])
        if (high & looked).any() and (~high & looked).any():
            difference = _rate(sample, high & looked, data) - _rate(sample, ~high & looked, data)
            found[data.coords["feature"][k]] = difference
    return found


def _where_orders_disagree(sample: Any, data: Data) -> dict[str, Any]:
    """Where a pair's verdicts disagree: how often people choose the response with more of a scalar."""
    x, found = np.asarray(data["x"]), {}
    disagree = (np.asarray(data["looks"]) > 0) & (np.asarray(data["vote"]) == 0)
    scalar = [k for k, b in enumerate(np.asarray(data["block"])) if data.coords["block"][b] == "scalar"]
    for k in scalar:
        mine = disagree & (x[:, k] != 0)
        if mine.any():
            share = 0.5 + (np.sign(x[mine, k]) * (sample[..., mine] - 0.5)).mean(axis=-1)
            found[data.coords["feature"][k]] = share
    return found


#: Named test quantities.
STATISTICS: Mapping[str, Statistic] = {
    "agreement rate": lambda sample, data: {"all": _rate(sample, np.asarray(data["looks"]) > 0, data)},
    "agreement rate by category": _by_category,
    "agreement where high minus low": _by_feature,
    "people's choice of more, where orders disagree": _where_orders_disagree,
}
