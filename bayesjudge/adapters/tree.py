"""A posterior that was drawn elsewhere: an ArviZ tree of Stan, Bambi, brms or PyMC, or its NetCDF file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.adapters.estimands import AXES, NamedEstimands, require_entries, require_estimands
from bayesjudge.adapters.views import VIEWS, view_of
from bayesjudge.errors import UsageError
from bayesjudge.model import Data, Elsewhere

if TYPE_CHECKING:
    import xarray as xr

    from bayesjudge.inference import Fit


def is_tree(given: Any) -> bool:
    """Whether something is an ArviZ tree, or the path of one."""
    if isinstance(given, str | Path):
        return Path(given).suffix == ".nc"
    return type(given).__name__ == "DataTree" and type(given).__module__.startswith("xarray.")


def from_tree(
    given: Any, name: str | None = None, *, variables: Mapping[str, str] | None = None, systems: Sequence[str] = ()
) -> TreeModel | Fit:
    """The model of a tree or of its file, its ``variables`` and axes renamed; where this package saved it, the fit."""
    from bayesjudge.inference.loading import fit_of, is_fit
    from bayesjudge.inference.stored import KEPT, is_registered, read_tree

    is_file = isinstance(given, str | Path)
    tree: xr.DataTree = read_tree(given) if is_file else given
    source = Path(given).name if is_file else (tree.name or "tree")
    if is_fit(tree) and is_registered(json.loads(str(tree.attrs["manifest"]))["model"]):
        return fit_of(tree, source)
    if "posterior" not in tree.children:
        has = ", ".join(tree.children) or "none"
        raise UsageError(f"{source} has no group 'posterior' (it has {has}): give the ArviZ tree of a fitted model")
    parts = {group: part.to_dataset() for group, part in tree.children.items()}
    if KEPT in tree.children:  # the tree of a function, some of whose estimands may be computed from its draws
        posterior, kept = parts["posterior"], tree[KEPT]
        derived = [name for name in AXES if name in kept.children and name not in posterior]
        parts["posterior"] = posterior.assign(
            {name: _along_its_axis(kept.children[name].to_dataset()["draws"]) for name in derived}
        )
    groups = {group: _renamed(part, variables or {}, systems) for group, part in parts.items()}
    return TreeModel(groups=groups, named=name or Path(source).stem)


def _renamed(group: xr.Dataset, variables: Mapping[str, str], systems: Sequence[str]) -> xr.Dataset:
    """A group with ``variables`` (new name to old) under new names, those of known names along their axes."""
    import xarray as xr

    names = {old: new for new, old in variables.items()}
    found = {names.get(str(old), str(old)): draws for old, draws in group.data_vars.items()}
    if systems:
        found = {name: _along_systems(name, draws, systems) for name, draws in found.items()}
    return xr.Dataset(found, attrs=group.attrs)


def _along_its_axis(draws: xr.DataArray) -> xr.DataArray:
    """Draws of an estimand as their model had them: rows of judges have units."""
    named = "unit" in draws.dims and "judge" in draws.coords
    return (draws.swap_dims(unit="judge").drop_vars("unit") if named else draws).drop_attrs()


def _along_systems(name: str, draws: xr.DataArray, systems: Sequence[str]) -> xr.DataArray:
    axes = [dim for dim in draws.dims if dim not in {"chain", "draw"}]
    known = (AXES[name],) if name in AXES else VIEWS["accuracy"].arrays.get(name, ())
    if not {"system", "judge"} & {*known[:1]} or len(axes) != len(known):
        return draws
    if (size := draws.sizes[axes[0]]) != len(systems):
        raise UsageError(f"{name!r} has {size} {known[0]}s, and systems= names {len(systems)}: {', '.join(systems)}")
    new = {axis: to for axis, to in zip(axes, known, strict=True) if axis != to}
    return draws.drop_vars(new, errors="ignore").rename(new).assign_coords({known[0]: list(systems)})


@dataclass(frozen=True, kw_only=True)
class TreeModel(NamedEstimands):
    """A posterior with variables named as what they estimate, along the axis of what it is of.

    Attributes
    ----------
    groups : mapping of str to xarray.Dataset
        As ArviZ names them; checks that need one that is not there are listed as unchecked.
    named : str
        What the model is called.
    """

    groups: Mapping[str, xr.Dataset] = field(repr=False, hash=False, compare=False)
    named: str = "tree"

    @property
    def name(self) -> str:
        """The file's, or "tree"."""
        return self.named

    def prepare(self, table: Any) -> Data:
        """The arrays of a table, of which those in the tree's ``observed_data`` are the observations.

        Raises
        ------
        UsageError
            No variable is an estimand, or it is not along its axis; others than the table's are judged, or its data.
        """
        data, posterior = self.viewed(table), self.groups["posterior"]
        axes = {
            str(name): tuple(str(dim) for dim in draws.dims if dim not in {"chain", "draw"})
            for name, draws in posterior.data_vars.items()
        }
        require_estimands(self.source, axes, data, fix=_FIX)
        view = view_of(data)
        for name, axis in ((name, axis) for name, axis in view.estimands.items() if axis in posterior.dims):
            if axis not in posterior.coords:
                raise UsageError(f"{self.source} does not name its {axis}s: {_FIX.format(name=name)}")
            require_entries(self.source, posterior[axis].to_numpy().tolist(), data, axis=axis)
        observed = self._ordered("observed_data", data)
        if not observed.data_vars:
            return replace(data, observed="", unobserved=f"{self.source} has no group 'observed_data'")
        for name in (str(name) for name in observed.data_vars if name in view.arrays):
            # A saved fit has the entries of an array along one axis.
            if not (name in data.arrays and np.array_equal(np.ravel(observed[name]), np.ravel(data[name]))):
                raise UsageError(f"{self.source} is of other data: its {name} is not that of the table")
        own = {str(name): values for name, values in observed.data_vars.items() if name not in view.arrays}
        sizes = {str(dim): size for values in own.values() for dim, size in values.sizes.items()}
        first, *more = map(str, observed.data_vars)
        return replace(
            data,
            arrays={**data.arrays, **{name: values.to_numpy() for name, values in own.items()}},
            dims={**data.dims, **{name: tuple(map(str, values.dims)) for name, values in own.items()}},
            coords={**{dim: tuple(range(size)) for dim, size in sizes.items()}, **data.coords},
            observed=first,
            also_observed=tuple(more),
        )

    def numpyro(self, data: Data) -> None:  # noqa: ARG002
        """A tree has draws, and no density."""
        raise UsageError(f"{self.source} holds draws alone: give the function that made them to have it fitted again")

    def elsewhere(self, data: Data) -> Elsewhere:
        """The tree itself, its systems in the order of the table."""
        made_by = str(self.groups["posterior"].attrs.get("inference_library", "unknown"))
        return Elsewhere(f"stored draws ({made_by})", lambda *_: self._tree(data))

    def _tree(self, data: Data) -> xr.DataTree:
        import xarray as xr

        return xr.DataTree.from_dict({name: self._ordered(name, data) for name in self.groups})

    def _ordered(self, group: str, data: Data) -> xr.Dataset:
        import xarray as xr

        found = self.groups.get(group, xr.Dataset())
        return found.sel({axis: list(data.coords[axis]) for axis in view_of(data).axes if axis in found.indexes})


_FIX = "say which it is, as in bayesjudge.as_model(tree, variables={{'{name}': 'theta'}}, systems=['a', 'b'])"
