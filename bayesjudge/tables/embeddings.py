"""Embeddings of the two responses of every pair: arrays that fit the table, or problems that say why not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.errors import InputError, Problem

#: Kept in single precision: encoders give no more, and tables of thousand-dimensional arrays are large.
KEPT = np.float32
#: Larger values would overflow when they are squared in single precision.
MOST = 1e15


def check_embeddings(arrays: Mapping[str, Any], *, rows: int) -> dict[str, NDArray[np.float32]]:
    """Arrays (rows, d) in single precision.

    Examples
    --------
    >>> found = check_embeddings({"response a": [[1, 0]], "response b": [[0, 1]]}, rows=1)
    >>> found["response a"].dtype.name, found["response b"].tolist()
    ('float32', [[0.0, 1.0]])
    """
    read: dict[str, NDArray[np.float64]] = {}
    problems: list[Problem] = []
    for name, values in arrays.items():
        try:
            array = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            problems.append(_problem(name, "values that are no rectangular array of numbers"))
            continue
        wrong = _shape_problem(name, array, rows) or _value_problem(name, array)
        problems += [wrong] if wrong else []
        read[name] = array
    problems = problems or _width_problems(read)
    if problems:
        raise InputError(problems)
    return {name: array.astype(KEPT) for name, array in read.items()}


def _shape_problem(name: str, array: NDArray[np.float64], rows: int) -> Problem | None:
    if array.ndim != 2:
        return _problem(name, f"an array of shape {array.shape}")
    if len(array) != rows:
        return _problem(
            name,
            f"{len(array)} rows for a table of {rows}",
            fix="Give one row a pair in the table's order, or join by item (an .npz with item_id).",
        )
    return None if array.shape[1] else _problem(name, "no dimensions")


def _value_problem(name: str, array: NDArray[np.float64]) -> Problem | None:
    # A value past MOST would be infinite when squared.
    bad = np.flatnonzero(~(np.abs(array) <= MOST).all(axis=1))
    if not len(bad):
        return None
    return _problem(
        name,
        f"values that are not finite (or beyond {MOST:g}) in {len(bad)} rows",
        rows=tuple((bad + 1).tolist()),
        fix="Embed these responses again, or leave their rows out.",
    )


def _width_problems(read: Mapping[str, NDArray[np.float64]]) -> list[Problem]:
    widths = {name: array.shape[1] for name, array in read.items()}
    if len(set(widths.values())) <= 1:
        return []
    sizes = ", ".join(f"{name}: {width}" for name, width in widths.items())
    return [
        _problem(
            next(iter(widths)), f"different numbers of dimensions ({sizes})", fix="Embed everything with one encoder."
        )
    ]


def _problem(name: str, found: str, *, rows: tuple[int, ...] = (), fix: str = "Check how it was made.") -> Problem:
    return Problem(
        column=f"embeddings of {name}",
        found=found,
        rows=rows,
        fix=fix,
        allowed="one row of finite numbers a pair, of one number of dimensions",
    )
