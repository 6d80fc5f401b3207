"""Formulas that add to what a model's equations have: their terms, priors and design over judges and units.

    what is there + x b + Σ_g s_g z_g[c],    z ~ N(0, 1)

Rows of a design are units (items, or responses) within judges, so that ``(length|judge)`` is an effect of length
that differs by judge. The levels, which ``1`` stands for, are the model's own.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.effects import Formula, Term, design, read_formula
from bayesjudge.effects.cells import categories_of, changes_of
from bayesjudge.effects.columns import Columns, names_of, prepared, with_differences
from bayesjudge.effects.formula import base_of
from bayesjudge.errors import UsageError
from bayesjudge.models.common.effect_terms import Coefficients
from bayesjudge.priors import InUse, Slot

if TYPE_CHECKING:
    import xarray as xr

    from bayesjudge.model import Data


#: The column that every design has.
JUDGE = "judge"


@functools.cache
def added_formulas(texts: tuple[str, ...], *, of: tuple[str, ...], slots: tuple[str, ...]) -> tuple[Formula, ...]:
    """Formulas of what a model lets formulas move, none of whose priors has the name of one of ``slots``."""
    found = tuple(read_formula(text, rates=of) for text in texts)
    for formula in found:
        if sum(one.rate == formula.rate for one in found) > 1:
            raise UsageError(f"two formulas of {formula.rate}: give one")
        if Term(()) not in formula.common:
            raise UsageError(f"formula '{formula}': it has no level: add 1")
        if not (names := _slots_of(formula)):
            raise UsageError(f"formula '{formula}': it adds nothing to what is always there: name a column")
        if taken := [name for name in names if name in slots]:
            raise UsageError(f"formula '{formula}': a prior is called {taken[0]!r} already: rename the column")
    return found


def columns_of(formulas: Sequence[Formula]) -> list[str] | None:
    """The columns of a table that formulas name, but for the judge; none without formulas."""
    named = {base_of(name)[1] for formula in formulas for name in formula.columns}
    return sorted(named - {JUDGE}) if formulas else None


def _slots_of(formula: Formula) -> dict[str, Term]:
    """The slot of each term's coefficients, or of their spread where they pool."""
    common = {f"{formula.rate}_{term.name}": term for term in formula.common if term.columns}
    return common | {f"{formula.rate}_spread_{term.name}": term for term in formula.grouped}


def added_slots(formulas: Sequence[Formula], effects: Mapping[str, Slot], spread: Slot) -> Mapping[str, Slot]:
    """Priors of all terms: of numbers by what they move, and of every spread."""
    return {
        name: spread if term.groups else effects[formula.rate]
        for formula in formulas
        for name, term in _slots_of(formula).items()
    }


def coefficients_of(formula: Formula) -> Coefficients:
    """The names of a formula's coefficients."""
    slots = _slots_of(formula)
    common, pooled = ([name for name, term in slots.items() if bool(term.groups) is pools] for pools in (False, True))
    return Coefficients(of=formula.rate, common=tuple(common), pooled=tuple(pooled))


@dataclass(frozen=True, eq=False, kw_only=True)
class Added:
    """What formulas add to `Data`: designs, how numbers change them, and the categories that units belong to."""

    arrays: Mapping[str, Any]
    dims: Mapping[str, tuple[str, ...]]
    coords: Mapping[str, tuple[Any, ...]]
    facts: Mapping[str, Any]


