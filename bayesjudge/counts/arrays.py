"""Tables of arrays: records whose fields have one entry a row."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

from numpy.typing import NDArray


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
