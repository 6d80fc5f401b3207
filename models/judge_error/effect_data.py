"""From answers with columns to what `judge_error` with formulas sees: cells, their six counts, and designs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.counts import VerdictCounts
from bayesjudge.counts.pair_cells import CELLS
from bayesjudge.effects import Formula, design
from bayesjudge.effects.cells import Cells, cells_of, changes_of, groups_of
from bayesjudge.effects.formula import SYSTEM
from bayesjudge.errors import UsageError
from bayesjudge.model import Data
from bayesjudge.models.common.units import Guess
from bayesjudge.models.common.verdict_channel import channel_guess
from bayesjudge.models.judge_error.formulas import coefficients_of, slot_of

#: Arrays with an entry for each of the six kinds of answers in each cell.
_OF_CELLS = ("n", "unit", "label", "verdict", "stratum")


def prepare(counts: VerdictCounts, formulas: tuple[Formula, ...], *, enriched: bool) -> Data:
    """Cells of answers of one system with one value of every column; each has the six cells of `CELLS`."""
    if counts.rows is None:
        needed = sorted({name for formula in formulas for name in formula.columns} - {SYSTEM})
        raise UsageError(f"these counts have no columns for formulas: count_verdicts(log, columns={needed})")
    answers = counts.rows
    cells = cells_of(answers, formulas, counts.models)
    code = cells.system
    entries = _entries(answers, cells.of, clustered=counts.clusters > 0)
    n = np.bincount(entries["entry_cell"], weights=entries["entry_n"], minlength=len(CELLS) * len(code))
    whole = np.allclose(n, np.rint(n), rtol=0, atol=1e-9)
    exact = not counts.weighted and counts.clusters == 0 and int(answers["runs"].max()) == 1
    label, verdict = (np.tile(column, len(code)) for column in np.array(CELLS).T)
    of_cell = np.repeat(np.arange(len(code)), len(CELLS))
    kinds = 3 if enriched else 2
    stratum = kinds * of_cell + np.minimum(label + 1, kinds - 1)
    total = np.rint(np.maximum(np.bincount(stratum, weights=n, minlength=kinds * len(code)), 0)).astype(np.int64)
    if exact and len(counts.models) == 1:
        entries = {name: values[:0] for name, values in entries.items()}
    arrays: dict[str, Any] = {
        "n": np.rint(n).astype(np.int64) if whole else n,
        "unit": of_cell,
        "label": label,
        "verdict": verdict,
        "stratum": stratum,
        "total": total,
        "of_system": code,
        "size": cells.size,
        "behind": _behind(answers, counts),
        **entries,
    }
    dims: dict[str, tuple[str, ...]] = {name: ("pattern",) if name in _OF_CELLS else (name,) for name in arrays}
    dims |= {"total": ("strata",), "of_system": ("cell",), "size": ("cell",), "behind": ("system",)}
    dims |= dict.fromkeys(entries, ("entry",))
    designs, axes, labels, changes = _designs(formulas, cells, _guesses(n.reshape(-1, len(CELLS)), enriched=enriched))
    groups = groups_of(cells)
    arrays |= designs | {"member": groups.matrix}
    dims |= axes | {"member": ("cell", "of_group")}
    sizes = {dim: size for name, of in dims.items() for dim, size in zip(of, arrays[name].shape, strict=True)}
    numbered: dict[str, tuple[Any, ...]] = {dim: tuple(range(size)) for dim, size in sizes.items()}
    coords = numbered | labels | {"system": counts.models, "judge": counts.judges, "group": tuple(groups.members)}
    facts = {
        "exact": exact,
        "weighted": counts.weighted,
        "changes": changes,
        "columns": groups.columns,
        "scale": tuple((name, *values) for name, values in cells.columns.scale.items()),
        "missing": tuple(cells.columns.missing.items()),
        "too_many": tuple(groups.too_many.items()),
    }
    units = _sizes(counts.models, n.reshape(-1, len(CELLS)), code, groups.members)
    return Data(arrays=arrays, dims=dims, coords=coords, observed="n", weights="n", facts=facts, units=units)


def _designs(
    formulas: tuple[Formula, ...], cells: Cells, guesses: Mapping[str, Guess]
) -> tuple[dict[str, Any], dict[str, tuple[str, ...]], dict[str, tuple[Any, ...]], tuple[tuple[str, str], ...]]:
    """Arrays, dims and coords of each rate's design and the guess at its effects, and rates and numbers of changes."""
    arrays: dict[str, Any] = {}
    dims: dict[str, tuple[str, ...]] = {}
    coords: dict[str, tuple[Any, ...]] = {}
    changes: list[tuple[str, str]] = []
    for formula in formulas:
        made, name = design(formula, cells.frame), f"design_{formula.rate}"
        arrays[name], dims[name] = made.matrix, ("cell", f"{formula.rate}_coefficient")
        coords |= {slot_of(formula, part.term): part.labels for part in (*made.common, *made.grouped)}
        effects, sizes = coefficients_of(formula), [len(part.labels) for part in (*made.common, *made.grouped)]
        coords[effects.axis] = tuple(f"{part.term.name}: {label}" for part in made.grouped for label in part.labels)
        known = effects.guess(guesses[formula.rate], made.matrix, sizes) if made.grouped else {}
        arrays |= known
        dims |= {key: (effects.axis, f"{key}_of")[: array.ndim] for key, array in known.items()}
        for number, change in changes_of(formula, cells).items():
            changes.append((formula.rate, number))
            key = f"change_{len(changes)}"
            arrays[key], dims[key] = change, dims[name]
    return arrays, dims, coords, tuple(changes)


