"""What a model says of each estimand, as draws, and their rows: mean, interval, ESS, R-hat, P(> 0)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.errors import require_prob
from bayesjudge.estimates import Estimates, Population, estimand_of
from bayesjudge.estimates.mixing import ess_bulk, ess_tail, rhat

if TYPE_CHECKING:
    import xarray as xr


#: Draws by estimand; see `quantity`. Not one data set: what takes long to derive is derived from fewer draws.
type Quantities = Mapping[Any, xr.DataArray]
#: By how much of its width the interval of an accuracy, or of a rate without labels, grows at most to reach 0 or 1:
#: without a wrong label a posterior falls off from 1, exponentially lacks .007 of the width and a gamma of shape 3
#: lacks .09.
NEARLY = 0.1
#: Name of the group of all items, where ``group`` is an axis.
EVERYWHERE = ""


def quantity(
    draws: xr.DataArray,
    *,
    signed: bool = False,
    headline: bool | Sequence[str] = False,
    margin: bool = False,
    n: Mapping[str, float] | None = None,
    note: str | Mapping[str, str] = "",
    reach: Mapping[str, tuple[float, float]] | None = None,
    within: float | Mapping[str, float] = np.inf,
) -> xr.DataArray:
    """Draws of an estimand, with the other columns of its rows as attributes.

    draws: Dims ``chain, draw`` and any of a unit's, ``group`` (of items; `EVERYWHERE` is all of them) and ``judge``.
        Coordinates ``unit, judge, group, n`` along these axes go before.
    signed: Rows have the probability that it is positive.
    headline: The answer rests on it, or on these units of it: its sensitivity to the prior is checked.
    n: Items behind each unit; ``"unit | group"`` is one within a group of items.
    note: Of every unit, or of each (named as in ``n``).
    reach: What the lower limit of a unit (named as in ``n``) is at most and the upper at least, unless its draws are
        all alike.
    within: By how much of its width an interval, or that of each unit, grows at most to reach that; where more is
        lacking it stays.
    """
    says = {"signed": signed, "headline": headline, "margin": margin, "note": note, "within": within}
    return draws.assign_attrs(says | {"n": n or {}, "reach": reach or {}})


def accuracy_quantities(
    theta: xr.DataArray,
    *,
    n: Mapping[str, float],
    population: Population = "superpopulation",
    note: str | Mapping[str, str] = "",
    quality: Quantities | None = None,
    labels: Mapping[str, tuple[float, float]] | None = None,
) -> dict[Any, xr.DataArray]:
    """Every model's accuracy and every difference, named by their population; ``quality`` between.

    labels: How many labels say wrong, and right, of each unit (named as in ``n``). Of a model without a wrong one the
        interval reaches 1, if it nearly does: an equal-tailed one never holds a truth of exactly 1.
    """
    accuracy, difference = (estimand_of(name, population) for name in ("accuracy", "difference"))
    says: dict[str, Any] = {"n": n, "note": note, "headline": population == "superpopulation"}
    gaps = quantity(differences(theta, "system"), signed=True, **says)
    found = quantity(theta, reach=reached(labels or {}), within=NEARLY, **says)
    return {accuracy: found, **(quality or {}), difference: gaps}


def reached(counts: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """What limits of shares reach, of which so many cases fell against and for: 1 with none against, 0 with none for.

    Examples
    --------
    >>> reached({"x": (0, 9), "y": (9, 0), "z": (1, 8)})
    {'x': (inf, 1.0), 'y': (0.0, -inf), 'z': (inf, -inf)}
    """
    return {
        name: (0.0 if against > 0 and for_it < 1e-9 else np.inf, 1.0 if for_it > 0 and against < 1e-9 else -np.inf)
        for name, (against, for_it) in counts.items()
    }


def headline(quantities: Quantities) -> dict[str, xr.DataArray]:
    """What the answer rests on, over all items; everything where nothing is marked as that."""
    marked = {name: draws for name, draws in quantities.items() if draws.attrs.get("headline")}
    return {str(name): _over_all(draws) for name, draws in (marked or quantities).items()}


def _over_all(draws: xr.DataArray) -> xr.DataArray:
    units = draws.attrs.get("headline")
    if isinstance(units, Sequence):
        draws = draws.sel({_unit_dim(draws): list(units)})
    grouped = "group" in draws.dims and EVERYWHERE in draws["group"]
    return draws.sel(group=EVERYWHERE, drop=True) if grouped else draws


def _unit_dim(draws: xr.DataArray) -> str | None:
    """The axis of units: the judges' only where there is no other."""
    dims = [str(dim) for dim in draws.dims if dim not in {"chain", "draw", "group"}]
    return next((dim for dim in dims if dim != "judge"), next(iter(dims), None))


