"""Trees to NetCDF and back, written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import xarray as xr

from bayesjudge.errors import UsageError
from bayesjudge.files import write_whole


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
