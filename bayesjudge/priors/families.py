"""The families that a prior may have: their parameters, and what they are called in SciPy, NumPyro and PyMC."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

#: Where a family's values lie.
Support = Literal["any number", "above 0", "between 0 and 1"]
#: What a parameter is. With another unit a level moves by a logarithm, a location and a scale are divided and a
#: rate is multiplied; with another width scales, spreads (of a logarithm or logit), rates and counts change.
Kind = Literal["location", "scale", "rate", "level", "spread", "count", "shape", "freedom"]


@dataclass(frozen=True)
class Family:
    """One family of distributions.

    support: Where its values lie.
    kinds: What each parameter is, in NumPyro's order, which is PyMC's too.
    numpyro, pymc: Names of the parameters there.
    scipy, words: Name there, and each parameter by SciPy's ``loc``, ``scale`` or a shape.
    """

    support: Support
    kinds: tuple[Kind, ...]
    numpyro: str
    pymc: str
    scipy: str
    words: str

    def in_unit(self, values: Sequence[Any], per: Any, *, zero: Any = 0.0, log: Any = math.log) -> list[Any]:
        """Parameters of the quantity in a unit that is ``per`` of the present one, and from another zero."""
        change: dict[str, Callable[[Any], Any]] = {
            "location": lambda value: zero + value / per,
            "scale": lambda value: value / per,
            "rate": lambda value: value * per,
            "level": lambda value: value - log(per),
        }
        return [change.get(kind, lambda same: same)(value) for kind, value in zip(self.kinds, values, strict=True)]

    def widened(self, values: Sequence[float], times: float) -> tuple[float, ...]:
        """Parameters of a prior so many times as wide."""
        change = {"scale": times, "spread": times, "rate": 1 / times, "count": times**-2}
        return tuple(value * change.get(kind, 1.0) for kind, value in zip(self.kinds, values, strict=True))

    def frozen(self, values: Sequence[float]) -> Any:
        """SciPy's distribution; of a LogitNormal that of the logit."""
        return _frozen(self.scipy, self.words, tuple(values))


@functools.cache
def _frozen(name: str, words: str, values: tuple[float, ...]) -> Any:
    """Made once: SciPy writes the documentation of every distribution anew, half a millisecond."""
    from scipy import stats

    parts = zip((word.split() for word in words.split(", ")), values, strict=True)
    return getattr(stats, name)(**{parameter: _TO[how](value) for (how, parameter), value in parts})


#: SciPy's parameter from this package's, and back, by the word before its name.
_TO: dict[str, Callable[[float], float]] = {"is": float, "inverse": lambda x: 1 / x, "log": math.exp}
BACK: dict[str, Callable[[float], float]] = {"is": float, "inverse": lambda x: 1 / x, "log": math.log}

_REAL: Support = "any number"
_POSITIVE: Support = "above 0"
_RATE: Support = "between 0 and 1"
_MOVED: tuple[Kind, ...] = ("location", "scale")
_LEVEL: tuple[Kind, ...] = ("level", "spread")
_T, _AT = "is df, is loc, is scale", "is loc, is scale"
FAMILIES: dict[str, Family] = {
    "Normal": Family(_REAL, _MOVED, "loc scale", "mu sigma", "norm", _AT),
    "StudentT": Family(_REAL, ("freedom", *_MOVED), "df loc scale", "nu mu sigma", "t", _T),
    "Cauchy": Family(_REAL, _MOVED, "loc scale", "alpha beta", "cauchy", _AT),
    "Laplace": Family(_REAL, _MOVED, "loc scale", "mu b", "laplace", _AT),
    "HalfNormal": Family(_POSITIVE, ("scale",), "scale", "sigma", "halfnorm", "is scale"),
    "HalfCauchy": Family(_POSITIVE, ("scale",), "scale", "beta", "halfcauchy", "is scale"),
    "Rayleigh": Family(_POSITIVE, ("scale",), "scale", "sigma", "rayleigh", "is scale"),
    "Exponential": Family(_POSITIVE, ("rate",), "rate", "lam", "expon", "inverse scale"),
    "Gamma": Family(_POSITIVE, ("shape", "rate"), "concentration rate", "alpha beta", "gamma", "is a, inverse scale"),
    "InverseGamma": Family(
        _POSITIVE, ("shape", "scale"), "concentration rate", "alpha beta", "invgamma", "is a, is scale"
    ),
    "LogNormal": Family(_POSITIVE, _LEVEL, "loc scale", "mu sigma", "lognorm", "log scale, is s"),
    "Beta": Family(_RATE, ("count", "count"), "concentration1 concentration0", "alpha beta", "beta", "is a, is b"),
    "LogitNormal": Family(_RATE, _LEVEL, "loc scale", "mu sigma", "norm", _AT),
}
