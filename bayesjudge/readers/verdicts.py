"""Read judge verdicts from wherever they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from bayesjudge.errors import InputError, Problem
from bayesjudge.readers.column_names import GOLD_ALIASES, recognise, reference_answers
from bayesjudge.readers.parts import located, read_parts
from bayesjudge.tables import Verdicts
from bayesjudge.tables.columns import label_source, name_columns
from bayesjudge.tables.verdict_rows import NAMES

__all__ = ["read_verdicts"]


def read_verdicts(source: Any, *, columns: Mapping[str, str] | None = None, labels: Any = None) -> Verdicts:
    """Read judge verdicts from a file, several files, standard input or a table in memory.

    Parameters
    ----------
    source : str, path or table
        A CSV, TSV, JSONL, JSON or Parquet file (also with ``.gz``), a pattern such as ``"logs/*.jsonl"``,
        ``"-"`` for standard input, or a pandas, Polars, pyarrow or Ibis table. CSV and TSV cells are text.
    columns : mapping of str to str, optional
        Our name to yours: ``{"verdict": "score"}``. Common names of known formats need no mapping, see
        `bayesjudge.readers.column_names.VERDICT_ALIASES`.
    labels : str, path or table, optional
        Gold labels by item and model, or by item alone; the same mapping applies where it names their
        columns.

    Returns
    -------
    Verdicts

    Raises
    ------
    InputError
        A file that cannot be read, columns that could mean two things, and every problem that
        `Verdicts.from_frame` finds. Row numbers count from 1 after the header, in the file that is named.
    UsageError
        An unknown file ending, or a mapping that fits no column.

    Examples
    --------
    >>> frame = pd.DataFrame({"question_id": ["q1"], "model_name": ["m"], "score": ["pass"]})
    >>> read_verdicts(frame).frame[["item", "model", "verdict"]].to_dict("records")
    [{'item': 'q1', 'model': 'm', 'verdict': 1}]
    """
    gold, warnings = (None, ()) if labels is None else _read_gold(labels, columns)
    names, frames = [], []
    for name, frame in read_parts(source):
        ours = _of_verdicts(frame, columns, gold)
        mapping, doubts = recognise(frame.columns, ours)
        named, moved = name_columns(frame, mapping, names=NAMES)
        names.append(name)
        frames.append(named)
        warnings += doubts + moved + (() if gold else reference_answers(named, "label"))
    frame = frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)
    try:
        verdicts = Verdicts.from_frame(frame, labels=None if gold is None else gold.named)
    except InputError as error:
        raise InputError(located(error.problems, names, frames)) from error
    return replace(verdicts, warnings=tuple(dict.fromkeys(warnings + verdicts.warnings)),
                   label_source=label_source(columns, verdicts.frame, "label"))  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Gold:
    """A labels table under our names, and the names it came with."""

    named: pd.DataFrame
    came_with: frozenset[str]


def _read_gold(labels: Any, columns: Mapping[str, str] | None) -> tuple[_Gold, tuple[str, ...]]:
    parts = read_parts(labels)
    frame = parts[0][1] if len(parts) == 1 else pd.concat([part for _, part in parts], ignore_index=True)
    mine = {name: column for name, column in (columns or {}).items()
            if name in GOLD_ALIASES and column in frame.columns}  # fmt: skip
    mapping, doubts = recognise(frame.columns, mine, aliases=GOLD_ALIASES)
    named, moved = name_columns(frame, mapping, names=tuple(GOLD_ALIASES))
    doubtful = reference_answers(named, "label")
    if doubtful:
        raise InputError([Problem(column="labels.label", found=text, fix="Map the column, or rename it.",
                                  allowed="a column named label, human_label, gold_label or annotator_label")
                          for text in doubtful])  # fmt: skip
    return _Gold(named, frozenset(frame.columns)), doubts + moved


def _of_verdicts(
    frame: pd.DataFrame, columns: Mapping[str, str] | None, gold: _Gold | None
) -> dict[str, str]:
    """The part of a mapping that is not about the labels table alone."""
    elsewhere = frozenset() if gold is None else gold.came_with
    return {name: column for name, column in (columns or {}).items()
            if column in frame.columns or column not in elsewhere}  # fmt: skip
