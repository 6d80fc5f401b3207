"""Covariates of a battle: how its two answers differ in length, style, or anything else that was measured.

A covariate is a number for each answer (columns ``X_a`` and ``X_b``, whose difference counts) or a column
``X`` that is the difference already, the first answer's minus the second's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.counts.memory import IbisTable
from bayesjudge.errors import InputError, Problem, UsageError
from bayesjudge.tables.coding import distinct_values, shown
from bayesjudge.tables.words import read_number


def covariate_columns(columns: Iterable[str], name: str) -> tuple[str, ...]:
    """The column, or the two columns, behind the name of a covariate.

    Examples
    --------
    >>> covariate_columns(["item", "length_a", "length_b"], "length")
    ('length_a', 'length_b')
    """
    there = list(columns)
    pair = (f"{name}_a", f"{name}_b")
    if name in there:
        return (name,)
    if set(pair) <= set(there):
        return pair
    raise UsageError(
        f"no covariate {name!r}: it takes a column {name!r} (first answer minus second) or the "
        f"columns {pair[0]!r} and {pair[1]!r}; the table has {there}"
    )


def covariate_keys(names: Sequence[str]) -> tuple[str, ...]:
    """What covariates are called inside cells, where a user's name could be one of ours."""
    return tuple(f"x_{k}" for k in range(len(names)))


def frame_differences(frame: pd.DataFrame, names: Sequence[str]) -> dict[str, Any]:
    """Each covariate as first answer minus second; NaN where it is not known.

    Examples
    --------
    >>> frame = pd.DataFrame({"bold_a": [3, None], "bold_b": [1, 2]})
    >>> frame_differences(frame, ["bold"])["x_0"].tolist()
    [2.0, nan]
    """
    found = {}
    for key, name in zip(covariate_keys(names), names, strict=True):
        sides = [_numbers(frame[column]) for column in covariate_columns(map(str, frame.columns), name)]
        found[key] = sides[0] if len(sides) == 1 else sides[0] - sides[1]
    return found


def table_differences(table: IbisTable, names: Sequence[str]) -> dict[str, Any]:
    """The same as Ibis expressions, null where not known."""
    found = {}
    for key, name in zip(covariate_keys(names), names, strict=True):
        columns = covariate_columns(table.columns, name)
        wrong = [column for column in columns if not table[column].type().is_numeric()]
        if wrong:
            raise InputError([_not_numbers(wrong[0], str(table[wrong[0]].type()))])
        sides = [table[column].cast("float64") for column in columns]
        found[key] = sides[0] if len(sides) == 1 else sides[0] - sides[1]
    return found


def _numbers(column: pd.Series[Any]) -> pd.Series[float]:
    values = _read(column)
    wrong = np.flatnonzero(np.isinf(values))
    if len(wrong):
        infinite = dict.fromkeys(shown(column.iloc[row]) for row in wrong[:100])
        rows = tuple(int(row) + 1 for row in wrong[:5])
        raise InputError([_not_numbers(str(column.name), ", ".join(list(infinite)[:3]), rows)])
    return pd.Series(values, index=column.index, name=column.name)


def _read(column: pd.Series[Any]) -> NDArray[np.float64]:
    """Numbers, infinite where they are none; a column of numbers without a step of Python for each."""
    if column.dtype.kind in "biuf":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    places, distinct = distinct_values(column)
    # Yes and no are 1 and 0: an answer with a list, or without.
    figures = [float(one) if isinstance(one, (bool, np.bool_)) else read_number(one) for one in distinct]
    return np.array([*figures, np.nan])[places]


def _not_numbers(column: str, found: str, rows: tuple[int, ...] = ()) -> Problem:
    allowed = "finite numbers, or nothing where it is not known"
    fix = "Leave the covariate out, or make it numbers; group= splits battles by a column of words."
    return Problem(column=column, found=found, allowed=allowed, rows=rows, fix=fix)
