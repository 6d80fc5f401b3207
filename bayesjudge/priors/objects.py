"""Priors of other packages, known by their shape: none of these packages is imported."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from bayesjudge.errors import UsageError
from bayesjudge.priors.families import BACK, FAMILIES
from bayesjudge.priors.prior import Prior


def converted(given: Any) -> Prior:
    """The prior of this package that a NumPyro, SciPy (frozen), PyMC-extras or Bambi prior is."""
    if isinstance(given, Prior):
        return given
    for convert in (_of_scipy, _of_pymc, _of_numpyro):
        if (found := convert(given)) is not None:
            return found
    # What others write of their objects has addresses in memory, or the nodes of a graph.
    plain = given is None or isinstance(given, float | int | Fraction | tuple | list)
    what = repr(given) if plain else f"an object of type {type(given).__module__}.{type(given).__name__}"
    raise UsageError(
        f"{what} is no prior that can be read; write it as text: 'Normal(0, 1)' or another of {', '.join(FAMILIES)}; "
        "a rate also as 160/200 (an earlier study) or 0.7..0.9 (holds 90 %)"
    )


def _of_scipy(given: Any) -> Prior | None:
    """From ``scipy.stats.beta(16, 4)``."""
    made: Any = getattr(given, "dist", None)
    if not hasattr(made, "_parse_args"):
        return None
    # The only way from positional and named arguments to shapes, loc and scale.
    shapes, loc, scale = made._parse_args(*given.args, **given.kwds)
    values = dict(zip((made.shapes or "").split(", "), shapes, strict=False)) | {"loc": loc, "scale": scale}
    standard = {"loc": 0.0, "scale": 1.0}
    for name, family in FAMILIES.items():
        if family.scipy != made.name or name == "LogitNormal":
            continue
        named = [word.split() for word in family.words.split(", ")]
        # A family without a location has none other than 0.
        moved = [key for key in standard.keys() - {key for _, key in named} if values[key] != standard[key]]
        return None if moved else Prior(name, tuple(BACK[how](float(values[key])) for how, key in named))
    return None


def _of_pymc(given: Any) -> Prior | None:
    """From PyMC-extras' ``Prior("Beta", alpha=16, beta=4)``, or Bambi's."""
    name = getattr(given, "distribution", None) or getattr(given, "name", None)
    values = getattr(given, "parameters", None) or getattr(given, "args", None)
    if name not in FAMILIES or not isinstance(values, Mapping):
        return None
    return _named(name, FAMILIES[name].pymc, values.get)


def _of_numpyro(given: Any) -> Prior | None:
    """From ``numpyro.distributions.Beta(16, 4)``."""
    name = type(given).__name__
    return _named(name, FAMILIES[name].numpyro, lambda key: getattr(given, key, None)) if name in FAMILIES else None


def _named(name: str, words: str, value_of: Any) -> Prior | None:
    values = [value_of(word) for word in words.split()]
    try:
        return Prior(name, tuple(map(float, values)))
    except TypeError:  # a parameter by another name, or that is itself uncertain
        return None
