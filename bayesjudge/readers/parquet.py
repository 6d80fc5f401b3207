"""Parquet files."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa

from bayesjudge.errors import InputError
from bayesjudge.readers.frames import arrow_to_pandas
from bayesjudge.readers.sources import Source, file_problem

__all__ = ["read_parquet"]


def read_parquet(source: Source) -> pd.DataFrame:
    """Read a Parquet file.

    Raises
    ------
    InputError
        Not a Parquet file, or a damaged one.
    """
    from pyarrow import parquet

    try:
        with source.open() as stream:
            table = parquet.read_table(pa.PythonFile(stream, mode="r"))
        # Text that is none would be found out much later, wherever it is first looked at.
        table.validate(full=True)
        return arrow_to_pandas(table)
    # The name of a column is text, too.
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(
            [
                file_problem(
                    source.name,
                    f"no readable Parquet ({error})",
                    "Check that the file is whole and its ending right.",
                )
            ]
        ) from error
