"""Some rows of a log: one prompt, one run, whatever a column tells apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.errors import UsageError
from bayesjudge.tables.coding import distinct_values
from bayesjudge.tables.columns import near_names

#: Name of the index of chosen rows, which holds their places in the file for messages.
ROW = "row of the file"
#: Values of a column that a message names.
MOST_NAMED = 12


def keep_where(
    parts: Iterable[tuple[str, pd.DataFrame]], where: Mapping[str, Any] | None
) -> list[tuple[str, pd.DataFrame]]:
    """The rows whose columns have these values, with their places in the file as index.

    Parameters
    ----------
    parts : iterable of (str, pandas.DataFrame)
        As from `bayesjudge.readers.parts.read_parts`.
    where : mapping of str to value or list of values, optional
        The file's own column to what it must be, compared as text, numbers as numbers; a list means any of
        them.

    Raises
    ------
    UsageError
        No such column, or no row with such a value.

    Examples
    --------
    >>> log = pd.DataFrame({"item": [1, 1, 2], "run": [0, 1, 0]})
    >>> keep_where([("log", log)], {"run": "0"})[0][1].index.tolist()
    [0, 2]
    """
    found = list(parts)
    for column, wanted in (where or {}).items():
        values = list(wanted) if isinstance(wanted, (list, tuple, set)) else [wanted]
        found = [(name, _chosen(frame, column, values, name)) for name, frame in found]
        if not sum(len(frame) for _, frame in found):
            raise UsageError(f"no row has {column} = {' or '.join(map(str, values))}")
    return found


def _chosen(frame: pd.DataFrame, column: str, values: list[Any], name: str) -> pd.DataFrame:
    if column not in frame:
        near = near_names(column, map(str, frame.columns))
        hint = f" Did you mean {', '.join(map(repr, near))}?" if near else ""
        raise UsageError(f"no column {column!r} to choose rows by; {name} has {list(frame.columns)}.{hint}")
    rows = frame if frame.index.name == ROW else frame.set_axis(pd.RangeIndex(len(frame), name=ROW))
    missing = [value for value in values if not _equal(frame[column], value).any()]
    if missing:
        there = sorted(map(str, distinct_values(frame[column])[1]))
        told = ", ".join(there[:MOST_NAMED]) + (", ..." if len(there) > MOST_NAMED else "")
        raise UsageError(f"no row of {name} has {column} = {missing[0]}; the column has {told or 'no value'}")
    return rows[np.any([_equal(frame[column], value) for value in values], axis=0)]


def _equal(column: pd.Series[Any], value: Any) -> NDArray[np.bool_]:
    same = (column.astype("str") == str(value)).to_numpy(dtype=bool, na_value=False)
    try:
        number = float(value)
    except (TypeError, ValueError):
        return np.asarray(same)
    numbers = pd.to_numeric(column.astype("str"), errors="coerce").to_numpy(dtype=float)
    return np.asarray(same | (numbers == number))
