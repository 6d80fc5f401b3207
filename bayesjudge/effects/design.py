"""From a formula and the cells of a table to a matrix: logits of the rate are the matrix times its coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.effects.columns import MISSING
from bayesjudge.effects.formula import Formula, Term
from bayesjudge.errors import UsageError

type Array = NDArray[np.float64]
#: Most numbers in a matrix: cells × coefficients.
_MOST = 20_000_000


@dataclass(frozen=True)
class Part:
    """The coefficients of one term, next to each other in a design.

    labels: Of each coefficient.
    """

    term: Term
    labels: tuple[str, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Design:
    """The design of one rate, over C cells.

    matrix: (C, P): of the common parts, then of those that pool.
    common, grouped: The parts, in the order of the columns.
    """

    matrix: Array
    common: tuple[Part, ...]
    grouped: tuple[Part, ...]


def design(formula: Formula, cells: pd.DataFrame) -> Design:
    """The design of a rate over cells, whose columns are as `bayesjudge.effects.columns` prepares them."""
    from formulae import design_matrices
    from formulae.environment import Environment

    make: Any = design_matrices  # its types are those of its defaults
    try:
        found: Any = make(formula.right, cells, na_action="error", env=Environment([{}]))
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise UsageError(f"formula '{formula}': {error}") from error
    common, matrices = [], []
    for term, made in zip(formula.common, found.common.terms.values(), strict=True):
        columns = np.asarray(made.data, dtype=np.float64).reshape(len(cells), -1)
        # An interaction is 0 where a number is missing, which is the mean.
        gaps = [name for name in (f"{column} {MISSING}" for column in term.columns[:1]) if name in cells.columns]
        gaps = gaps if len(term.columns) == 1 else []
        labels = made.levels if made.kind == "categoric" else made.labels
        common.append(Part(term, (*map(str, labels), *gaps)))
        matrices += [columns, cells[gaps].to_numpy(np.float64)]
    grouped = []
    terms: dict[str, Any] = found.group.terms if found.group else {}
    for term, (name, made) in zip(formula.grouped, terms.items(), strict=True):
        columns = found.group[name].toarray()
        # Of crossed groups not all pairs are there.
        there = np.abs(columns).sum(axis=0) > 0
        labels = made.groups if len(made.groups) == len(there) else made.labels
        grouped.append(Part(term, tuple(str(label) for label, one in zip(labels, there, strict=True) if one)))
        matrices.append(columns[:, there])
    matrix = np.concatenate(matrices, axis=1)
    if matrix.size > _MOST:
        raise UsageError(
            f"formula '{formula}': {matrix.shape[0]} cells and {matrix.shape[1]} coefficients are too many: "
            "leave out a column with a value of its own for nearly every answer"
        )
    return Design(matrix=matrix, common=tuple(common), grouped=tuple(grouped))


def moved(formula: Formula, cells: pd.DataFrame, number: str) -> Array:
    """How the design's matrix changes when a number is one standard deviation higher, (C, P)."""
    higher = design(formula, cells.assign(**{number: cells[number] + 1.0})).matrix
    change: Array = higher - design(formula, cells).matrix
    return change
