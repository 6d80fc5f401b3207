"""What tables have in common: coded rows, rules on them reported in the user's own values, and which rows are used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.errors import Problem
from bayesjudge.tables.coding import BINARY, MISSING, UNKNOWN, distinct_values, names_in, shown

#: Distinct values reported one by one for each rule; one problem sums up the remaining ones.
SHOWN = 5
#: Name of what rows of a named kind leave empty.
NO_NAME = "(missing)"


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Codes of every row, what the codes of names represent, and the table they were made from."""

    codes: pd.DataFrame
    names: Mapping[str, pd.Index[Any]]
    table: pd.DataFrame

    def description(self, *keys: str) -> Callable[[int], str]:
        """A function from a row to words like ``item '7', trial '2'``; what is missing is left out."""

        def name(row: int) -> str:
            code = {key: int(self.codes[key].iloc[row]) for key in keys}
            return ", ".join(f"{key} {self.names[key][at]!r}" for key, at in code.items() if at >= 0)

        return name

    def with_name(self, key: str, codes: NDArray[Any], names: pd.Index[Any]) -> Self:
        """With other codes of one kind of names."""
        return replace(self, codes=self.codes.assign(**{key: codes}), names={**self.names, key: names})

    def with_missing_named(self, key: str, lost: NDArray[np.bool_]) -> Self:
        """With `NO_NAME` on the rows (N,) that lack a name of one kind."""
        names = self.names[key]
        more = pd.Index([NO_NAME] if lost.any() else [], dtype="str")
        return self.with_name(key, np.where(lost, len(names), self.codes[key]), names.append(more))


def filled(key: NDArray[np.int64], value: NDArray[Any], missing: Any = MISSING) -> NDArray[Any]:
    """Every row's value: its own or that of another row of its key; negative keys and values are none."""
    by_key = np.full(int(key.max(initial=-1)) + 2, missing, dtype=value.dtype)
    known = (key >= 0) & (value >= 0)
    by_key[key[known]] = value[known]
    return np.asarray(by_key[key])


def count_within(key: NDArray[np.int64], among: NDArray[np.bool_]) -> NDArray[np.int32]:
    """How many of the rows counted share the key and came before; 0 for the others."""
    place = np.zeros(len(key), dtype=np.int32)
    counted = pd.Series(key[among])
    if counted.duplicated().any():
        place[among] = counted.groupby(counted).cumcount()
    return place


def usable_rows(unusable: Mapping[str, NDArray[np.bool_]]) -> tuple[NDArray[np.bool_], dict[str, int]]:
    """Rows (N,) to keep and, for the others, the first reason that holds."""
    keep, dropped = np.array(True), {}
    for reason, rows in unusable.items():
        dropped[reason] = int((keep & rows).sum())
        keep = keep & ~rows
    return keep, {reason: n for reason, n in dropped.items() if n}


def no_rows(found: str, allowed: str) -> Problem:
    """A table without a single row of use."""
    fix = "Check the file, and which columns were read as what."
    return Problem(column="(table)", found=found, allowed=allowed, fix=fix)


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
        "Recode it, or state which values mean yes, of words by "
        f"--{'verdict' if column == 'verdict' else 'label'} NAME=A,B, of scores by a threshold."
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


def readable_columns(table: pd.DataFrame, kinds: Mapping[tuple[str, ...], tuple[str, str]]) -> list[Rule]:
    """The same of the columns of each kind that are there; of a kind what is allowed, and how it is repaired."""
    return [
        readable_as(key, table[key], allowed=allowed, fix=fix)
        for keys, (allowed, fix) in kinds.items()
        for key in keys
        if key in table
    ]


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