def _guesses(n: NDArray[Any], *, enriched: bool) -> dict[str, Guess]:
    """What the labels of each cell say of the logits of its rates; chosen ones nothing of accuracy."""
    wrong, right = n[:, 2:4], n[:, 4:]
    labelled = (right + wrong).sum(axis=1) * (not enriched)
    return {"accuracy": Guess.of_counts(right.sum(axis=1) * (not enriched), labelled), **channel_guess(right, wrong)}


def replicated(data: Data, observed: Any) -> Data:
    """The same design with other counts, of answers that do not depend on each other."""
    nothing = {name: np.asarray(data[name])[:0] for name in ("entry_item", "entry_cell", "entry_n")}
    return data.with_arrays({**data.arrays, **observed, **nothing})


def _entries(answers: pd.DataFrame, cell: NDArray[Any], *, clustered: bool) -> dict[str, NDArray[Any]]:
    """Parts of answers: of which item (cluster), in which of the six cells of which cell, and how much of one."""
    weight = _weights(answers)
    share = (answers["positives"] / answers["runs"]).to_numpy()
    first = len(CELLS) * cell
    place = first + 2 * (answers["label"].to_numpy() + 1)
    item = pd.factorize(answers["cluster" if clustered else "item"])[0]
    n = np.concatenate([part * of for part in (weight, 1 - weight) for of in (1 - share, share)])
    where = np.concatenate([at + verdict for at in (place, first) for verdict in (0, 1)])
    kept = n != 0
    return {"entry_item": np.tile(item, 4)[kept], "entry_cell": where[kept], "entry_n": n[kept]}


def _weights(answers: pd.DataFrame) -> NDArray[np.float64]:
    """How many labels the label of each answer stands for: 1/probability with mean 1 for each system, 0 without."""
    given = answers["label"].to_numpy() >= 0
    if "probability" not in answers:
        return given.astype(np.float64)
    raw = np.where(given, 1 / answers["probability"].where(given, 1.0).to_numpy(np.float64), 0.0)
    of = answers[SYSTEM].to_numpy()
    mean = pd.Series(raw[given]).groupby(of[given]).mean()
    return raw / np.where(given, mean.reindex(of).to_numpy(), 1.0)


def _behind(answers: pd.DataFrame, counts: VerdictCounts) -> NDArray[Any]:
    """Labelled items (clusters) of each system, as many as are as informative where labels have weights (Kish)."""
    labelled = answers.assign(weight=_weights(answers))[lambda frame: frame["weight"] > 0].groupby(SYSTEM)
    if counts.weighted:
        found = labelled["weight"].agg(lambda w: w.sum() ** 2 / (w**2).sum())
    else:
        found = labelled["cluster" if counts.clusters else "item"].nunique()
    return np.asarray(found.reindex(list(counts.models)).fillna(0))


def _sizes(
    models: tuple[str, ...], n: NDArray[Any], code: NDArray[Any], groups: dict[str, NDArray[np.float64]]
) -> dict[str, int]:
    """Answers, and labelled answers, behind each system, overall and in each group."""
    found: dict[str, int] = {}
    for prefix, size in {"": n.sum(axis=1), "labelled:": n[:, 2:].sum(axis=1)}.items():
        for m, name in enumerate(models):
            mine = size * (code == m)
            found[prefix + name] = round(float(mine.sum()))
            found |= {f"{prefix}{name} | {group}": round(float(mine @ member)) for group, member in groups.items()}
    return found