def estimates_of(quantities: Quantities, *, method: str, prob: float) -> Estimates:
    """A row for every unit of every quantity: those of all items, then by group, and by judge within.

    Within a group, what is undefined (accuracy on exactly these items of a model that has none) has no row.
    """
    require_prob(prob)
    rows = [row for name, draws in quantities.items() for row in _rows(draws, str(name), method, prob)]
    groups, judges = (list(dict.fromkeys(["", *(key[axis] for key, _ in rows)])) for axis in (0, 1))
    rows.sort(key=lambda row: (groups.index(row[0][0]), judges.index(row[0][1])))
    return Estimates.from_rows(row for _, row in rows)


def _rows(
    draws: xr.DataArray, estimand: str, method: str, prob: float
) -> Iterator[tuple[tuple[str, str], dict[str, Any]]]:
    """Rows of one quantity with the group and the judge that are axes of it."""
    says = draws.attrs
    common: dict[str, Any] = {"method": method, "prob": prob, "signed": says.get("signed", False)}
    for group, judge, part in _parts(draws, prob):
        found = summary_rows(part, estimand=estimand, **common)
        named = _named(part, len(found))
        for k, row in enumerate(found):
            key = f"{row['unit']} | {group}" if group else row["unit"]
            said = {**_words(row, key, says), **{name: labels[k] for name, labels in named.items()}}
            yield (group, judge), {**row, **said}


def _parts(draws: xr.DataArray, prob: float) -> Iterator[tuple[str, str, xr.DataArray]]:
    """Draws of one quantity's units for each group and judge that are axes of it."""
    from scipy.special import ndtri

    unit_dim = _unit_dim(draws)
    if "group" in draws.dims and draws.sizes["group"] == 1:
        draws = draws.isel(group=0, drop=True)  # all items, which need no name
    outer = [dim for dim in ("group", "judge") if dim in draws.dims and dim != unit_dim]
    for labels in itertools.product(*(draws[dim].to_numpy() for dim in outer)):
        at = dict(zip(outer, labels, strict=True))
        part, group, judge = draws.sel(at), str(at.get("group", "")), str(at.get("judge", ""))
        if (group or judge) and unit_dim:  # what was not there, or what this judge did not judge, has no row
            part = part.isel({unit_dim: part.notnull().any(("chain", "draw")).to_numpy()})
        scale = float(ndtri((1 + prob) / 2)) if draws.attrs.get("margin") else 1.0
        yield group, judge, scale * part if scale != 1 else part


def _named(part: xr.DataArray, count: int) -> dict[str, NDArray[Any]]:
    """Coordinates along the axis of units that say more of each than its label."""
    found = (name for name in ("unit", "judge", "group", "n") if name in part.coords and name not in part.dims)
    return {name: np.broadcast_to(part[name], count) for name in found}


def draws_by_unit(
    draws: xr.DataArray, *, estimand: str, prob: float
) -> dict[tuple[str, str, str], NDArray[np.float64]]:
    """Draws (chains × draws,) behind every row of a quantity, by its unit, judge and group."""
    found = {}
    for group, judge, part in _parts(draws, prob):
        names, values = _units_of(part, estimand)
        named = _named(part, len(names))
        for k, name in enumerate(names):
            key = {"unit": name, "judge": judge, "group": group} | {what: str(of[k]) for what, of in named.items()}
            found[key["unit"], key["judge"], key["group"]] = values[..., k].reshape(-1)
    return found


def _units_of(draws: xr.DataArray, estimand: str) -> tuple[list[str], NDArray[np.float64]]:
    """Names of the units, and draws (chain, draw, unit); a single quantity is named after its estimand."""
    unit_dim = next((str(dim) for dim in draws.dims if dim not in {"chain", "draw"}), None)
    if unit_dim is None:
        draws, unit_dim = draws.expand_dims(unit=[estimand]), "unit"
    return list(map(str, draws[unit_dim].to_numpy())), draws.transpose("chain", "draw", unit_dim).to_numpy()


