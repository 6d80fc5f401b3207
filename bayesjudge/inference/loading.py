"""A saved fit read back as the `Fit` it was: model, data, draws and gate."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from bayesjudge.errors import UsageError
from bayesjudge.inference.elsewhere import moving
from bayesjudge.inference.fit import Fit
from bayesjudge.inference.gate import gate_of
from bayesjudge.inference.sites import COMPLETE, sites_of
from bayesjudge.inference.stored import KEPT, StoredModel, is_registered, read_tree, stored_model
from bayesjudge.model import Data, Model, find_model, latent_sites
from bayesjudge.priors import Prior


def load_fit(path: str | os.PathLike[str]) -> Fit:
    """Read a fit; the model is found by its registered name.

    Of a model that is not registered here, a function for instance, it has the tree, rows and gate; it cannot be
    fitted again.

    Raises
    ------
    UsageError
        The file is missing, is not a fit, or is one of an earlier version.

    Examples
    --------
    >>> import tempfile
    >>> from bayesjudge.datasets import simulate_verdicts
    >>> from bayesjudge.inference import Laplace, fit
    >>> from bayesjudge.models.judge_error import JudgeError
    >>> log = simulate_verdicts(seed=1).verdicts
    >>> result = fit(JudgeError(pooling="shared"), log, engine=Laplace(draws=500))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load_fit(result.save(f"{folder}/fit.nc"))
    >>> bool((again.posterior["theta"] == result.posterior["theta"]).all())
    True
    """
    source, tree = str(path), read_tree(path)
    if not is_fit(tree):
        raise UsageError(f"{source!r} holds no bayesjudge fit; write one with Fit.save(path)")
    return fit_of(tree, source)


def is_fit(tree: xr.DataTree) -> bool:
    """Whether this package made a tree."""
    return {"manifest", "data"} <= set(tree.attrs)


def fit_of(tree: xr.DataTree, source: str) -> Fit:
    """The fit of a tree that this package made; ``source`` is what messages call it."""
    if COMPLETE not in tree.attrs:
        raise UsageError(f"{source!r} was written by an earlier version, whose axes had other names: fit again")
    manifest = json.loads(str(tree.attrs["manifest"]))
    name = manifest["model"]
    try:
        model: Model = (
            stored_model(name, tree)
            if KEPT in tree.children and not is_registered(name)
            else _model(name, manifest["options"])
        )
    except (AttributeError, TypeError) as error:
        raise UsageError(f"{source!r} has options that this model has not: {error}") from error
    sites = sites_of(tree["posterior"].to_dataset())
    sites = moving(sites) if isinstance(model, StoredModel) else sites
    gate = gate_of(sites, tree["sample_stats"].to_dataset(), latent=latent_sites(model))
    return Fit(model=model, data=_data(tree, json.loads(str(tree.attrs["data"]))), made=tree, gate=gate)


def _model(name: str, options: Mapping[str, Any]) -> Model:
    """The model with its options; an option that is a dataclass is rebuilt from its default's type."""
    build = find_model(name)
    default = build()
    rebuilt: dict[str, Any] = {}
    for option, value in options.items():
        if option == "given":
            rebuilt[option] = tuple((slot, Prior(prior["family"], tuple(prior["parameters"]))) for slot, prior in value)
            continue
        current: Any = getattr(default, option)
        if isinstance(value, Mapping) and hasattr(current, "__dataclass_fields__"):
            rebuilt[option] = dataclasses.replace(current, **value)
        else:
            rebuilt[option] = tuple(value) if isinstance(current, tuple) else value
    return build(**rebuilt)


def _data(tree: xr.DataTree, design: Mapping[str, Any]) -> Data:
    groups = [tree["constant_data"].to_dataset(), tree["observed_data"].to_dataset()]
    # An array that is called like a dimension (the judge of every cell) comes back as a coordinate.
    arrays = {str(name): np.asarray(value) for group in groups for name, value in group.variables.items()}
    # Observations along several axes are kept along one.
    for name in (design["observed"], *design["also_observed"]):
        arrays[name] = arrays[name].reshape([len(design["coords"][axis]) for axis in design["dims"][name]])
    return Data(
        arrays={name: arrays[name] for name in design["dims"]},
        dims={name: tuple(dims) for name, dims in design["dims"].items()},
        coords={name: tuple(labels) for name, labels in design["coords"].items()},
        observed=design["observed"],
        weights=design["weights"],
        counted=design.get("counted", False),
        unobserved=design.get("unobserved", ""),
        also_observed=tuple(design["also_observed"]),
        ragged=tuple(design["ragged"]),
        facts={name: _hashable(value) for name, value in design["facts"].items()},
        units=design["units"],
    )


def _hashable(value: Any) -> Any:
    """Tuples again, which JSON has as lists: facts tell programs apart, so they must be hashable."""
    return tuple(_hashable(part) for part in value) if isinstance(value, list) else value
