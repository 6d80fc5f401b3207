"""Saved fits: trees to NetCDF and back, written whole or not at all, and models that are not registered here.

Of such a model a saved fit has draws of its estimands, and no density.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import xarray as xr

from bayesjudge.errors import UsageError
from bayesjudge.estimates import Estimates
from bayesjudge.estimates.posterior import Quantities, estimates_of
from bayesjudge.files import write_whole
from bayesjudge.inference.fit import Fit
from bayesjudge.model import Data, Elsewhere, GivesQuantities, Statistic, find_model, model_names

#: Group of a saved tree with a group for each estimand.
KEPT = "estimands"


@dataclass(frozen=True, kw_only=True)
class StoredModel:
    """What a saved fit says of the model that was fitted: rows follow, another fit does not."""

    name: str
    label: str
    kept: Quantities = field(repr=False, hash=False, compare=False)

    @property
    def statistics(self) -> Mapping[str, Statistic]:
        """None is known."""
        return {}

    def estimates(self, posterior: xr.Dataset, data: Data, *, prob: float = 0.95) -> Estimates:  # noqa: ARG002
        """Rows of the draws that were saved."""
        return estimates_of(self.kept, method=self.label, prob=prob)

    def quantities(self, posterior: xr.Dataset, data: Data) -> Quantities:  # noqa: ARG002
        """The draws that were saved."""
        return self.kept

    def elsewhere(self, data: Data) -> Elsewhere:  # noqa: ARG002
        """Nobody draws again."""
        return Elsewhere("stored draws", lambda *_: self._refuse())

    def prepare(self, table: Any) -> Data:  # noqa: ARG002
        """Refused, as every other fit."""
        self._refuse()

    def numpyro(self, data: Data) -> None:  # noqa: ARG002
        """Refused."""
        self._refuse()

    def pymc(self, data: Data) -> Any:  # noqa: ARG002
        """Refused."""
        self._refuse()

    def simulate(self, key: Any, data: Data) -> Mapping[str, Any]:  # noqa: ARG002
        """Refused."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        registered = ", ".join(model_names())
        raise UsageError(
            f"model {self.name!r} is not registered here ({registered} are): its saved fit has draws, rows and gate, "
            "and to fit it again takes the model itself"
        )


def is_registered(name: str, model: object = None) -> bool:
    """Whether a name leads to a registered model, and to this one's class."""
    return name in model_names() and (model is None or find_model(name) is type(model))


def with_estimands(fit: Fit) -> xr.DataTree:
    """The tree of a fit, of an unregistered model with the draws of its estimands, from which rows follow."""
    if is_registered(fit.model.name, fit.model) or not isinstance(fit.model, GivesQuantities):
        return fit.tree
    tree = fit.tree.copy()
    for name, draws in fit.quantities().items():
        says = {"says": json.dumps(dict(draws.attrs), default=list)}
        tree[f"{KEPT}/{name}"] = xr.DataTree(xr.Dataset({"draws": draws.drop_attrs().assign_attrs(says)}))
    tree.attrs = {**fit.tree.attrs, "label": fit.model.label}
    return tree


def stored_model(name: str, tree: xr.DataTree) -> StoredModel:
    """The model of a tree that `with_estimands` made."""
    kept = {}
    for estimand, group in tree[KEPT].children.items():
        draws = group["draws"]
        kept[estimand] = draws.assign_attrs(json.loads(draws.attrs["says"]))
    return StoredModel(name=name, label=str(tree.attrs["label"]), kept=kept)


def write_tree(tree: xr.DataTree, path: str | os.PathLike[str]) -> Path:
    """Write a tree to one NetCDF file, made in memory: HDF5 does not survive a disk that fills up.

    Examples
    --------
    >>> import tempfile
    >>> tree = xr.DataTree.from_dict({"posterior": xr.Dataset({"theta": ("draw", [0.1, 0.2])})})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = read_tree(write_tree(tree, Path(folder) / "tree.nc"))
    >>> again["posterior/theta"].values.tolist()
    [0.1, 0.2]
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise UsageError(f"no folder {str(target.parent)!r} to write {target.name!r} to; create it first")
    content = tree.to_netcdf(engine="h5netcdf")
    return write_whole(target, lambda file: file.write(content))


def read_tree(path: str | os.PathLike[str]) -> xr.DataTree:
    """Read a tree into memory."""
    source = Path(path)
    if not source.is_file():
        raise UsageError(f"no file {str(source)!r}")
    try:
        return xr.load_datatree(source, engine="h5netcdf")
    except (OSError, ValueError) as error:
        raise UsageError(f"{str(source)!r} is not a NetCDF file of a fit: {error}") from error
