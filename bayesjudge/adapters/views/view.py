"""What a function of one question is called with, and which variables of it are reported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.model import Data

if TYPE_CHECKING:
    import xarray as xr

#: Beginning of the names of arrays that functions need not read: what all observations are made of.
PATTERN = "pattern_"

type Values = Mapping[str, Any]
type Draws = Mapping[str, xr.DataArray]


@dataclass(frozen=True, kw_only=True)
class View:
    """The arrays of a question's table, and the names under which a function answers.

    kinds: Tables and counts that it is made from.
    read: What makes a table of a file.
    made: What makes the data of a table.
    arrays: Axes of every array that a function reads; it may observe them.
    estimands: Axis of every variable that is reported; empty where it is one number.
    needed: Variables of which there must be one.
    shared: Variables that may also be one number for all.
    resampled: Observations of a bootstrap, (replicates, ...), and what goes along with them.
    shown: Statistics of one observed array (..., ) by name, from the observations.
    reduced: Draws of what is reported, by name, where they are of parts of what an answer is about.
    """

    question: str
    kinds: tuple[type, ...]
    read: Callable[[Any], Any]
    made: Callable[[Any], Data]
    arrays: Mapping[str, tuple[str, ...]]
    estimands: Mapping[str, str]
    needed: tuple[str, ...]
    resampled: Callable[[Data, int, np.random.Generator], Values]
    shown: Callable[[str, Values, Data], dict[str, Any]]
    shared: tuple[str, ...] = ()
    reduced: Callable[[Draws, Data], Draws] = lambda draws, data: draws  # noqa: ARG005

    @property
    def axes(self) -> tuple[str, ...]:
        """Axes of what is reported."""
        return tuple(dict.fromkeys(axis for axis in self.estimands.values() if axis))


def by_entry(name: str, observed: Values, data: Data) -> dict[str, Any]:
    """An observed array entry by entry: rates where each has a total ``n``, the values elsewhere."""
    values, axes = np.asarray(observed[name], dtype=float), data.dims[name]
    of = next((one for one in ("n", "judged_n") if axes == data.dims.get(one)), None)
    total = np.asarray(data[of]) if of else np.ones(1)
    values = values / np.where(total > 0, total, np.nan)
    found = {}
    for place in np.ndindex(*(len(data.coords[axis]) for axis in axes)):
        where = " | ".join(str(data.coords[axis][k]) for axis, k in zip(axes, place, strict=True))
        found[f"{name} | {where}"] = values[(..., *place)]
    return found


def drawn_within(stratum: Any, n: Any, replicates: int, rng: np.random.Generator) -> Any:
    """Numbers (replicates, patterns) of resampled observations: within each stratum as many as there were."""
    drawn = np.zeros((replicates, len(n)), dtype=np.int64)
    for code in np.unique(stratum):
        mine = np.flatnonzero(stratum == code)
        drawn[:, mine] = rng.multinomial(n[mine].sum(), n[mine] / n[mine].sum(), size=replicates)
    return drawn
