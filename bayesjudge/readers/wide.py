"""Battles of a plain table with a column of verdicts for each judge, turned into one row a verdict."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from bayesjudge.errors import UsageError
from bayesjudge.readers.filters import ROW

_WORDS = frozenset({"a", "b", "tie", "model_a", "model_b"})
#: Columns that say how a judge's verdicts are written, where a table has one judge a row already.
_LONG = frozenset({"verdict", "judge", "score_a", "score_gap", "prob_a", "winner"})
_OTHERS = frozenset({"model_a", "model_b", "order", "label", "gold", "item"})


def one_judge_a_row(
    frame: pd.DataFrame, *, judges: Sequence[str] | None, taken: Sequence[str]
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The table with ``judge`` and ``verdict``, each row's place in the file as index, and what was assumed.

    Parameters
    ----------
    frame : pandas.DataFrame
        A table as it came.
    judges : sequence of str, optional
        Columns that each hold one judge's verdicts; by default those that hold outcomes in words and no
        other known column.
    taken : sequence of str
        Columns that the user has mapped: nothing is guessed about them.

    Raises
    ------
    UsageError
        A judge without a column.
    """
    if judges is not None:
        return _unfolded(frame, list(judges)), ()
    found = [name for name in frame.columns if name not in taken and _is_judge(frame, name)]
    if not found:
        return frame, ()
    told = f"columns {', '.join(map(repr, found))} were read as one judge's verdicts each"
    return _unfolded(frame, found), (told,)


def _is_judge(frame: pd.DataFrame, name: str) -> bool:
    if _LONG & set(frame.columns) or name in _OTHERS or "human" in name.casefold():
        return False
    values = frame[name]
    if pd.api.types.is_numeric_dtype(values.dtype):
        return False
    words = values.dropna()
    return not words.empty and set(map(str, words)) <= _WORDS


def _unfolded(frame: pd.DataFrame, judges: list[str]) -> pd.DataFrame:
    lost = [name for name in judges if name not in frame.columns]
    if lost or not judges:
        raise UsageError(f"no column {lost or judges!r} of a judge; the table has {list(frame.columns)}")
    rows = frame if frame.index.name == ROW else frame.set_axis(pd.RangeIndex(len(frame), name=ROW))
    rest = rows.drop(columns=judges)
    return pd.concat([rest.assign(judge=name, verdict=rows[name].astype(object)) for name in judges])
