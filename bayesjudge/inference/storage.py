"""Fits to NetCDF and back, written whole or not at all."""

from __future__ import annotations

import dataclasses
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from bayesjudge.errors import UsageError
from bayesjudge.inference.fit import Fit
from bayesjudge.inference.gate import gate_of
from bayesjudge.model import Data, Model, find_model

__all__ = ["load_fit", "save_fit"]


def save_fit(fit: Fit, path: str | os.PathLike[str]) -> Path:
    """Write a fit to one NetCDF file, first to a temporary file beside it, then renamed.

    Raises
    ------
    UsageError
        The folder does not exist.

    Examples
    --------
    >>> from bayesjudge.datasets import simulate_verdicts
    >>> from bayesjudge.inference import fit
    >>> from bayesjudge.models.judge_error import JudgeError
    >>> log = simulate_verdicts(seed=1).verdicts
    >>> result = fit(JudgeError(pooling="shared"), log, engine="laplace", draws=500)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load_fit(save_fit(result, Path(folder) / "fit.nc"))
    >>> bool((again.posterior["theta"] == result.posterior["theta"]).all())
    True
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise UsageError(f"no folder {str(target.parent)!r} to write {target.name!r} to; create it first")
    handle, temporary = tempfile.mkstemp(dir=target.parent, suffix=".part")
    os.close(handle)
    try:
        fit.tree.to_netcdf(temporary, engine="h5netcdf")
        Path(temporary).replace(target)
    finally:
        Path(temporary).unlink(missing_ok=True)
    return target


def load_fit(path: str | os.PathLike[str]) -> Fit:
    """Read a fit; the model is found by its registered name.

    Raises
    ------
    UsageError
        The file is missing, is not a fit, or names a model that is not registered here.
    """
    source = Path(path)
    if not source.is_file():
        raise UsageError(f"no file {str(source)!r}")
    try:
        tree = xr.load_datatree(source, engine="h5netcdf")
    except (OSError, ValueError) as error:
        raise UsageError(f"{str(source)!r} is not a NetCDF file of a fit: {error}") from error
    if not {"manifest", "data"} <= set(tree.attrs):
        raise UsageError(f"{str(source)!r} holds no bayesjudge fit; write one with Fit.save(path)")
    manifest = json.loads(str(tree.attrs["manifest"]))
    try:
        model = _model(manifest["model"], manifest["options"])
    except (AttributeError, TypeError) as error:
        raise UsageError(f"{str(source)!r} has options that this model has not: {error}") from error
    gate = gate_of(tree["posterior"].to_dataset(), tree["sample_stats"].to_dataset())
    return Fit(model=model, data=_data(tree, json.loads(str(tree.attrs["data"]))), tree=tree, gate=gate)


def _model(name: str, options: Mapping[str, Any]) -> Model:
    """The model with its options; an option that is a dataclass is rebuilt from its default's type."""
    build = find_model(name)
    default = build()
    rebuilt: dict[str, Any] = {}
    for option, value in options.items():
        current = getattr(default, option)
        if dataclasses.is_dataclass(current) and isinstance(value, Mapping):
            rebuilt[option] = type(current)(**value)  # type: ignore[arg-type]
        else:
            rebuilt[option] = tuple(value) if isinstance(current, tuple) else value
    return build(**rebuilt)


def _data(tree: xr.DataTree, design: Mapping[str, Any]) -> Data:
    groups = [tree["constant_data"].to_dataset(), tree["observed_data"].to_dataset()]
    arrays = {str(name): np.asarray(value) for group in groups for name, value in group.data_vars.items()}
    return Data(
        arrays={name: arrays[name] for name in design["dims"]},
        dims={name: tuple(dims) for name, dims in design["dims"].items()},
        coords={name: tuple(labels) for name, labels in design["coords"].items()},
        observed=design["observed"], weights=design["weights"], ragged=tuple(design["ragged"]),
        facts={name: _hashable(value) for name, value in design["facts"].items()}, units=design["units"],
    )  # fmt: skip


def _hashable(value: Any) -> Any:
    """Tuples again, which JSON has as lists: facts tell programs apart, so they must be hashable."""
    return tuple(_hashable(part) for part in value) if isinstance(value, list) else value
