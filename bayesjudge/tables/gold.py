"""Gold labels from a second table, joined to the answers they belong to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.errors import Problem
from bayesjudge.tables.coding import MISSING, code_binary, code_names
from bayesjudge.tables.columns import name_columns, require_columns
from bayesjudge.tables.rules import broken_rules, readable, same_within

__all__ = ["Gold", "GoldMatch", "match_gold", "read_gold"]

_WHERE = "labels."


@dataclass(frozen=True, eq=False, kw_only=True)
class Gold:
    """A labels table: names and labels of its usable rows, and what was wrong with the others.

    Parameters
    ----------
    item, model : pandas.Index of str
        Of each usable row; ``model`` is None where the table has no such column.
    label : int8 array
        0 or 1.
    dropped : mapping of str to int
        Rows without a label or a name.
    warnings : tuple of str
        What was assumed on the way in.
    """

    item: pd.Index[Any]
    model: pd.Index[Any] | None
    label: NDArray[np.int8]
    dropped: Mapping[str, int]
    warnings: tuple[str, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class GoldMatch:
    """Gold labels brought to the rows of a verdict table.

    Parameters
    ----------
    label : int8 array (N,)
        0, 1 or `MISSING`.
    unmatched : int
        Gold rows that belong to no row of the verdict table.
    problems : list of Problem
        When not a single gold row belongs.
    """

    label: NDArray[np.int8]
    unmatched: int
    problems: list[Problem]


def read_gold(frame: pd.DataFrame, columns: Mapping[str, str] | None) -> tuple[Gold | None, list[Problem]]:
    """Validate a table of gold labels: ``item``, optional ``model``, ``label``.

    Mapped columns that the labels table does not have are left to the verdict table.
    """
    here = {name: source for name, source in (columns or {}).items() if source in map(str, frame.columns)}
    keys = ("item", "model", "label")
    named, warnings = name_columns(frame, {name: here[name] for name in keys if name in here}, names=keys)
    problems = require_columns(named.columns, ("item", "label"), where="the labels table")
    if problems:
        return None, [_in_labels(problem) for problem in problems]
    return _code_gold(named, warnings)


def match_gold(gold: Gold, *, codes: pd.DataFrame, items: pd.Index[Any], models: pd.Index[Any]) -> GoldMatch:
    """Bring each gold label to the rows of its answer (or of its item, where gold names no model).

    Parameters
    ----------
    gold : Gold
    codes : pandas.DataFrame (N rows)
        Codes ``item`` and ``model`` of the verdict table.
    items, models : pandas.Index of str
        What the codes stand for.
    """
    width = len(models) if gold.model is not None else 1
    row = codes["item"].to_numpy(np.int64) * width
    theirs = items.get_indexer(gold.item).astype(np.int64)
    known = theirs >= 0
    theirs *= width
    if gold.model is not None:
        model = models.get_indexer(gold.model)
        known &= model >= 0
        theirs += model
        row = np.where(codes["model"] >= 0, row + codes["model"], MISSING)
    row = np.where(codes["item"] >= 0, row, MISSING)
    label = _look_up(row, theirs[known], gold.label[known])
    matched = known & np.isin(theirs, row[row >= 0])
    problems = [_nothing_matched(gold, items, models)] if len(theirs) and not matched.any() else []
    return GoldMatch(label=label, unmatched=int((~matched).sum()), problems=problems)


def _code_gold(named: pd.DataFrame, warnings: tuple[str, ...]) -> tuple[Gold | None, list[Problem]]:
    item, items = code_names(named["item"])
    has_model = "model" in named
    model, models = (
        code_names(named["model"]) if has_model else (np.zeros_like(item), pd.Index([""], dtype="str"))
    )
    label = code_binary(named["label"])
    present = (item >= 0) & (model >= 0)
    key = pd.factorize(item.astype(np.int64) * max(len(models), 1) + model)[0]
    answer = np.where(present, key, MISSING)
    coded = pd.DataFrame({"item": item, "model": model, "label": label, "answer": answer})
    name = lambda row: f"item {items[item[row]]!r}" + (f", model {models[model[row]]!r}" if has_model else "")  # noqa: E731  # fmt: skip
    rules = [
        readable("item", named["item"], binary=False, where=_WHERE),
        *([readable("model", named["model"], binary=False, where=_WHERE)] if has_model else []),
        readable("label", named["label"], binary=True, where=_WHERE),
        same_within("label", "answer", unit="answer", name=name, where=_WHERE,
                    fix="Keep one gold label for each answer."),
    ]  # fmt: skip
    problems = broken_rules(coded, rules)
    if problems:
        return None, problems
    use = present & (label >= 0)
    dropped = {"labels table: row without a name or label": int((~use).sum())} if not use.all() else {}
    gold = Gold(
        item=items.take(item[use]),
        model=models.take(model[use]) if has_model else None,
        label=label[use],
        dropped=dropped,
        warnings=warnings,
    )
    return gold, []


def _look_up(row: NDArray[np.int64], key: NDArray[np.int64], label: NDArray[np.int8]) -> NDArray[np.int8]:
    keys, first = np.unique(key, return_index=True)
    place = pd.Index(keys).get_indexer(pd.Index(row))
    values = np.append(label[first], np.int8(MISSING))
    return np.asarray(values[place], dtype=np.int8)


def _nothing_matched(gold: Gold, items: pd.Index[Any], models: pd.Index[Any]) -> Problem:
    theirs = [gold.item[0], *([gold.model[0]] if gold.model is not None else [])]
    ours = [*items[:1], *(models[:1] if gold.model is not None else [])]
    return Problem(column=_WHERE + "item", found=f"no row that belongs to any verdict, for example {theirs}",
                   allowed=f"names as in the verdict table, for example {ours}",
                   fix="Make the names of both tables the same.")  # fmt: skip


def _in_labels(problem: Problem) -> Problem:
    return Problem(
        column=_WHERE + problem.column, found=problem.found, allowed=problem.allowed, fix=problem.fix
    )
