"""How rows of repeated judging become trials or scores: name, unfold, code, check, then drop and count."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.errors import InputError, Problem
from bayesjudge.tables.choices import EXPLAINED
from bayesjudge.tables.coding import MISSING, code_names, joint_codes, names_of_rows
from bayesjudge.tables.columns import name_columns, require_columns
from bayesjudge.tables.schema import (
    CodedRows,
    Rule,
    broken_rules,
    count_within,
    filled,
    no_rows,
    readable,
    readable_as,
    same_within,
    usable_rows,
)
from bayesjudge.tables.words import NUMBER, ORDER, ORDERS, OUTCOME, OUTCOMES, code_numbers, code_order, code_outcome

#: Columns that say under which conditions a trial was run; missing means not recorded.
CONDITIONS = ("order", "prompt", "temperature")
_WORDS = {"outcome": (code_outcome, OUTCOMES, OUTCOME), "order": (code_order, ORDERS, ORDER)}
_NUMBERS = ("score", "temperature")
#: Templates that no two were tried on one item, past which they are taken for questions.
_MOST_TEMPLATES = 10
_SILENT: tuple[str, ...] = ()
_FIX = "Recode it, or leave it empty where the judge gave none."


@dataclass(frozen=True, eq=False, kw_only=True)
class Unfolded:
    """A table with one row an event, and which row (N,) of the user's table each came from.

    ``numbered`` says that repeated rows are what the user's form means, so that no warning is needed; ``notes`` is
    what is said of columns next to counts.
    """

    table: pd.DataFrame
    source: NDArray[np.int64]
    dropped: Mapping[str, int]
    numbered: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Layout:
    """What one row holds.

    value: ``"outcome"`` or ``"score"``.
    """

    value: str
    keys: tuple[str, ...]
    conditions: tuple[str, ...]
    unfold: Callable[[pd.DataFrame], Unfolded]
    labels: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Our columns, in the order of the validated table."""
        return (*self.keys, "trial", self.value, *self.conditions, "category")


def validate_events(
    frame: pd.DataFrame, columns: Mapping[str, str] | None, layout: Layout, *, also: tuple[str, ...] = ()
) -> tuple[pd.DataFrame, dict[str, int], tuple[str, ...]]:
    """Usable rows, the count of the others by reason, and what was assumed.

    ``also`` names further columns that a mapping may fill: those of count and wide forms.
    """
    table, warnings = name_columns(frame, columns, names=(*layout.columns, *also))
    unfolded = layout.unfold(table)
    missing = require_columns(unfolded.table.columns, (layout.keys[0], layout.value))
    allowed = f"at least one row with an item and {layout.value}"
    if missing or unfolded.table.empty:
        raise InputError(missing or [no_rows(f"no rows left of {len(table)}", allowed)])
    coded, question = _without_questions(_code(unfolded.table, layout))
    coded, numbered = _number(coded, layout, quiet=unfolded.numbered)
    problems = broken_rules(coded.codes, _rules(coded, layout))
    if problems:
        raise InputError(of_source(problem, unfolded.source) for problem in problems)
    codes = coded.codes
    unusable = {f"missing {key}": (codes[key] < 0).to_numpy() for key in (*layout.keys, layout.value, "trial")}
    unusable["exact repeat of a trial"] = ((codes["event"] >= 0) & codes["event"].duplicated()).to_numpy()
    keep, lost = usable_rows(unusable)
    dropped = {**unfolded.dropped, **lost}
    if not keep.any():
        raise InputError([no_rows(f"only rows that cannot be used: {dropped}", allowed)])
    return _assemble(coded, keep, layout), dropped, (*warnings, *unfolded.notes, *question, *numbered)


def _code(table: pd.DataFrame, layout: Layout) -> CodedRows:
    codes: dict[str, NDArray[Any]] = {}
    values: dict[str, pd.Index[Any]] = {}
    for key in layout.columns:
        words = key in _WORDS and key not in layout.labels
        codes[key], values[key] = _code_column(table, key, default=key in layout.keys[1:], words=words)
    return CodedRows(pd.DataFrame(codes), values, table)


def _code_column(table: pd.DataFrame, key: str, *, default: bool, words: bool) -> tuple[NDArray[Any], pd.Index[Any]]:
    if key not in table or not (table[key].notna().any() or key == "item"):
        # Where nobody said which judge, there was one; where nobody said which order, it is not known.
        nothing = np.full(len(table), 0 if default else MISSING, dtype=np.int32)
        kind = "float64" if key in _NUMBERS else "str"
        return nothing, pd.Index([key] if default else [], dtype=kind)
    if words:
        coder, known, _ = _WORDS[key]
        return coder(table[key]), pd.Index(known, dtype="str")
    if key in _NUMBERS:
        codes, numbers = code_numbers(table[key])
        return codes, pd.Index(numbers)
    return code_names(table[key])


