"""From tables that hold several trials a row (counts of outcomes, one column a score) to one row a trial."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.errors import InputError, Problem
from bayesjudge.tables.coding import UNKNOWN
from bayesjudge.tables.repeat_rows import Unfolded
from bayesjudge.tables.schema import broken_rules, readable_as
from bayesjudge.tables.words import OUTCOMES, code_numbers, numbers_of

#: Columns of the count form, in the order of `OUTCOMES`; the last is optional.
COUNT_COLUMNS = ("n_a", "n_b", "n_tie")
#: Columns that hold the scores of both responses of a comparison.
SIDE_COLUMNS = ("score_a", "score_b")
_COUNT = "an integer number of trials, 0 or more, or empty for missing"
#: A date and time fit; a name of thousands of digits, which Python would not read as a number, is no trial.
_NUMBERED = re.compile(r"(s|score|trial|run|rep|repeat|repetition|sample|rating)[_ ]?(\d{1,18})", re.IGNORECASE)


def unfold_outcomes(table: pd.DataFrame) -> Unfolded:
    """One row a trial, from a table with an ``outcome`` or with `COUNT_COLUMNS`.

    Examples
    --------
    >>> unfold_outcomes(pd.DataFrame({"item": ["q"], "n_a": [2], "n_b": [1]})).table["outcome"].tolist()
    ['a', 'a', 'b']
    """
    if "outcome" in table or not {"n_a", "n_b"} <= set(table.columns):
        return _as_it_is(table)
    names = [name for name in COUNT_COLUMNS if name in table]
    counts, missing = _read_counts(table, names)
    source = np.repeat(np.arange(len(table)), counts.sum(axis=1))
    outcome = np.repeat(np.tile(np.asarray(OUTCOMES)[: len(names)], len(table)), counts.reshape(-1))
    # Trials of one row have no names of their own; numbering starts again in each cell.
    rest = table.drop(columns=[*names, *(["trial"] if "trial" in table else [])])
    long = rest.iloc[source].reset_index(drop=True).assign(outcome=pd.array(outcome, dtype="str"))
    lost = {"missing counts": missing, "no outcome counted": ~missing & (counts.sum(axis=1) == 0)}
    dropped = {reason: int(rows.sum()) for reason, rows in lost.items() if rows.any()}
    return Unfolded(table=long, source=source, dropped=dropped, numbered=True, notes=_not_counted(table, counts))


#: Names of counts of trials without an outcome.
_NO_OUTCOME = re.compile(r"n_(.*_)?(refus|err|invalid|fail|skip|abst|neither|other|unknown|unclear|unpars|none|null).*")


def _not_counted(table: pd.DataFrame, counts: NDArray[np.int64]) -> tuple[str, ...]:
    """What is said of counts of refusals and the like next to those that are read."""
    sums = {name: np.nansum(numbers_of(table[name])) for name in table.columns if _NO_OUTCOME.fullmatch(str(name))}
    said = " and ".join(f"{name!r} ({total:.0f} in all)" for name, total in sums.items() if total > 0)
    return (f"{said} next to {counts.sum()} counted outcomes: not used, as no outcome of a, b or tie",) if said else ()


def unfold_scores(table: pd.DataFrame) -> Unfolded:
    """One row a score, from a table with a ``score``, with numbered columns, or with `SIDE_COLUMNS`.

    Examples
    --------
    >>> wide = pd.DataFrame({"item": ["q"], "s0": [7], "s1": [8]})
    >>> unfold_scores(wide).table[["trial", "score"]].to_dict("list")
    {'trial': ['0', '1'], 'score': [7, 8]}
    """
    if "score" in table:
        return _as_it_is(table)
    columns = score_columns(table.columns)
    if columns:
        return _melted(table, columns, "trial")
    if set(SIDE_COLUMNS) <= set(table.columns) and "response" not in table:
        return _melted(_orders_apart(table), dict(zip(SIDE_COLUMNS, OUTCOMES, strict=False)), "response")
    return _as_it_is(table)


def score_columns(found: Iterable[str]) -> dict[str, str]:
    """Columns that hold one trial's scores each, with the trial's name; none where there are no such columns.

    Examples
    --------
    >>> score_columns(["item", "s0", "s1"])
    {'s0': '0', 's1': '1'}
    """
    kinds: dict[str, dict[str, str]] = defaultdict(dict)
    for name in found:
        match = _NUMBERED.fullmatch(name)
        if match:
            kinds[match[1].casefold()][name] = str(int(match[2]))
    if len(kinds) > 1:
        sets = "; ".join(", ".join(columns) for columns in kinds.values())
        problem = Problem(
            column="score",
            found=f"several sets of numbered columns: {sets}",
            allowed="one set, for example s0, s1, s2",
            fix="Remove or rename the other columns.",
        )
        raise InputError([problem])
    return next(iter(kinds.values()), {})


def _as_it_is(table: pd.DataFrame) -> Unfolded:
    return Unfolded(table=table, source=np.arange(len(table)), dropped={})


def _orders_apart(table: pd.DataFrame) -> pd.DataFrame:
    """The table with the order in the name of each trial: the orders of one trial are two scores of each response."""
    if not {"trial", "order"} <= set(table):
        return table
    both = table["trial"].astype("str") + " " + table["order"].astype("str")
    return table.assign(trial=both.where(both.notna(), table["trial"]))


def _melted(table: pd.DataFrame, columns: Mapping[str, str], name: str) -> Unfolded:
    source = np.tile(np.arange(len(table)), len(columns))
    rest = table.drop(columns=[*columns, *([name] if name in table else [])])
    values: dict[str, Any] = {
        name: pd.array(np.repeat(np.array(list(columns.values())), len(table)), dtype="str"),
        "score": pd.concat([table[column] for column in columns], ignore_index=True),
    }
    long = rest.iloc[source].reset_index(drop=True).assign(**values)
    return Unfolded(table=long, source=source, dropped={}, numbered=name == "trial")


def _read_counts(table: pd.DataFrame, names: list[str]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Counts (N, C), 0 where any of a row's is missing, and which rows (N,) those are."""
    codes, values = {}, {}
    for name in names:
        codes[name], numbers = code_numbers(table[name])
        whole = (numbers >= 0) & (numbers == np.floor(numbers))
        codes[name] = np.where((codes[name] >= 0) & ~np.append(whole, [True, True])[codes[name]], UNKNOWN, codes[name])
        values[name] = np.append(numbers, 0.0)[np.maximum(codes[name], -1)]
    fix = "Write counts of trials; shares need the number of trials first."
    problems = broken_rules(
        pd.DataFrame(codes), [readable_as(name, table[name], allowed=_COUNT, fix=fix) for name in names]
    )
    if problems:
        raise InputError(problems)
    missing = np.logical_or.reduce([code < 0 for code in codes.values()])
    counts = np.column_stack([values[name] for name in names]).astype(np.int64)
    return np.where(missing[:, None], 0, counts), missing
