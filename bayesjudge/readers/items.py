"""What is known of the items, from a second file: joined to the judge's decisions on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bayesjudge.errors import InputError, Problem
from bayesjudge.readers.column_names import recognise
from bayesjudge.readers.parts import read_parts
from bayesjudge.tables.coding import code_names, shown
from bayesjudge.tables.columns import name_columns, require_columns

__all__ = ["named_items", "with_items"]

WHERE = "the items file"


def named_items(
    source: Any, columns: Mapping[str, str] | None, *,
    aliases: Mapping[str, tuple[Sequence[str], Sequence[str]]], names: Sequence[str],
) -> tuple[pd.DataFrame, frozenset[str], tuple[str, ...]]:  # fmt: skip
    """The items under our names, the names they came with, and what was guessed.

    Raises
    ------
    InputError
        A file that cannot be read, no column of items, an item on two rows.
    """
    frame = pd.concat([part for _, part in read_parts(source)], ignore_index=True)
    mine = {name: column for name, column in (columns or {}).items() if column in frame}
    mapping, doubts = recognise(map(str, frame.columns), mine, aliases=aliases)
    named, moved = name_columns(frame, mapping, names=names)
    problems = require_columns(named.columns, ("item",), where=WHERE)
    if problems:
        raise InputError(problems)
    # By name, as they are joined: 1 and "1" are one item, and a list is none.
    codes, _ = code_names(named["item"])
    twice = np.flatnonzero(pd.Series(codes).duplicated(keep=False)).tolist()
    if twice:
        raise InputError([Problem(column="item", found=f"items on several rows of {WHERE}",
                                  allowed="one row an item", rows=tuple(row + 1 for row in twice),
                                  fix="Keep one row of each.")])  # fmt: skip
    nameless = int((codes < 0).sum())
    lost = (f"rows of {WHERE} that name no item, left out: {nameless}",) if nameless else ()
    return named, frozenset(map(str, frame.columns)), doubts + moved + lost


def with_items(frame: pd.DataFrame, items: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The decisions with every column of their item that they do not have themselves.

    Returns
    -------
    frame : pandas.DataFrame
        The decisions' rows, in their order.
    warnings : tuple of str
        How many decisions have no item, where some have none.

    Raises
    ------
    InputError
        Not one decision is about an item of the file.

    Examples
    --------
    >>> decisions = pd.DataFrame({"item": [1, 2, 1], "judge_prefers": ["a", "b", "b"]})
    >>> items = pd.DataFrame({"item": ["1", "2"], "human_prefers": ["a", None], "judge_prefers": "?"})
    >>> with_items(decisions, items)[0]["human_prefers"].tolist()
    ['a', nan, 'a']
    """
    both = pd.concat([items["item"].astype(object), frame["item"].astype(object)], ignore_index=True)
    codes, _ = code_names(both)
    theirs, ours = codes[: len(items)], codes[len(items) :]
    at = pd.Index(np.where(theirs >= 0, theirs, -2 - np.arange(len(items)))).get_indexer(pd.Index(ours))
    lost = int((at < 0).sum())
    if lost == len(frame):
        there, here = (shown(rows["item"].iloc[0]) if len(rows) else "none" for rows in (items, frame))
        told = f"no decision about an item of {WHERE} (items: {there} there and {here} here)"
        raise InputError([Problem(column="item", found=told, allowed="one name for an item in both files",
                                  fix="Make the names the same, or say which column has them.")])  # fmt: skip
    new = [name for name in items.columns if name not in frame]
    brought = items[new].reindex(pd.Index(at)).set_axis(frame.index)
    warnings = (f"{lost} of {len(frame)} decisions are about no item of {WHERE}",) if lost else ()
    return pd.concat([frame, brought], axis=1), warnings
