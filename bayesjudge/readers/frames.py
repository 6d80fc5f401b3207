"""Tables that are in memory already: pandas, Polars, Arrow and Ibis, recognised without importing them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from bayesjudge.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["arrow_to_pandas", "is_frame", "to_pandas"]

_LIBRARIES = ("pandas", "polars", "pyarrow", "ibis")


def is_frame(source: object) -> bool:
    """Whether the source is a table of one of the libraries known here."""
    return type(source).__module__.split(".")[0] in _LIBRARIES


def to_pandas(source: Any) -> pd.DataFrame:
    """A data frame with the same columns; whole numbers stay whole where some are missing.

    Raises
    ------
    UsageError
        An object of a known library that is not a table.
    """
    if isinstance(source, pd.DataFrame):
        return source
    if hasattr(source, "collect") and hasattr(source, "lazy"):
        source = source.collect()
    if hasattr(source, "to_pyarrow") and hasattr(source, "columns"):
        return arrow_to_pandas(source.to_pyarrow())
    if hasattr(source, "to_arrow") and hasattr(source, "columns"):
        return arrow_to_pandas(source.to_arrow())
    if hasattr(source, "to_pandas") and hasattr(source, "column_names"):
        return arrow_to_pandas(source)
    raise UsageError(
        f"cannot read a {type(source).__module__}.{type(source).__name__}; "
        "give a path, or a pandas, Polars, pyarrow or Ibis table"
    )


def arrow_to_pandas(table: pa.Table) -> pd.DataFrame:
    """Arrow to pandas with nullable integers and booleans, since floats would round long identifiers."""
    import pyarrow as pa

    kinds = {
        pa.bool_(): pd.BooleanDtype(),
        pa.int8(): pd.Int8Dtype(), pa.int16(): pd.Int16Dtype(), pa.int32(): pd.Int32Dtype(),
        pa.int64(): pd.Int64Dtype(), pa.uint8(): pd.UInt8Dtype(), pa.uint16(): pd.UInt16Dtype(),
        pa.uint32(): pd.UInt32Dtype(), pa.uint64(): pd.UInt64Dtype(),
    }  # fmt: skip
    # Arrow parses pandas' own notes even when it is to ignore them, and they may be damaged.
    frame: pd.DataFrame = table.replace_schema_metadata(None).to_pandas(types_mapper=kinds.get)
    return frame
