"""What a question, or `fit`, may be given as a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bayesjudge.adapters import pymc, tree
from bayesjudge.adapters.files import from_file
from bayesjudge.adapters.function import FunctionModel
from bayesjudge.errors import UsageError
from bayesjudge.model import Model

if TYPE_CHECKING:
    from bayesjudge.inference import Fit


def as_model(
    given: Any, name: str | None = None, *, variables: Mapping[str, str] | None = None, systems: Sequence[str] = ()
) -> Model:
    """A model, or a function, a PyMC model or a tree of draws made into one.

    Parameters
    ----------
    given : Model, callable, pm.Model, xarray.DataTree or str
        A function of the arrays of `bayesjudge.data`, which samples NumPyro sites or returns a ``pm.Model``; a
        ``pm.Model``; an ArviZ tree of a posterior, or its NetCDF file; ``file.py:name`` is a function of a Python file,
        which is run.
    name : str, optional
        What it is called; by default as the function, or the file.
    variables : mapping of str to str, optional
        Of a tree: what it calls ``accuracy``, ``elo`` and the other estimands and arrays.
    systems : sequence of str, optional
        Of a tree that does not name them: the systems that are judged, or the judges whose reliability it is about, in
        the order of its axis.

    Raises
    ------
    UsageError
        None of these; a file without it.

    Examples
    --------
    >>> def coin(data):
    ...     import numpyro
    ...     from numpyro import distributions as dist
    ...
    ...     with numpyro.plate("system", data.size("system")):
    ...         share = numpyro.sample("accuracy", dist.Beta(1, 1))
    ...         numpyro.sample("positives", dist.Binomial(data["n"], share), obs=data["positives"])
    >>> as_model(coin).label
    'bayes:coin'
    """
    found = model_or_fit(given, name, variables=variables, systems=systems)
    return found if isinstance(found, Model) else found.model


def model_or_fit(
    given: Any, name: str | None = None, *, variables: Mapping[str, str] | None = None, systems: Sequence[str] = ()
) -> Model | Fit:
    """A model, or a fit that was made before, given as such or as the file that it was saved to."""
    from bayesjudge.inference.fit import Fit

    if tree.is_tree(given):
        return tree.from_tree(given, name, variables=variables, systems=systems)
    given = from_file(given, what="model")
    if isinstance(given, Model | Fit):
        return given
    if pymc.is_model(given):
        return FunctionModel(function=_Given(given), named=name or given.name or "pymc_model")
    if callable(given) and not isinstance(given, type):
        return FunctionModel(function=given, named=name or "")
    raise UsageError(
        f"{given!r} is no model: give a registered name, a function of the arrays of bayesjudge.data (in NumPyro, "
        "or one that returns a pm.Model), a fit, an ArviZ tree or its .nc file, or an object with the methods of "
        "bayesjudge.model.Model (examples/own_model.py, own_pymc_model.py, from_stan_or_bambi.py, own_class.py)"
    )


class _Given:
    """A model that is there already, as the function that gives it."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __call__(self, data: Any) -> Any:  # noqa: ARG002  # it has its data
        return self.model
