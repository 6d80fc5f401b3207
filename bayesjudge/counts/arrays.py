"""Tables of arrays: records whose fields have one entry a row, and sums over the rows of a group."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

type Ints = NDArray[np.int64]
type Floats = NDArray[np.float64]


def sums_within(values: NDArray[Any], place: NDArray[Any], groups: int) -> NDArray[Any]:
    """Sums (G, ...) of the rows (R, ...) that belong to each of the groups."""
    total = np.zeros((groups, *values.shape[1:]), dtype=values.dtype)
    np.add.at(total, place.reshape(-1), values)
    return total


@dataclass(frozen=True, eq=False, kw_only=True)
class Rows:
    """Arrays of one length that are filtered together; the fields of ``not_rows`` are about all of them."""

    not_rows: ClassVar[tuple[str, ...]] = ()

    def keep(self, rows: NDArray[Any]) -> Self:
        """The rows of a mask (R,) or of places."""
        parts = [one.name for one in fields(self) if one.name not in self.not_rows]
        return replace(self, **{name: getattr(self, name)[rows] for name in parts})

    def __len__(self) -> int:
        return len(next(getattr(self, one.name) for one in fields(self) if one.name not in self.not_rows))
