"""What is what in a tree: sites and what is derived from them, names of axes, labels of entries."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray as xr

#: Axes of draws.
SAMPLE = ("chain", "draw")
#: Attribute of a tree that lacks nothing, and of a variable that is no site.
COMPLETE, DERIVED = "complete", "derived"
#: Axes and sites whose names arviz-plots keeps for itself, and what they are called in the tree.
RENAMED = {"group": "item_group", "alpha": "alpha_"}


def sites_of(draws: xr.Dataset) -> xr.Dataset:
    """The sites among the variables, with axes as the model names them."""
    sites = draws[[name for name, values in draws.data_vars.items() if DERIVED not in values.attrs]]
    return sites.rename({new: old for old, new in RENAMED.items() if new in {*sites.dims, *sites.data_vars}})


def entry_labels(values: xr.DataArray) -> list[str]:
    """A label of every entry of the axes that are not those of draws, in their order."""
    labels = [values[dim].to_numpy() for dim in values.dims if dim not in SAMPLE]
    return [" | ".join(map(str, names)) for names in itertools.product(*labels)]
