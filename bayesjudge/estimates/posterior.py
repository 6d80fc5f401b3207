"""Posterior draws to rows of estimates: mean, equal-tailed interval, ESS, R-hat, sign probability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.estimates import Population, estimand_of

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

__all__ = ["accuracy_rows", "differences", "summary_rows"]


def accuracy_rows(
    theta: xr.DataArray, *, method: str, prob: float, n: Mapping[str, int],
    population: Population = "superpopulation", group: str = "",
) -> list[dict[str, Any]]:  # fmt: skip
    """Rows of every model's accuracy and of every difference, named by the population they are about.

    Parameters
    ----------
    theta : xarray.DataArray
        Draws of accuracies, dims ``chain, draw, model``.
    method, prob, n
        As in `summary_rows`.
    population : {"superpopulation", "items"}
        Questions like these, or exactly these.
    group : str
        Group of items that the accuracies are within; "" for all items.

    Examples
    --------
    >>> import xarray as xr
    >>> draws = xr.DataArray(np.random.default_rng(0).uniform(size=(4, 100, 2)),
    ...                      dims=("chain", "draw", "model"), coords={"model": ["a", "b"]})
    >>> rows = accuracy_rows(draws, method="bayes:x", prob=0.95, n={}, population="items")
    >>> [row["estimand"] for row in rows]
    ['accuracy (these items)', 'accuracy (these items)', 'difference (these items)']
    """
    common: dict[str, Any] = {"method": method, "prob": prob, "n": n, "extra": {"group": group}}
    rows = summary_rows(theta, estimand=estimand_of("accuracy", population), **common)
    return rows + summary_rows(differences(theta, "model"), signed=True,
                               estimand=estimand_of("difference", population), **common)  # fmt: skip


def summary_rows(
    draws: xr.DataArray, *, estimand: str, method: str, prob: float, n: Mapping[str, int] | None = None,
    signed: bool = False, extra: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:  # fmt: skip
    """One row for every entry of a posterior quantity.

    Parameters
    ----------
    draws : xarray.DataArray
        Dims ``chain, draw`` and at most one more, whose labels become the units.
    estimand, method : str
        Written to each row.
    prob : float
        Probability of the equal-tailed interval.
    n : mapping of str to int, optional
        Items behind each unit.
    signed : bool
        Also give the posterior probability that the quantity is positive.
    extra : mapping, optional
        Further columns, for instance ``judge``.

    Returns
    -------
    list of dict
        Rows for `Estimates.from_rows`; the point is the posterior mean, of least expected squared error.

    Examples
    --------
    >>> import xarray as xr
    >>> draws = xr.DataArray(np.random.default_rng(0).normal(size=(4, 500, 1)),
    ...                      dims=("chain", "draw", "model"), coords={"model": ["m"]})
    >>> row, = summary_rows(draws, estimand="accuracy", method="bayes:x", prob=0.95)
    >>> row["unit"], bool(row["lower"] < row["point"] < row["upper"])
    ('m', True)
    """
    unit_dim = next((str(dim) for dim in draws.dims if dim not in {"chain", "draw"}), None)
    if unit_dim is None:
        draws, unit_dim = draws.expand_dims(unit=[estimand]), "unit"
    values = draws.transpose("chain", "draw", unit_dim).to_numpy()
    ess, rhat = _convergence(values)
    low, high = np.quantile(values, [(1 - prob) / 2, (1 + prob) / 2], axis=(0, 1))
    rows = []
    for k, unit in enumerate(str(label) for label in draws[unit_dim].to_numpy()):
        row = {"estimand": estimand, "unit": unit, "method": method, "point": float(values[..., k].mean()),
               "lower": float(low[k]), "upper": float(high[k]), "prob": prob,
               "n": (n or {}).get(unit, np.nan), "ess": float(ess[k]), "rhat": float(rhat[k])}  # fmt: skip
        if signed:
            row["p_positive"] = float((values[..., k] > 0).mean())
        rows.append({**row, **(extra or {})})
    return rows


def _convergence(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Smaller of bulk and tail ESS, and rank-normalised split R-hat (Vehtari et al. 2021), per entry.

    What is the same in every draw (ΔJ where the judge's errors are shared) has neither.
    """
    from arviz_stats.base import array_stats

    flat = np.moveaxis(values, -1, 0)
    ess, rhat = np.full(len(flat), np.nan), np.full(len(flat), np.nan)
    varies = np.ptp(flat, axis=(1, 2)) > 0
    if varies.any():
        options: dict[str, Any] = {"chain_axis": 1, "draw_axis": 2}
        bulk = array_stats.ess(flat[varies], method="bulk", **options)
        tail = array_stats.ess(flat[varies], method="tail", prob=(0.05, 0.95), **options)
        ess[varies] = np.minimum(bulk, tail)
        rhat[varies] = array_stats.rhat(flat[varies], **options)
    return ess, rhat


def differences(
    draws: xr.DataArray, dim: str, pairs: Sequence[tuple[str, str]] | None = None
) -> xr.DataArray:
    """Draws of every pairwise difference along ``dim``, labelled ``"a − b"``.

    Examples
    --------
    >>> import xarray as xr
    >>> dims, names = ("chain", "draw", "model"), {"model": ["a", "b"]}
    >>> draws = xr.DataArray(np.ones((1, 2, 2)), dims=dims, coords=names)
    >>> differences(draws, "model")["pair"].values.tolist()
    ['a − b']
    """
    import xarray as xr

    names = [str(name) for name in draws[dim].to_numpy()]
    chosen = list(pairs or [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]])
    parts = [draws.sel({dim: a}, drop=True) - draws.sel({dim: b}, drop=True) for a, b in chosen]
    labels = [f"{a} − {b}" for a, b in chosen]
    if not parts:
        return draws.isel({dim: slice(0, 0)}).rename({dim: "pair"})
    return xr.concat(parts, dim="pair").assign_coords(pair=labels)
