"""The frames behind a source, and problems told with each file's own row numbers: shared by every reader."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayesjudge.errors import InputError, Problem, UsageError
from bayesjudge.readers.databases import is_database, open_table
from bayesjudge.readers.filters import ROW
from bayesjudge.readers.formats import read_delimited, read_json, read_parquet
from bayesjudge.readers.sources import Source, file_problem, find_sources, is_frame, to_pandas

__all__ = ["located", "read_parts"]

_READERS: Mapping[str, Callable[[Source], pd.DataFrame]] = {
    "csv": read_delimited, "tsv": read_delimited, "json": read_json, "parquet": read_parquet,
}  # fmt: skip


def read_parts(source: Any) -> list[tuple[str, pd.DataFrame]]:
    """Name and frame of each file that a path, pattern or ``-`` means, of a table in memory or in DuckDB.

    Raises
    ------
    InputError
        A file that cannot be read.
    UsageError
        Neither a path nor a table, or an unknown file ending.
    """
    if is_frame(source):
        return [("the table", to_pandas(source).rename(columns=str))]
    if not isinstance(source, (str, Path)):
        raise UsageError(
            f"cannot read a table from a {type(source).__name__}; "
            "give a path, or a pandas, Polars, pyarrow or Ibis table"
        )
    if is_database(source):
        return [(str(source), to_pandas(open_table(source)).rename(columns=str))]
    return [(found.name, _read(found)) for found in find_sources(source)]


def _read(source: Source) -> pd.DataFrame:
    try:
        return _READERS[source.format](source)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            [
                file_problem(
                    source.name,
                    f"a file that cannot be read ({error})",
                    "Check that it is whole, and its permissions.",
                )
            ]
        ) from error


def located(
    problems: Sequence[Problem], names: Sequence[str], frames: Sequence[pd.DataFrame]
) -> list[Problem]:
    """The problems of several files with each one's own row numbers."""
    if len(frames) == 1:
        return [replace(problem, rows=_in_file(problem.rows, frames[0])) for problem in problems]
    ends = np.cumsum([len(frame) for frame in frames])
    located = []
    for problem in problems:
        if problem.column.startswith("labels.") or not problem.rows:
            located.append(problem)
            continue
        rows = np.asarray(problem.rows)
        place = np.searchsorted(ends, rows, side="left")
        located += [
            replace(problem, rows=_in_file(rows[place == k] - (ends[k] - len(frames[k])), frames[k]),
                    found=f"{problem.found} in {names[k]}")
            for k in np.unique(place).tolist()
        ]  # fmt: skip
    return located


def _in_file(rows: Any, frame: pd.DataFrame) -> tuple[int, ...]:
    """Row numbers of the file, where only some of its rows were chosen."""
    places = np.asarray(rows, dtype=np.int64)
    if frame.index.name == ROW and len(places):
        places = frame.index.to_numpy(np.int64)[places - 1] + 1
    return tuple(places.tolist())