def _words(row: Mapping[str, Any], key: str, says: Mapping[Any, Any]) -> dict[str, Any]:
    """Columns of a row that come from the attributes."""
    note = says.get("note", "")
    found = {"n": says.get("n", {}).get(key, np.nan)}
    found["note"] = note if isinstance(note, str) else note.get(key, note.get(row["unit"], ""))
    # A posterior that is sure of a rate, but for rounding, is left as it is.
    if (width := row["upper"] - row["lower"]) > 1e-12:
        low, high = says.get("reach", {}).get(key, (np.inf, -np.inf))
        within = says.get("within", np.inf)
        most = (within.get(key, np.inf) if isinstance(within, Mapping) else within) * width
        found |= {"lower": min(row["lower"], low)} if row["lower"] - low <= most else {}
        found |= {"upper": max(row["upper"], high)} if high - row["upper"] <= most else {}
    return found


def summary_rows(
    draws: xr.DataArray,
    *,
    estimand: str,
    method: str,
    prob: float,
    n: Mapping[str, int] | None = None,
    signed: bool = False,
    extra: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """One row for every entry of a posterior quantity.

    draws: Dims ``chain, draw`` and at most one more, whose labels become the units.
    n: Items behind each unit.
    signed: Also give the posterior probability that the quantity is positive, as `share_positive` has it.
    extra: Further columns, for instance ``judge``.
    """
    units, values = _units_of(draws, estimand)
    ess, ratio = _convergence(values)
    # Over one axis, since most versions of NumPy have no quantiles of no units over two.
    low, high = np.quantile(np.concatenate(values), [(1 - prob) / 2, (1 + prob) / 2], axis=0)
    rows = []
    for k, unit in enumerate(units):
        row = {"estimand": estimand, "unit": unit, "method": method, "prob": prob, "n": (n or {}).get(unit, np.nan)}
        row |= {"point": float(values[..., k].mean()), "lower": float(low[k]), "upper": float(high[k])}
        row |= {"ess": float(ess[k]), "rhat": float(ratio[k])}
        if signed:
            row["p_positive"] = float(share_positive(values[..., k]))
        rows.append({**row, **(extra or {})})
    return rows


def share_positive(values: Any, axis: int | None = None) -> Any:
    """Share of draws above 0; those of exactly 0 count half, so that P(a > b) + P(b > a) is 1 and equals get .5."""
    return (values > 0).mean(axis=axis) + (values == 0).mean(axis=axis) / 2


def _convergence(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Smaller of bulk and tail ESS, and rank-normalised split R-hat (Vehtari et al. 2021), per entry.

    What is the same in every draw (ΔJ where the judge's errors are shared) has neither.
    """
    flat = np.moveaxis(values, -1, 0)
    ess, ratio = np.full(len(flat), np.nan), np.full(len(flat), np.nan)
    varies = np.ptp(flat, axis=(1, 2)) > 0
    moving = flat[varies]
    ess[varies] = np.minimum(ess_bulk(moving), ess_tail(moving))
    ratio[varies] = rhat(moving)
    return ess, ratio


def differences(draws: xr.DataArray, dim: str, pairs: Sequence[tuple[str, str]] | None = None) -> xr.DataArray:
    """Draws of every pairwise difference along ``dim``, labelled ``"a − b"``."""
    import xarray as xr

    names = [str(name) for name in draws[dim].to_numpy()]
    chosen = list(pairs or [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]])
    if not chosen:
        return draws.isel({dim: slice(0, 0)}).rename({dim: "pair"})
    one, two = ([names.index(pair[k]) for pair in chosen] for k in (0, 1))
    by_unit = draws.transpose(dim, ...)
    # By NumPy: of a few models xarray's own look-ups take longer than the differences.
    values = by_unit.to_numpy()
    coords = {**by_unit.drop_vars(dim).coords, "pair": [f"{a} − {b}" for a, b in chosen]}
    return xr.DataArray(values[one] - values[two], dims=("pair", *by_unit.dims[1:]), coords=coords)
