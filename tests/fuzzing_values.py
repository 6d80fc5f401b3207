"""Values of every type where they do not belong: tables of every question, some of whose cells hold anything.

A file of text holds text alone; JSON, Parquet and data frames hold numbers of any size, yes and no, lists and
times, and there what is read is a value of Python. `valued` makes one such table from a seed, `read_values`
reads it as a data frame or as a file.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from fuzzing import KINDS, Outcome, Rng, outcome_of

__all__ = ["VALUES", "json_lines", "read_values", "replaced", "sound", "valued"]

#: What JSON can hold.
VALUES: tuple[Any, ...] = (
    10**400,
    -(10**400),
    10**4000,
    2**63,
    2**64,
    -(2**63) - 1,
    1e308,
    -1e308,
    5e-324,
    math.inf,
    -math.inf,
    math.nan,
    True,
    False,
    0,
    -1,
    1.5,
    -0.0,
    [],
    [1],
    {},
    {"a": 1},
    [[1]],
    [10**400],
    "",
    "1e308",
    "=1+1",
    "\u202e",
    "a" * 3000,
    None,
)
#: What a data frame can hold besides.
OBJECTS: tuple[Any, ...] = (
    10**5000,
    [10**5000],
    Decimal("1.5"),
    Decimal("1e400"),
    Decimal("NaN"),
    1j,
    b"\xff",
    {1},
    object(),
    len,
    pd.NA,
    pd.NaT,
    pd.Timestamp("2026-01-01"),
    pd.Timedelta(seconds=1),
    dt.date(2026, 1, 1),
    np.float32(0.1),
    np.bool_(True),
    np.array([1, 2]),
    np.datetime64("NaT", "ns"),
    pd.Interval(0, 1),
    (1, 2),
)


@cache
def sound(kind: str) -> pd.DataFrame:
    """A small table of a question, with a group and covariates."""
    frame = KINDS[kind].frame(np.random.default_rng(1))
    # Columns that questions ask for by name: groups, covariates.
    return frame.assign(group="x", style=1.0, length_a=3, length_b=range(len(frame)))


def valued(seed: int, values: tuple[Any, ...] = (*VALUES, *OBJECTS)) -> tuple[str, pd.DataFrame]:
    """Which table it is, and the table, some of whose cells hold any of the values."""
    rng = np.random.default_rng([seed, 1])
    kind = str(rng.choice(list(KINDS)))
    frame = sound(kind).sample(int(rng.integers(1, 12)), replace=True, random_state=seed)
    return kind, replaced(frame, rng, values)


def replaced(frame: pd.DataFrame, rng: Rng, values: tuple[Any, ...] = VALUES) -> pd.DataFrame:
    """One to three cells, or columns, with any of the values."""
    cells = frame.astype(object).where(frame.notna(), None).to_numpy(dtype=object, copy=True)
    for _ in range(int(rng.integers(1, 4))):
        _place(cells, rng, values[int(rng.integers(len(values)))])
    return pd.DataFrame(cells, columns=frame.columns)


def _place(cells: Any, rng: Rng, value: Any) -> None:
    column = int(rng.integers(cells.shape[1]))
    rows = [int(rng.integers(len(cells)))] if rng.random() < 0.6 else range(len(cells))
    for row in rows:
        # One cell at a time: an array would be spread over several.
        cells[row, column] = value


def json_lines(frame: pd.DataFrame) -> str:
    """The table as JSON Lines; whole numbers of thousands of digits are written, whatever Python says."""
    with _long_numbers():
        return "\n".join(json.dumps(row, default=str) for row in frame.to_dict("records"))


@contextmanager
def _long_numbers() -> Iterator[None]:
    kept = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(kept)


def read_values(seed: int, folder: Path) -> tuple[str, Outcome]:
    """Which table was read, every other one as a file, and what became of it."""
    if seed % 2:
        kind, frame = valued(seed)
        return kind, outcome_of(KINDS[kind], frame, len(frame))
    kind, frame = valued(seed, VALUES)
    path = folder / "input.jsonl"
    path.write_text(json_lines(frame), encoding="utf-8")
    return kind, outcome_of(KINDS[kind], path, len(frame))
