"""Features by a formula, ``agreement ~ 1 + style + (1|topic)``: numbers, and groups whose effects pool."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.effects import AGREEMENT, Formula, design, read_formula
from bayesjudge.effects.columns import prepared, with_differences
from bayesjudge.errors import UsageError
from bayesjudge.priors import Slot

#: k of a block's scale, by the family of its prior.
FREEDOM = {"HalfNormal": 1, "Rayleigh": 2}
_GROUPS = Slot("Rayleigh(0.5)", "logits", "groups that are named are known to differ", families=tuple(FREEDOM))
_SLOPES = Slot("HalfNormal(0.5)", "logits", "an effect may well be the same in every group", families=tuple(FREEDOM))


class Column(NamedTuple):
    """A feature of every verdict.

    group: The level that it represents, as ``topic=law``; None of a number.
    """

    block: str
    name: str
    values: NDArray[np.float64]
    group: str | None = None


def formula_of(texts: tuple[str, ...], blocks: tuple[str, ...]) -> Formula | None:
    """The formula of agreement, whose blocks are none of those that are there."""
    if not texts:
        return None
    if len(texts) > 1:
        raise UsageError(f"{len(texts)} formulas of {AGREEMENT}: give one")
    formula = read_formula(texts[0], rates=(AGREEMENT,))
    if all(term.columns for term in formula.common):
        raise UsageError(f"formula '{formula}': it has no level: add 1")
    if there := [term.name for term in formula.grouped if term.name in blocks]:
        raise UsageError(f"formula '{formula}': {there[0]!r} is a block of features already: rename the column")
    return formula


def slots_of(formula: Formula | None) -> Mapping[str, Slot]:
    """Priors of the spreads of effects that pool."""
    grouped = formula.grouped if formula else ()
    return {f"{term.name}_spread": _SLOPES if term.columns else _GROUPS for term in grouped}


def columns_of(frame: pd.DataFrame, formula: Formula, sign: NDArray[np.float64], *, block: str) -> Iterator[Column]:
    """Features that a formula adds to verdicts, numbers in ``block``.

    sign: 1 where the judge chose a, −1 where it chose b: of ``style_a`` and ``style_b`` the difference counts.
    """
    answers = prepared(with_differences(frame, formula, sign=sign), [formula])
    made = design(formula, answers.frame)
    values = iter(made.matrix.T)
    for part in made.common:
        if words := [name for name in part.term.columns if name not in answers.numbers]:
            raise UsageError(f"formula '{formula}': {words[0]} is not numeric: write (1|{words[0]}), whose levels pool")
        for label, column in zip(part.labels, values, strict=False):
            if part.term.columns:
                yield Column(block, label, column)
    for part in made.grouped:
        groups = ":".join(part.term.groups)
        of = f"{':'.join(part.term.columns)} by {groups}" if part.term.columns else groups
        for label, column in zip(part.labels, values, strict=False):
            yield Column(part.term.name, f"{of}: {label}", column, None if part.term.columns else f"{groups}={label}")


def turned(frame: pd.DataFrame, name: str, sign: NDArray[np.float64]) -> NDArray[np.float64]:
    """X of the response that the judge chose less X of the other, from the columns X_a and X_b."""
    a, b = (numeric(frame[f"{name}_{side}"], name) for side in "ab")
    return sign * (a - b)


def numeric(column: pd.Series[Any], name: str) -> NDArray[np.float64]:
    """Numbers of a feature of that name, NaN where missing."""
    try:
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise UsageError(f"feature {name!r} is not numeric ({error}); give numbers") from error
