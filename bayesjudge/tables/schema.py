"""What a table must obey: rules on the coded columns, reported as problems in the user's own values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.errors import Problem
from bayesjudge.tables.coding import BINARY, UNKNOWN, distinct_values, names_in, shown

#: Distinct values reported one by one for each rule; one problem sums up the remaining ones.
SHOWN = 5


@dataclass(frozen=True, eq=False, kw_only=True)
class Rule:
    """One thing every row must obey.

    holds: From the coded table (N rows) to a boolean array (N,).
    found: From the coded table and the rows that break it to ``(what was found, its rows)``, see `SHOWN`.
    """

    column: str
    holds: Callable[[pd.DataFrame], NDArray[np.bool_]]
    found: Callable[[pd.DataFrame, NDArray[np.int64]], Sequence[tuple[str, NDArray[np.int64]]]]
    allowed: str
    fix: str


def readable(column: str, values: pd.Series[Any], *, binary: bool, where: str = "") -> Rule:
    """Every value of a column could be coded."""
    fix = (
        "Recode it; a score needs a threshold first, for example (score >= 0.5)."
        if binary
        else "Write a name or a number, or leave it empty."
    )
    allowed = BINARY if binary else names_in(column)
    return readable_as(column, values, allowed=allowed, fix=fix, where=where)


def readable_as(column: str, values: pd.Series[Any], *, allowed: str, fix: str, where: str = "") -> Rule:
    """No value of a column has the code `UNKNOWN`."""

    def found(_: pd.DataFrame, rows: NDArray[np.int64]) -> list[tuple[str, NDArray[np.int64]]]:
        return grouped(values.iloc[rows], rows, lambda row: shown(values.iloc[row]))

    return Rule(
        column=where + column,
        holds=lambda coded: coded[column].to_numpy() != UNKNOWN,
        found=found,
        allowed=allowed,
        fix=fix,
    )


def same_within(
    column: str, key: str, *, unit: str, name: Callable[[int], str], fix: str, where: str = "", values: str = "0 and 1"
) -> Rule:
    """Rows that share a key agree on a coded column wherever both have it; else they show the ``values``."""

    def holds(coded: pd.DataFrame) -> NDArray[np.bool_]:
        return ~_conflicting(coded[key].to_numpy(), coded[column].to_numpy())

    def found(coded: pd.DataFrame, rows: NDArray[np.int64]) -> list[tuple[str, NDArray[np.int64]]]:
        return grouped(coded[key].to_numpy()[rows], rows, lambda row: f"{values} for {name(row)}")

    return Rule(column=where + column, holds=holds, found=found, allowed=f"one value for each {unit}", fix=fix)


def grouped(
    key: NDArray[Any] | pd.Series[Any], rows: NDArray[np.int64], tell: Callable[[int], str]
) -> list[tuple[str, NDArray[np.int64]]]:
    """Rows of each of the first findings in the words of their first row, and of all the others together."""
    codes, distinct = distinct_values(pd.Series(key))
    findings = [(tell(int(rows[codes == code][0])), rows[codes == code]) for code in range(min(SHOWN, len(distinct)))]
    rest = len(distinct) - len(findings)
    return [*findings, (f"{rest} more such findings", rows[codes >= SHOWN])] if rest else findings


def broken_rules(coded: pd.DataFrame, rules: Sequence[Rule]) -> list[Problem]:
    """All problems of a coded table, in the order of the rules.

    coded: Integer codes, rows numbered from 0.

    Returns: At most `SHOWN` + 1 for each rule; the last sums up the findings not reported one by one.
    """
    return [problem for rule in rules for problem in _problems(coded, rule)]


def _problems(coded: pd.DataFrame, rule: Rule) -> list[Problem]:
    broken = np.flatnonzero(~rule.holds(coded))
    findings = rule.found(coded, broken) if len(broken) else []
    return [
        Problem(column=rule.column, found=text, allowed=rule.allowed, fix=rule.fix, rows=tuple((rows + 1).tolist()))
        for text, rows in findings
    ]


def _conflicting(key: NDArray[np.int64], value: NDArray[Any]) -> NDArray[np.bool_]:
    """Rows with a value whose key shows more than one."""
    known = (key >= 0) & (value >= 0)
    size = int(key.max(initial=-1)) + 1
    last = np.zeros(size, dtype=value.dtype)
    last[key[known]] = value[known]
    conflicting = np.zeros(size + 1, dtype=bool)
    conflicting[key[known][value[known] != last[key[known]]]] = True
    # A key that is missing or cannot be read asks the place after the last one.
    return np.asarray(known & conflicting[np.where(key >= 0, key, size)], dtype=bool)
