"""Read battles from wherever they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from bayesjudge.errors import InputError, Problem, UsageError
from bayesjudge.readers.battle_formats import Unfolded, unfold_battles
from bayesjudge.readers.column_names import BATTLE_ALIASES, recognise, reference_answers
from bayesjudge.readers.parts import located, read_parts
from bayesjudge.tables import Battles
from bayesjudge.tables.battle_rows import NAMES
from bayesjudge.tables.columns import label_source, name_columns, require_unique
from bayesjudge.tables.words import ORDERS

__all__ = ["read_battles"]


def read_battles(
    source: Any,
    *,
    columns: Mapping[str, str] | None = None,
    judges: Sequence[str] | None = None,
    order: str | None = None,
) -> Battles:
    """Read battles from a file, several files, standard input or a table in memory.

    Parameters
    ----------
    source : str, path or table
        A CSV, TSV, JSONL, JSON or Parquet file (also with ``.gz``), a pattern such as ``"votes/*.parquet"``,
        ``"-"`` for standard input, or a pandas, Polars, pyarrow or Ibis table. Known without a mapping:
        LMArena votes, MT-bench judgments and votes, AlpacaEval annotations, Soft-Elo annotations, and wide
        tables with one column of verdicts a judge.
    columns : mapping of str to str, optional
        Our name to yours: ``{"human": "winner"}``; see `Battles.from_frame` for our names.
    judges : sequence of str, optional
        Columns of a wide table that each hold one judge's verdicts.
    order : {"ab", "ba"}, optional
        Which answer was shown first on every row, where the table has no column that says so.

    Returns
    -------
    Battles

    Raises
    ------
    InputError
        A file that cannot be read, columns that could mean two things, and every problem that
        `Battles.from_frame` finds. Row numbers count from 1 after the header, in the file that is named.
    UsageError
        An unknown file ending, a mapping that fits no column, an unknown order.

    Examples
    --------
    >>> frame = pd.DataFrame({"battle_id": [1], "model_a": ["x"], "model_b": ["y"], "human": [0.5],
    ...                       "gpt-4": ["a"], "claude": ["tie"]})
    >>> read_battles(frame).frame[["judge", "verdict", "human"]].values.tolist()
    [['gpt-4', 1.0, 0.5], ['claude', 0.5, 0.5]]
    """
    if order is not None and order not in ORDERS:
        raise UsageError(f"order is {order!r}; it is one of {list(ORDERS)}, or left out")
    names: list[str] = []
    parts: list[Unfolded] = []
    warnings: tuple[str, ...] = ()
    for name, frame in read_parts(source):
        part, told = _named(name, frame, columns, judges)
        names.append(name)
        parts.append(part)
        warnings += told
    frame = pd.concat([part.frame for part in parts], ignore_index=True) if len(parts) > 1 else parts[0].frame
    if order is not None and "order" not in frame:
        frame = frame.assign(order=order)
    try:
        battles = Battles.from_frame(frame)
    except InputError as error:
        raise InputError(_in_files(error.problems, names, parts)) from error
    return replace(battles, warnings=tuple(dict.fromkeys(warnings + battles.warnings)),
                   label_source=label_source(columns, battles.frame, "human"))  # fmt: skip


def _named(
    name: str, frame: pd.DataFrame, columns: Mapping[str, str] | None, judges: Sequence[str] | None
) -> tuple[Unfolded, tuple[str, ...]]:
    frame = frame.rename(columns=str)
    mapped = dict(columns or {})
    try:
        require_unique(frame.columns)
        unfolded = unfold_battles(frame, judges=judges, taken=tuple(mapped.values()))
        mapping, doubts = recognise(unfolded.frame.columns, mapped, aliases=BATTLE_ALIASES)
    except InputError as error:
        told = [replace(problem, found=f"{problem.found} in {name}") for problem in error.problems]
        raise InputError(told) from error
    named, moved = name_columns(unfolded.frame, mapping, names=NAMES)
    doubts += moved + reference_answers(named, "human")
    return replace(unfolded, frame=named), unfolded.warnings + doubts


def _in_files(problems: Sequence[Problem], names: Sequence[str], parts: Sequence[Unfolded]) -> list[Problem]:
    """Row numbers as they are in the file: stacked copies of its rows are taken off again."""
    found = located(problems, names, [part.frame for part in parts])
    heights = {name: len(part.frame) // part.copies for name, part in zip(names, parts, strict=True)}
    one = next(iter(heights.values()))
    sizes = [next((n for name, n in heights.items() if problem.found.endswith(f" in {name}")), one)
             for problem in found]  # fmt: skip
    return [replace(problem, rows=tuple(dict.fromkeys((row - 1) % size + 1 for row in problem.rows)))
            for problem, size in zip(found, sizes, strict=True)]  # fmt: skip
