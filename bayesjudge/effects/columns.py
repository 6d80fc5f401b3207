"""The columns of formulas as a design takes them: numbers in standard deviations, categories as text, no gaps.

Numbers are standardised over all answers and rounded to an eighth of a standard deviation within ±4, so that
answers fall into few cells and what is fitted are counts; a coefficient β moves a logit by |β|/16 at most by
that. A missing number becomes the mean, and a column of its own says where that is; a missing category is one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from bayesjudge.effects.formula import Formula, base_of, require_columns
from bayesjudge.errors import UsageError
from bayesjudge.tables.coding import UNKNOWN, code_names
from bayesjudge.tables.words import code_numbers

#: Name of a missing category, and after the name of a number the column that says where it is missing.
MISSING = "(missing)"
#: Categories of a column that have a row each, or an effect of their own that does not pool, at most.
MOST_LEVELS = 60
_STEPS, _MOST = 8, 4.0
_FUNCTIONS: Mapping[str, Any] = {"log": np.log, "sqrt": np.sqrt, "logit": lambda x: np.log(x) - np.log1p(-x)}


@dataclass(frozen=True, eq=False, kw_only=True)
class Columns:
    """Columns of formulas, one row an answer.

    frame: Numbers in standard deviations, other columns as text.
    numbers: Names of the numbers.
    scale: Mean and standard deviation of every number.
    missing: Answers without a value, by column.
    """

    frame: pd.DataFrame
    numbers: tuple[str, ...]
    scale: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    missing: Mapping[str, int] = field(default_factory=dict)


def prepared(answers: pd.DataFrame, formulas: Sequence[Formula]) -> Columns:
    """The columns that formulas name, from a table with one row an answer."""
    require_columns(formulas, list(answers.columns))
    groups = {name for formula in formulas for term in formula.grouped for name in term.groups}
    found: dict[str, Any] = {}
    scale, missing = {}, {}
    for name in dict.fromkeys(name for formula in formulas for name in formula.columns):
        function, base = base_of(name)
        raw = None if name in groups else numbers_of(answers[base])
        if raw is None:
            if function:
                raise UsageError(f"{name} in a formula: {base!r} is not a numeric column entered as it is")
            found[name] = names_of(answers[base])
            gaps = found[name] == MISSING
            levels = np.unique(found[name])
            if name not in groups and len(levels) > MOST_LEVELS:
                raise UsageError(
                    f"{name} in a formula: it is not numeric and has {len(levels)} categories, {str(levels[-1])!r} for "
                    f"instance: write numbers, or (1|{name}) for categories that pool"
                )
        else:
            gaps = np.isnan(raw)
            found[name], scale[name] = standardised(name, function, raw)
        if gaps.any():
            missing[base] = int(gaps.sum())
            if raw is not None:
                found[f"{name} {MISSING}"] = gaps.astype(np.float64)
    frame = pd.DataFrame(found, index=answers.index)
    return Columns(frame=frame, numbers=tuple(scale), scale=scale, missing=missing)


def with_differences(table: pd.DataFrame, formula: Formula, *, sign: Any = 1.0) -> pd.DataFrame:
    """The table with X of a less X of b, times a sign, for each X that a formula names where only X_a and X_b are."""
    sided = [name for name in formula.columns if name not in table and {f"{name}_a", f"{name}_b"} <= {*table.columns}]
    for name in sided:
        a, b = (numbers_of(table[f"{name}_{side}"]) for side in "ab")
        if a is None or b is None:
            raise UsageError(f"formula '{formula}': {name}_a and {name}_b are not numeric, and have no difference")
        table = table.assign(**{name: sign * (a - b)})
    return table


def numbers_of(values: pd.Series[Any]) -> NDArray[np.float64] | None:
    """Numbers, NaN where missing, also those that a file holds as text; None where any value is none."""
    if is_bool_dtype(values):
        return None
    if is_numeric_dtype(values):
        return values.to_numpy(np.float64, na_value=np.nan)
    codes, numbers = code_numbers(values)
    return None if (codes == UNKNOWN).any() or not len(numbers) else np.append(numbers, np.nan)[codes]


def names_of(values: pd.Series[Any]) -> NDArray[Any]:
    """Categories as text; a missing one is `MISSING`."""
    codes, names = code_names(values)
    if (codes == UNKNOWN).any():
        raise UsageError(f"{values.name} in a formula: it has lists, infinite numbers, broken or very long text")
    return np.append(names.to_numpy(object), MISSING)[codes].astype(str)


def standardised(name: str, function: str, raw: NDArray[np.float64]) -> tuple[NDArray[np.float64], tuple[float, float]]:
    """Values in rounded standard deviations from the mean, 0 where missing; mean and standard deviation."""
    there = np.isfinite(raw)
    values = raw.copy()
    if function:
        with np.errstate(all="ignore"):
            values = _FUNCTIONS[function](raw)
        if wrong := int((there & ~np.isfinite(values)).sum()):
            raise UsageError(f"{name} in a formula: {wrong} answers have a value without a {function}, such as 0")
    if not there.any() or np.isinf(raw).any():
        raise UsageError(
            f"{name} in a formula: {'it has infinite values' if np.isinf(raw).any() else 'no answer has a value'}"
        )
    mean, sd = float(values[there].mean()), float(values[there].std())
    if sd <= 1e-12 * max(abs(mean), 1.0):
        raise UsageError(f"{name} in a formula: it is {mean:g} in all answers, so that it has no effect to learn")
    z = np.where(there, (values - mean) / sd, 0.0)
    return np.clip(np.rint(z * _STEPS) / _STEPS, -_MOST, _MOST), (mean, sd)
