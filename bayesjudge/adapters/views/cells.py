"""The accuracy question by columns of the log: a cell is the answers of one system with one value of each column.

A function gives the rates of cells; what is reported is of systems. A system's accuracy is Σ_c w_c θ_c, where w are
the weights that Dirichlet(1, ..., 1) weights of the items give its cells; its sensitivity and specificity are of the
answers that are right and wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.adapters.views.verdicts import ARRAYS, VERDICTS, counted, require_one_judge
from bayesjudge.adapters.views.view import PATTERN, Draws, Values, View, by_entry, drawn_within
from bayesjudge.counts import VerdictCounts, count_verdicts
from bayesjudge.effects.cells import cells_of, item_weights
from bayesjudge.effects.columns import numbers_of
from bayesjudge.effects.formula import RATES, Formula, Term, base_of
from bayesjudge.errors import UsageError
from bayesjudge.model import Data
from bayesjudge.tables import Verdicts

CELL = "cell"
_ARRAYS = {name: (CELL, *axes[1:]) for name, axes in ARRAYS.items()} | {"system_of": (CELL,)}
_RUN = ("label", "runs", "positives")
#: How many answers to which item (or cluster of items) lie in which cell.
_ENTRIES = (f"{PATTERN}item", f"{PATTERN}cell", f"{PATTERN}answers")


def cells_by(columns: Sequence[str]) -> View:
    """The accuracy question by some columns of the log."""
    return replace(
        VERDICTS,
        made=partial(_made, columns=tuple(columns)),
        arrays=_ARRAYS,
        estimands=dict.fromkeys(RATES, CELL),
        shared=RATES[1:],
        resampled=_resampled,
        shown=_shown,
        reduced=_of_systems,
    )


def _made(table: Any, *, columns: tuple[str, ...]) -> Data:
    based = [base_of(name)[1] for name in columns]
    counts = count_verdicts(table, columns=based) if isinstance(table, Verdicts) else table
    require_one_judge(counts)
    if counts.rows is None:
        raise UsageError(f"these counts have no columns for cells: count_verdicts(log, columns={based})")
    cells = cells_of(counts.rows, [_additive(columns, counts.rows)], counts.models)
    found, levels = _columns(cells.frame.drop(columns="system"))
    if clash := [name for name in found if name in {*_ARRAYS, *VERDICTS.axes, CELL, "judge"}]:
        raise UsageError(f"column {clash[0]!r} has the name of an array or axis that functions read: rename it")
    size = len(cells.size)
    of = np.column_stack([cells.of, counts.rows[[*_RUN]].to_numpy(np.int64)])
    patterns, n = np.unique(of, axis=0, return_counts=True)
    arrays = {f"{PATTERN}n": n} | {f"{PATTERN}{name}": patterns[:, k] for k, name in enumerate(("stratum", *_RUN))}
    return Data(
        arrays={**counted(arrays, size), "system_of": cells.system, **found, **arrays, **_items(counts, cells.of)},
        dims={
            **_ARRAYS,
            **dict.fromkeys(found, (CELL,)),
            **dict.fromkeys(arrays, ("pattern",)),
            **dict.fromkeys(_ENTRIES, ("entry",)),
        },
        coords={
            CELL: tuple(" | ".join(map(str, row)) for row in cells.frame.itertuples(index=False)),
            "system": counts.models,
            "label": ("wrong", "right"),
            "verdict": ("judged wrong", "judged right"),
            "judge": counts.judges,
            "pattern": tuple(range(len(n))),
            **levels,
        },
        observed="positives",
        counted=True,
        units={name: int(cells.size[cells.system == m].sum()) for m, name in enumerate(counts.models)},
    )


def _additive(columns: tuple[str, ...], answers: pd.DataFrame) -> Formula:
    """A formula that names the columns: numbers as such, others as groups, of which there may be many."""
    known = [name for name in columns if base_of(name)[1] in answers]
    text = [name for name in known if not base_of(name)[0] and numbers_of(answers[name]) is None]
    common = tuple(Term((name,)) for name in columns if name not in text)
    return Formula(RATES[0], " + ".join(columns), (Term(()), *common), tuple(Term((), (name,)) for name in text))


def _columns(frame: pd.DataFrame) -> tuple[dict[str, NDArray[Any]], dict[str, tuple[str, ...]]]:
    """Numbers as they were prepared; of categories codes, and their levels."""
    found, levels = {}, {}
    for name in map(str, frame):
        values = frame[name].to_numpy()
        if values.dtype.kind == "f":
            found[name] = values
        else:
            known, found[name] = np.unique(values.astype(str), return_inverse=True)
            levels[name] = tuple(known.tolist())
    return found, levels


def _items(counts: VerdictCounts, of: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    rows: Any = counts.rows
    unit = rows["cluster" if counts.clusters else "item"].astype("category").cat.codes.to_numpy(np.int64)
    pairs, n = np.unique(np.column_stack([unit, of]), axis=0, return_counts=True)
    return dict(zip(_ENTRIES, (*pairs.T, n), strict=True))


def _resampled(data: Data, replicates: int, rng: np.random.Generator) -> Values:
    """Answers of each system, over its cells."""
    arrays = {name: np.asarray(array) for name, array in data.arrays.items() if name.startswith(PATTERN)}
    system = np.asarray(data["system_of"])[arrays[f"{PATTERN}stratum"]]
    drawn = drawn_within(system, arrays[f"{PATTERN}n"], replicates, rng)
    return counted({**arrays, f"{PATTERN}n": drawn}, len(data["n"]))


def _of_systems(draws: Draws, data: Data) -> Draws:
    """Rates of systems from those of cells; Youden's J follows from both rates of the judge."""
    import xarray as xr

    if "accuracy" not in draws:
        return draws
    theta = draws["accuracy"].transpose("chain", "draw", CELL)
    code, chains = np.asarray(data["system_of"]), theta.sizes["chain"]
    item, cell, n = (np.asarray(data[name]) for name in _ENTRIES)
    weights = item_weights(item, cell, n, code, draws=chains * theta.sizes["draw"], seed=0)
    weight = theta.copy(data=weights.reshape(theta.shape))
    systems = xr.DataArray((code == np.arange(len(data.coords["system"]))[:, None]) * 1.0, dims=("system", CELL))
    systems = systems.assign_coords(system=list(data.coords["system"]))

    def mean(values: xr.DataArray, among: xr.DataArray) -> xr.DataArray:
        if CELL not in values.dims:
            return values
        return systems.dot(values * among, dim=CELL).transpose("chain", "draw", "system") / systems.dot(among, dim=CELL)

    among = {"accuracy": weight, "sensitivity": weight * theta, "specificity": weight * (1 - theta)}
    found = {name: mean(values, among[name]) for name, values in draws.items()}
    if {"sensitivity", "specificity"} <= found.keys():
        found["youden"] = found["sensitivity"] + found["specificity"] - 1
    return found


def _shown(name: str, observed: Values, data: Data) -> dict[str, Any]:
    """An observed array by system, by level of a category, and below and above the mean of a number."""
    code, arrays = np.asarray(data["system_of"]), data.arrays
    parts = {str(system): code == m for m, system in enumerate(data.coords["system"])}
    for column in (key for key, axes in data.dims.items() if axes == (CELL,) and key not in _ARRAYS):
        values = np.asarray(arrays[column])
        if column in data.coords:
            parts |= {f"{column}={level}": values == k for k, level in enumerate(data.coords[column])}
        else:
            parts |= {f"{column} below its mean": values < 0, f"{column} above its mean": values >= 0}
    into = np.stack([*parts.values()]).astype(float)
    axis = -len(data.dims[name])
    summed = np.moveaxis(np.tensordot(np.asarray(observed[name], dtype=float), into, axes=(axis, 1)), -1, axis)
    total = np.asarray(observed.get("n", data["n"])) @ into.T
    of = replace(data, arrays={"n": total}, coords={**data.coords, CELL: tuple(parts)})
    return by_entry(name, {name: summed}, of)
