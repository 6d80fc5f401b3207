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
from bayesjudge.tables.schema import Rule, broken_rules, readable, readable_as, same_within
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

    ``numbered`` says that repeated rows are what the user's form means, so that no warning is needed.
    """

    table: pd.DataFrame
    source: NDArray[np.int64]
    dropped: Mapping[str, int]
    numbered: bool = False


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


@dataclass(frozen=True, eq=False)
class _Coded:
    """Codes of every row, what they represent, and the table they were made from."""

    codes: pd.DataFrame
    legend: Mapping[str, pd.Index[Any]]
    table: pd.DataFrame

    def description(self, *keys: str) -> Callable[[int], str]:
        """A function from a row to words like ``item '7', trial '2'``; what is missing is left out."""

        def name(row: int) -> str:
            code = {key: int(self.codes[key].iloc[row]) for key in keys}
            return ", ".join(f"{key} {self.legend[key][at]!r}" for key, at in code.items() if at >= 0)

        return name


def validate_events(
    frame: pd.DataFrame, columns: Mapping[str, str] | None, layout: Layout, *, also: tuple[str, ...] = ()
) -> tuple[pd.DataFrame, dict[str, int], tuple[str, ...]]:
    """Usable rows, the count of the others by reason, and what was assumed.

    ``also`` names further columns that a mapping may fill: those of count and wide forms.
    """
    table, warnings = name_columns(frame, columns, names=(*layout.columns, *also))
    unfolded = layout.unfold(table)
    missing = require_columns(unfolded.table.columns, (layout.keys[0], layout.value))
    if missing or unfolded.table.empty:
        raise InputError(missing or [_no_rows(layout, f"no rows left of {len(table)}")])
    coded, question = _without_questions(_code(unfolded.table, layout))
    coded, numbered = _number(coded, layout, quiet=unfolded.numbered)
    problems = broken_rules(coded.codes, _rules(coded, layout))
    if problems:
        raise InputError(_of_source(problem, unfolded.source) for problem in problems)
    keep, dropped = _choose(coded, layout)
    dropped = {**unfolded.dropped, **dropped}
    if not keep.any():
        raise InputError([_no_rows(layout, f"only rows that cannot be used: {dropped}")])
    return _assemble(coded, keep, layout), dropped, (*warnings, *question, *numbered)


def _code(table: pd.DataFrame, layout: Layout) -> _Coded:
    codes: dict[str, NDArray[Any]] = {}
    values: dict[str, pd.Index[Any]] = {}
    for key in layout.columns:
        words = key in _WORDS and key not in layout.labels
        codes[key], values[key] = _code_column(table, key, default=key in layout.keys[1:], words=words)
    return _Coded(pd.DataFrame(codes), values, table)


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


def _without_questions(coded: _Coded) -> tuple[_Coded, tuple[str, ...]]:
    item, prompt = coded.codes["item"], coded.codes["prompt"]
    pairs = pd.DataFrame({"item": item, "prompt": prompt})[(item >= 0) & (prompt >= 0)].drop_duplicates()
    by_item = pairs["item"].value_counts()
    text = question_warning(
        prompts=pairs["prompt"].nunique(), items=len(by_item), most=int(by_item.to_numpy().max(initial=0))
    )
    return (replace(coded, codes=coded.codes.assign(prompt=MISSING)), (text,)) if text else (coded, _SILENT)


def _number(coded: _Coded, layout: Layout, *, quiet: bool) -> tuple[_Coded, tuple[str, ...]]:
    """Name the trials where the table does not, and code cells (all but the trial) and events."""
    codes = coded.codes
    parts = [codes[key].to_numpy() for key in layout.keys]
    # A missing condition is a condition of its own: codes start at 1 after it.
    parts += [np.maximum(codes[key].to_numpy() + 1, 0) for key in layout.conditions]
    sizes = [len(coded.legend[key]) for key in layout.keys]
    sizes += [len(coded.legend[key]) + 1 for key in layout.conditions]
    cell = joint_codes(parts, sizes)
    cell[codes[layout.value].to_numpy() < 0] = MISSING
    legend, warnings = dict(coded.legend), _SILENT
    if not len(legend["trial"]):
        trial, warnings = _counted(cell, layout, quiet=quiet)
        legend["trial"] = pd.Index([str(k) for k in range(int(trial.max(initial=0)) + 1)], dtype="str")
        codes = codes.assign(trial=trial)
    event = joint_codes([cell, codes["trial"].to_numpy()], [int(cell.max(initial=0)) + 1, len(legend["trial"])])
    item = codes["item"].to_numpy().astype(np.int64)
    return _Coded(codes.assign(event=event, subject=item), legend, coded.table), warnings


def _counted(cell: NDArray[np.int64], layout: Layout, *, quiet: bool) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    known = cell >= 0
    trial = np.zeros(len(cell), dtype=np.int32)
    trial[known] = pd.Series(cell[known]).groupby(cell[known]).cumcount()
    repeats = int((trial > 0).sum())
    if quiet or not repeats:
        return trial, _SILENT
    what = ", ".join((*layout.keys, *layout.conditions))
    warning = f"{repeats} rows repeat an earlier one's {what}, and there is no trial column"
    return trial, (f"{warning}: taken as repeated trials, numbered in row order",)


def _rules(coded: _Coded, layout: Layout) -> list[Rule]:
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


def _choose(coded: _Coded, layout: Layout) -> tuple[NDArray[np.bool_], dict[str, int]]:
    """Rows to keep and, for the others, the first reason that holds."""
    codes = coded.codes
    unusable = {f"missing {key}": (codes[key] < 0).to_numpy() for key in (*layout.keys, layout.value, "trial")}
    unusable["exact repeat of a trial"] = ((codes["event"] >= 0) & codes["event"].duplicated()).to_numpy()
    keep = np.ones(len(codes), dtype=bool)
    dropped = {}
    for reason, rows in unusable.items():
        dropped[reason] = int((keep & rows).sum())
        keep &= ~rows
    return keep, {reason: n for reason, n in dropped.items() if n}


def _assemble(coded: _Coded, keep: NDArray[np.bool_], layout: Layout) -> pd.DataFrame:
    codes, table = coded.codes.assign(category=_filled(coded.codes)), coded.table
    if not keep.all():
        codes, table = codes[keep], table[keep].reset_index(drop=True)
    texts = {key: table.get(key) for key in layout.columns if key not in _WORDS or key in layout.labels}
    core = {key: _taken(coded.legend[key], codes[key].to_numpy(), texts.get(key)) for key in layout.columns}
    extra = table.drop(columns=[name for name in layout.columns if name in table])
    return pd.concat([pd.DataFrame(core), extra], axis=1)


def _taken(values: pd.Index[Any], codes: NDArray[Any], column: pd.Series[Any] | None) -> Any:
    if values.dtype == np.float64:
        return np.append(values.to_numpy(), np.nan)[codes]
    return names_of_rows(codes, values, column)


def _filled(codes: pd.DataFrame) -> NDArray[np.int32]:
    """Every row's category: its own or that of another row of the item."""
    item, own = codes["item"].to_numpy(), codes["category"].to_numpy()
    by_item = np.full(int(item.max(initial=-1)) + 2, MISSING, dtype=np.int32)
    known = (item >= 0) & (own >= 0)
    by_item[item[known]] = own[known]
    return np.asarray(by_item[item], dtype=np.int32)


def _of_source(problem: Problem, source: NDArray[np.int64]) -> Problem:
    """The problem with row numbers of the user's own table."""
    rows = np.unique(source[np.asarray(problem.rows, dtype=np.int64) - 1]) + 1
    return replace(problem, rows=tuple(rows.tolist()))


def _no_rows(layout: Layout, found: str) -> Problem:
    return Problem(
        column="(table)",
        found=found,
        allowed=f"at least one row with an item and {layout.value}",
        fix="Check the file, and which columns were read as what.",
    )