def added_to(
    judges: Sequence[str], units: pd.DataFrame, formulas: Sequence[Formula], *, axis: str, only: str = ""
) -> Added:
    """Designs of formulas over units within judges, (J·U, P).

    judges: Of every block of rows.
    units: The columns of each unit.
    axis: Of the units.
    only: Of X that is not there but X_a and X_b are, the difference is for formulas of this alone.
    """
    if not formulas:
        return Added(arrays={}, dims={}, coords={}, facts={})
    rows = _rows(judges, units)
    columns = {one: prepared(with_differences(rows, one) if one.rate == only else rows, [one]) for one in formulas}
    designs = [_designed(formula, columns[formula]) for formula in formulas]
    matrices = {f"design_{one.formula.rate}": (one.formula.rate, one.matrix) for one in designs}
    changes = [(one.formula.rate, number, change) for one in designs for number, change in one.changes.items()]
    matrices |= {f"change_{k}": (of, change) for k, (of, _, change) in enumerate(changes, start=1)}
    words = [n for formula, of in columns.items() for n in formula.columns if n not in (*of.numbers, JUDGE)]
    members, many = categories_of({name: names_of(units[name]) for name in dict.fromkeys(words)})
    arrays: dict[str, Any] = {name: matrix for name, (_, matrix) in matrices.items()}
    dims: dict[str, tuple[str, ...]] = {name: (f"{of}_row", f"{of}_coefficient") for name, (of, _) in matrices.items()}
    coords: dict[str, tuple[Any, ...]] = {"of_category": tuple(members)} if members else {}
    if members:
        arrays["member"], dims["member"] = np.stack([*members.values()], axis=1), (axis, "of_category")
    for one in designs:
        sizes = zip((f"{one.formula.rate}_row", f"{one.formula.rate}_coefficient"), one.matrix.shape, strict=True)
        coords |= {**one.labels, **{dim: tuple(range(size)) for dim, size in sizes}}
    scale = {name: pair for one in columns.values() for name, pair in one.scale.items()}
    missing = {name: n // len(judges) for one in columns.values() for name, n in one.missing.items()}
    facts = {
        "changes": tuple((of, number) for of, number, _ in changes),
        "scale": tuple((name, *pair) for name, pair in scale.items()),
        "missing": tuple(missing.items()),
        "too_many": tuple(many.items()),
    }
    return Added(arrays=arrays, dims=dims, coords=coords, facts=facts)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Designed:
    """The design of one formula without its level, its labels by axis, and how numbers change it."""

    formula: Formula
    matrix: NDArray[np.float64]
    labels: Mapping[str, tuple[Any, ...]]
    changes: Mapping[str, NDArray[np.float64]]


def _designed(formula: Formula, columns: Columns) -> _Designed:
    made, named = design(formula, columns.frame), coefficients_of(formula)
    parts = (*made.common, *made.grouped)
    own = [bool(part.term.columns or part.term.groups) for part in parts]
    kept = np.repeat(own, [len(part.labels) for part in parts])
    of_slots = [part.labels for part, is_own in zip(parts, own, strict=True) if is_own]
    labels: dict[str, tuple[Any, ...]] = dict(zip((*named.common, *named.pooled), of_slots, strict=True))
    if named.pooled:
        labels[named.axis] = tuple(f"{part.term.name}: {label}" for part in made.grouped for label in part.labels)
    changes = {number: change[:, kept] for number, change in changes_of(formula, columns).items()}
    return _Designed(formula=formula, matrix=made.matrix[:, kept], labels=labels, changes=changes)


def _rows(judges: Sequence[str], units: pd.DataFrame) -> pd.DataFrame:
    """Units within judges."""
    rows = pd.concat([units] * len(judges), ignore_index=True)
    return rows.assign(**{JUDGE: np.repeat(np.array(judges, dtype=object), len(units))})


def numpyro_shift(formula: Formula | None, data: Data, prior: InUse, *, judges: int) -> Any:
    """What a formula adds for every unit of every judge, (J, U), sampled in NumPyro; 0 without one."""
    if formula is None:
        return 0.0
    return (data[f"design_{formula.rate}"] @ coefficients_of(formula).numpyro(data, prior)).reshape(judges, -1)


def pymc_shift(formula: Formula | None, data: Data, prior: InUse, *, judges: int) -> Any:
    """The same inside an open PyMC model."""
    if formula is None:
        return np.float64(0)
    return coefficients_of(formula).pymc(data, prior, np.asarray(data[f"design_{formula.rate}"])).reshape((judges, -1))


def shift_draws(formula: Formula, posterior: xr.Dataset, data: Data) -> NDArray[np.float64]:
    """Draws (D, J·U) of what a formula adds."""
    found: NDArray[np.float64] = coefficients_of(formula).draws(posterior, data) @ data[f"design_{formula.rate}"].T
    return found


def changed(formulas: Sequence[Formula], posterior: xr.Dataset, data: Data) -> dict[tuple[str, str], Any]:
    """Draws (D, J·U) of what one more standard deviation of each number adds, by what it moves and its name."""
    draws = {formula.rate: coefficients_of(formula).draws(posterior, data) for formula in formulas}
    return {
        (of, number): draws[of] @ np.asarray(data[f"change_{k}"]).T
        for k, (of, number) in enumerate(data.facts.get("changes", ()), start=1)
    }
