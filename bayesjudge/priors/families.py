"""The families that a prior may have: their parameters, and what they are called in SciPy, NumPyro and PyMC."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

#: Where a family's values lie.
Support = Literal["any number", "above 0", "between 0 and 1"]
#: What a parameter is. With another unit a level moves by a logarithm, a location and a scale are divided and a
#: rate is multiplied; with another width scales, spreads (of a logarithm or logit), rates and counts change.
Kind = Literal["location", "scale", "rate", "level", "spread", "count", "shape", "freedom"]


@dataclass(frozen=True, kw_only=True)
class Family:
    """One family of distributions.

    support: Where its values lie.
    kinds: What each parameter is, in NumPyro's order, which is PyMC's too.
    numpyro, pymc: Names of the parameters there.
    scipy: Name there, and each parameter by SciPy's ``loc``, ``scale`` or a shape.
    """

    support: Support
    kinds: tuple[Kind, ...]
    numpyro: str
    pymc: str
    scipy: tuple[str, str]

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
        from scipy import stats

        name, words = self.scipy
        given = {
            word.split()[-1]: _TO[word.split()[0]](value) for word, value in zip(words.split(", "), values, strict=True)
        }
        return getattr(stats, name)(**given)


#: SciPy's parameter from this package's, and back, by the word before its name.
_TO: dict[str, Callable[[float], float]] = {"is": float, "inverse": lambda x: 1 / x, "log": math.exp}
BACK: dict[str, Callable[[float], float]] = {"is": float, "inverse": lambda x: 1 / x, "log": math.log}

_MOVED: tuple[Kind, ...] = ("location", "scale")
FAMILIES: dict[str, Family] = {
    "Normal": Family(
        support="any number", kinds=_MOVED, numpyro="loc scale", pymc="mu sigma", scipy=("norm", "is loc, is scale")
    ),
    "StudentT": Family(
        support="any number",
        kinds=("freedom", *_MOVED),
        numpyro="df loc scale",
        pymc="nu mu sigma",
        scipy=("t", "is df, is loc, is scale"),
    ),
    "Cauchy": Family(
        support="any number", kinds=_MOVED, numpyro="loc scale", pymc="alpha beta", scipy=("cauchy", "is loc, is scale")
    ),
    "Laplace": Family(
        support="any number", kinds=_MOVED, numpyro="loc scale", pymc="mu b", scipy=("laplace", "is loc, is scale")
    ),
    "HalfNormal": Family(
        support="above 0", kinds=("scale",), numpyro="scale", pymc="sigma", scipy=("halfnorm", "is scale")
    ),
    "HalfCauchy": Family(
        support="above 0", kinds=("scale",), numpyro="scale", pymc="beta", scipy=("halfcauchy", "is scale")
    ),
    "Rayleigh": Family(
        support="above 0", kinds=("scale",), numpyro="scale", pymc="sigma", scipy=("rayleigh", "is scale")
    ),
    "Exponential": Family(
        support="above 0", kinds=("rate",), numpyro="rate", pymc="lam", scipy=("expon", "inverse scale")
    ),
    "Gamma": Family(
        support="above 0",
        kinds=("shape", "rate"),
        numpyro="concentration rate",
        pymc="alpha beta",
        scipy=("gamma", "is a, inverse scale"),
    ),
    "InverseGamma": Family(
        support="above 0",
        kinds=("shape", "scale"),
        numpyro="concentration rate",
        pymc="alpha beta",
        scipy=("invgamma", "is a, is scale"),
    ),
    "LogNormal": Family(
        support="above 0",
        kinds=("level", "spread"),
        numpyro="loc scale",
        pymc="mu sigma",
        scipy=("lognorm", "log scale, is s"),
    ),
    "Beta": Family(
        support="between 0 and 1",
        kinds=("count", "count"),
        numpyro="concentration1 concentration0",
        pymc="alpha beta",
        scipy=("beta", "is a, is b"),
    ),
    "LogitNormal": Family(
        support="between 0 and 1",
        kinds=("level", "spread"),
        numpyro="loc scale",
        pymc="mu sigma",
        scipy=("norm", "is loc, is scale"),
    ),
}