def question_warning(*, prompts: int, items: int, most: int) -> str:
    """Why the prompts of some items are no templates to judge with; empty where they may be.

    most: Prompts of the item that has most.
    """
    if most > 1 or prompts < 2 or (prompts <= _MOST_TEMPLATES and prompts < items):
        return ""
    return (
        f"column 'prompt' has {prompts} values and no item has two of them: taken for the question, not for a "
        "judge's prompt template (templates can be compared on items that were judged with several)"
    )


def _without_questions(coded: CodedRows) -> tuple[CodedRows, tuple[str, ...]]:
    item, prompt = coded.codes["item"], coded.codes["prompt"]
    pairs = pd.DataFrame({"item": item, "prompt": prompt})[(item >= 0) & (prompt >= 0)].drop_duplicates()
    by_item = pairs["item"].value_counts()
    text = question_warning(
        prompts=pairs["prompt"].nunique(), items=len(by_item), most=int(by_item.to_numpy().max(initial=0))
    )
    return (replace(coded, codes=coded.codes.assign(prompt=MISSING)), (text,)) if text else (coded, _SILENT)


def _number(coded: CodedRows, layout: Layout, *, quiet: bool) -> tuple[CodedRows, tuple[str, ...]]:
    """Name the trials where the table does not, and code cells (all but the trial) and events."""
    codes = coded.codes
    parts = [codes[key].to_numpy() for key in layout.keys]
    # A missing condition is a condition of its own: codes start at 1 after it.
    parts += [np.maximum(codes[key].to_numpy() + 1, 0) for key in layout.conditions]
    sizes = [len(coded.names[key]) for key in layout.keys]
    sizes += [len(coded.names[key]) + 1 for key in layout.conditions]
    cell = joint_codes(parts, sizes)
    cell[codes[layout.value].to_numpy() < 0] = MISSING
    warnings = _SILENT
    if not len(coded.names["trial"]):
        trial, warnings = _counted(cell, layout, quiet=quiet)
        names = pd.Index([str(k) for k in range(int(trial.max(initial=0)) + 1)], dtype="str")
        coded = coded.with_name("trial", trial, names)
    sizes = [int(cell.max(initial=0)) + 1, len(coded.names["trial"])]
    event = joint_codes([cell, coded.codes["trial"].to_numpy()], sizes)
    item = coded.codes["item"].to_numpy().astype(np.int64)
    return replace(coded, codes=coded.codes.assign(event=event, subject=item)), warnings


def _counted(cell: NDArray[np.int64], layout: Layout, *, quiet: bool) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    trial = count_within(cell, cell >= 0)
    repeats = int((trial > 0).sum())
    if quiet or not repeats:
        return trial, _SILENT
    what = ", ".join((*layout.keys, *layout.conditions))
    warning = f"{repeats} rows repeat an earlier one's {what}, and there is no trial column"
    return trial, (f"{warning}: taken as repeated trials, numbered in row order",)


def _rules(coded: CodedRows, layout: Layout) -> list[Rule]:
    whole = (*layout.keys, "trial", *layout.conditions)
    return [
        *(_readable(key, coded.table[key], key in layout.labels) for key in layout.columns if key in coded.table),
        same_within(
            "category",
            "subject",
            unit="item",
            name=coded.description("item"),
            values="several categories",
            fix="Give each item one category.",
        ),
        same_within(
            layout.value,
            "event",
            unit=", ".join(whole),
            name=coded.description(*whole),
            values=f"different {layout.value}s",
            fix="Give each trial its own value in the trial column, or remove the wrong row.",
        ),
    ]


def _readable(key: str, values: pd.Series[Any], label: bool) -> Rule:
    if key in _WORDS and not label:
        fix = f"{_FIX} Of other options than a and b: {EXPLAINED}" if key == "outcome" else _FIX
        return readable_as(key, values, allowed=_WORDS[key][2], fix=fix)
    if key in _NUMBERS:
        return readable_as(key, values, allowed=NUMBER, fix=_FIX)
    return readable(key, values, binary=False)


def _assemble(coded: CodedRows, keep: NDArray[np.bool_], layout: Layout) -> pd.DataFrame:
    category = filled(coded.codes["item"].to_numpy(), coded.codes["category"].to_numpy())
    codes, table = coded.codes.assign(category=category), coded.table
    if not keep.all():
        codes, table = codes[keep], table[keep].reset_index(drop=True)
    texts = {key: table.get(key) for key in layout.columns if key not in _WORDS or key in layout.labels}
    core = {key: _taken(coded.names[key], codes[key].to_numpy(), texts.get(key)) for key in layout.columns}
    extra = table.drop(columns=[name for name in layout.columns if name in table])
    return pd.concat([pd.DataFrame(core), extra], axis=1)


def _taken(values: pd.Index[Any], codes: NDArray[Any], column: pd.Series[Any] | None) -> Any:
    if values.dtype == np.float64:
        return np.append(values.to_numpy(), np.nan)[codes]
    return names_of_rows(codes, values, column)


def of_source(problem: Problem, source: NDArray[np.int64]) -> Problem:
    """The problem with row numbers of the user's own table."""
    rows = np.unique(source[np.asarray(problem.rows, dtype=np.int64) - 1]) + 1
    return replace(problem, rows=tuple(rows.tolist()))
