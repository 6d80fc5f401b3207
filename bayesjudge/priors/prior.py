"""One prior: a family and its parameters, as text, and as a distribution of SciPy, NumPyro and PyMC."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, Self

from bayesjudge.errors import UsageError, did_you_mean
from bayesjudge.priors.families import FAMILIES, Family

_CALL = re.compile(r"\s*(\w+)\s*\(([^()]*)\)\s*")


@dataclass(frozen=True)
class Prior:
    """A distribution as a value: equal ones are equal, have one hash and print as they are typed.

    Parameters
    ----------
    family : str
        One of `FAMILIES`.
    parameters : tuple of float
        In the order of NumPyro and PyMC.

    Raises
    ------
    UsageError
        A family that is not there, too few or too many parameters, or one out of range.

    Examples
    --------
    >>> str(Prior("Beta", (16, 4))), Prior.of("Beta(16, 4)") == Prior("Beta", (16.0, 4.0))
    ('Beta(16, 4)', True)
    """

    family: str
    parameters: tuple[float, ...]

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            hint = did_you_mean(self.family, FAMILIES)
            raise UsageError(f"no prior family {self.family!r}{hint}; there are {', '.join(FAMILIES)}")
        object.__setattr__(self, "parameters", tuple(map(float, self.parameters)))
        kinds = self.of_family.kinds
        if len(self.parameters) != len(kinds):
            given = f"{len(self.parameters)} parameter{'s' * (len(self.parameters) != 1)}"
            raise UsageError(f"{self} has {given}, not {len(kinds)}: write {_form(self.family)}")
        for kind, value in zip(kinds, self.parameters, strict=True):
            if not math.isfinite(value) or (kind not in {"location", "level"} and value <= 0):
                raise UsageError(f"{self}: the {kind} must be a number{_above(kind)}, in {_form(self.family)}")

    @classmethod
    def of(cls, text: str) -> Self:
        """The prior that a text such as ``Beta(16, 4)`` represents; nothing is evaluated."""
        found = _CALL.fullmatch(text)
        if found is None:
            raise UsageError(f"prior {text!r}: write a family and its parameters, for instance Normal(0, 1)")
        try:
            return cls(found[1], tuple(float(part) for part in found[2].split(",")))
        except ValueError as error:
            if isinstance(error, UsageError):
                raise
            raise UsageError(f"prior {text!r}: parameters are numbers, as in Normal(0, 1)") from error

    def __str__(self) -> str:
        return f"{self.family}({', '.join(f'{value:.6g}' for value in self.parameters)})"

    @property
    def of_family(self) -> Family:
        """Its family."""
        return FAMILIES[self.family]

    @property
    def support(self) -> str:
        """Where its values lie."""
        return self.of_family.support

    def widened(self, times: float) -> Prior:
        """The same family, so many times as wide."""
        return Prior(self.family, self.of_family.widened(self.parameters, times))

    def log_density(self, x: Any) -> Any:
        """Log density at values of a quantity that is no rate."""
        return self.of_family.frozen(self.parameters).logpdf(x)

    def quantile(self, q: Any) -> Any:
        """Values below which it has the probabilities ``q``."""
        from scipy.special import expit

        found = self.of_family.frozen(self.parameters).ppf(q)
        return expit(found) if self.family == "LogitNormal" else found


def _form(family: str) -> str:
    return f"{family}({', '.join(FAMILIES[family].kinds)})"


def _above(kind: str) -> str:
    return "" if kind in {"location", "level"} else " above 0"
