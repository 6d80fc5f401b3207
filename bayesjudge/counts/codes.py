"""Cells and names as integers: codes of names, and runs, positives and label of a cell packed in one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bayesjudge.counts.rows import IbisTable

__all__ = ["UNLABELLED", "coded", "packed_cells", "unpacked_cells"]

#: Code of a missing label in integer arrays.
UNLABELLED = -1
#: More than any number of runs of one judge on one answer; runs and positives share an integer below 2**52.
_BASE = 2**24


def coded(values: pd.Series[str], names: Sequence[str]) -> NDArray[np.int64]:
    """Place of every value among the names, -1 where it is not one of them.

    Examples
    --------
    >>> coded(pd.Series(["b", "a", "x"]), ["a", "b"]).tolist()
    [1, 0, -1]
    """
    return pd.Index(names).get_indexer(pd.Index(values)).astype(np.int64)


def packed_cells(cells: IbisTable, where: Any) -> Any:
    """Runs, positives and label of the one cell that meets a condition, in one integer; 0 for no cell.

    One aggregate and one grouping key a judge or model instead of three halve the time of wide tables.
    """
    code = (cells.runs * _BASE + cells.positives) * 4 + cells.label.fill_null(UNLABELLED) - UNLABELLED
    return code.max(where=where).fill_null(0)


def unpacked_cells(
    packed: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Runs, positives and labels from what `packed_cells` packed."""
    count, label = np.divmod(packed, 4)
    runs, positives = np.divmod(count, _BASE)
    return runs, positives, label + UNLABELLED
