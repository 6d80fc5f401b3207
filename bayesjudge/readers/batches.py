"""Records become columns some at a time, text in Arrow: what a record held besides is gone when the next ones come."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Collection, Iterable, Mapping
from types import NoneType
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from bayesjudge.errors import InputError
from bayesjudge.readers.filters import ROW
from bayesjudge.readers.sources import file_error
from bayesjudge.readers.values import is_unicode

#: Rows that become cells at a time.
_ROWS = 1000
#: Chunks that a new one is held against: names in turn, up to so many, come back to the same place within them.
_LAST = 8
_HOLD_TEXT = frozenset({str, dict, list})
#: What cells of one kind are kept as: a list of Python's own numbers is four times as large, and scattered.
_KEPT_AS = {str: pa.large_string(), float: pa.float64(), bool: pa.bool_()}


class Columns:
    """Columns that grow.

    most: Columns that are kept, the first ones and those in ``always``.
    """

    def __init__(self, name: str, *, most: int | None = None, always: Collection[str] = ()) -> None:
        self.places = array("q")
        self._name, self._most, self._always = name, most, always
        self._rows: list[Mapping[str, Any]] = []
        self._chunks: dict[str, list[Any]] = {}
        self._kinds: dict[str, set[type]] = {}

    def add(self, row: Mapping[str, Any], place: int) -> None:
        """A row of the record at this place in the file, from 0."""
        self._rows.append(row)
        self.places.append(place)
        if len(self._rows) == _ROWS:
            self._grow()

    def _grow(self) -> None:
        before = len(self.places) - len(self._rows)
        for name in dict.fromkeys(itertools.chain.from_iterable(self._rows)):
            if name not in self._chunks and self._keeps(name):
                self._chunks[name] = [pa.nulls(before, pa.large_string())]
                self._kinds[name] = {NoneType} if before else set()
        for name, chunks in self._chunks.items():
            cells = [row.get(name) for row in self._rows]
            kinds = set(map(type, cells))
            chunks.append(self._packed(cells, kinds, chunks))
            self._kinds[name] |= kinds
        if not is_unicode(list(self._chunks)):
            raise self._no_text()
        self._rows = []

    def _keeps(self, name: str) -> bool:
        return self._most is None or name in self._always or len(self._chunks) < self._most

    def _packed(self, cells: list[Any], kinds: set[type], before: list[Any]) -> Any:
        """Cells of one kind, and what is missing of them, in Arrow; others as they are."""
        if (kind := _only(kinds)) in _KEPT_AS:
            try:
                # Arrow's own pool keeps a third more than it is asked for where chunks are small.
                packed = pa.array(cells, _KEPT_AS[kind], memory_pool=pa.system_memory_pool())
            except UnicodeEncodeError:
                raise self._no_text() from None
            # What repeats is kept once, such as a judge's name; of numbers, -0 equals 0.
            return next((one for one in before[-_LAST:] if kind is str and packed == one), packed)
        if kinds & _HOLD_TEXT and not is_unicode(cells):
            raise self._no_text()
        return cells

    def _no_text(self) -> InputError:
        kept = self._chunks.keys()
        waiting = zip(self._rows, self.places[-len(self._rows) :], strict=True)
        place = next(at for row, at in waiting if not is_unicode({name: row[name] for name in row.keys() & kept}))
        found = f"record {place + 1} holds half of a surrogate pair, which is no text"
        return file_error(self._name, found, "Write the record again.")

    def names(self) -> list[str]:
        """Columns in the order in which they came."""
        self._grow()
        return list(self._chunks)

    def is_empty(self, name: str) -> bool:
        """Whether no row has a value of the column."""
        return self._kinds[name] == {NoneType}

    def frame(self, names: Iterable[str]) -> pd.DataFrame:
        """These columns, once; where all that one holds is text, as text. The index is each record's place."""
        index = pd.Index(np.asarray(self.places), name=ROW)
        return pd.DataFrame({name: self._column(name) for name in names}, index=index)

    def _column(self, name: str) -> Any:
        chunks, kinds = self._chunks.pop(name), self._kinds[name]
        if kinds != {NoneType} and _only(kinds) is str:
            return pa.chunked_array(chunks).to_pandas().array
        # A missing number is NaN; a missing truth value is none of the two.
        if kinds == {bool} or (kinds != {NoneType} and _only(kinds) is float):
            as_one = [chunk.cast(_KEPT_AS[_only(kinds)]) for chunk in chunks]
            return np.concatenate([chunk.to_numpy(zero_copy_only=False) for chunk in as_one])
        return [cell for chunk in chunks for cell in (chunk if isinstance(chunk, list) else chunk.to_pylist())]


def _only(kinds: Collection[type]) -> type:
    """The one kind of cells that are there, text where all are missing; `NoneType` for several."""
    there = set(kinds) - {NoneType}
    return there.pop() if len(there) == 1 else NoneType if there else str
