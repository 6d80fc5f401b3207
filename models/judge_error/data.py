"""From counts to what `judge_error` sees: how many answers fall in each cell, and which cells share items."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.counts import VerdictCounts
from bayesjudge.counts.pair_cells import CELLS, PairCells, pair_cells
from bayesjudge.errors import UsageError
from bayesjudge.model import Data
from bayesjudge.models.common.verdict_channel import channel_guess


def prepare(counts: VerdictCounts, *, labels: str) -> Data:
    """Cells of every unit (a model, or a model within a group), six each, in the order of `CELLS`.

    A stratum is one unit's answers without a label, or with one; with enriched labels each label is a
    stratum, since it was chosen.
    """
    require_usable(counts, labels=labels)
    items, groups, models = counts.items[counts.judges[0]], len(counts.groups), len(counts.models)
    cells = pair_cells(items, groups=groups, clustered=counts.clusters > 0)
    units = models * groups
    label, verdict = (np.tile(column, units) for column in np.array(CELLS).T)
    unit = np.repeat(np.arange(units), len(CELLS))
    kinds = 3 if labels == "enriched" else 2
    stratum = kinds * unit + np.minimum(label + 1, kinds - 1)
    n = cells.sums.sum(axis=0)
    # Runs that disagree share an answer out between cells; otherwise these are whole numbers.
    n = np.rint(n).astype(np.int64) if np.allclose(n, np.rint(n), rtol=0, atol=1e-9) else n
    # Where every label represents more than one, what is left without a label may be less than none.
    total = np.bincount(stratum, weights=n, minlength=kinds * units)
    if counts.weighted:
        # Replicates of labels are as many as are as informative (Kish): drawn one by one, they have weight 1.
        given = items.n @ (items.label_weight > 0)
        share = np.divide(cells.labelled, given, where=given > 0, out=np.ones(len(given)))
        total[1::kinds] *= np.repeat(share, groups)
    total = np.rint(np.maximum(total, 0)).astype(np.int64)
    size = np.bincount(unit, weights=n)
    share = size / np.maximum(np.repeat(size.reshape(models, groups).sum(axis=1), groups), 1)
    dim, names = _units(counts)
    by_cell = n.reshape(units, len(CELLS))
    guesses = channel_guess(right=by_cell[:, 4:], wrong=by_cell[:, 2:4])
    guess = {key: array for name, found in guesses.items() for key, array in found.keep(name).items()}
    arrays = {
        "unit": unit,
        "label": label,
        "verdict": verdict,
        "n": n,
        "stratum": stratum,
        "total": total,
        "share": share,
        "together": cells.together,
        "sums": cells.sums,
        "items": cells.items,
        "behind": cells.labelled,
        "log_effect_error": np.array(cells.log_effect_error),
        **guess,
    }
    dims = {
        "total": ("strata",),
        "share": (dim,),
        "together": ("labelled", "cell", "other_cell"),
        "sums": ("labelled", "cell"),
        "items": ("labelled",),
        "behind": ("system",),
        "log_effect_error": (),
        **dict.fromkeys(guess, (dim,)),
    }
    words = {-1: "no label", 0: "label 0", 1: "label 1"}
    every = tuple(f"{name} | {words[y]} | verdict {v}" for name in names for y, v in CELLS)
    strata = list(words.values()) if kinds == 3 else ["no label", "label"]
    return Data(
        arrays=arrays,
        dims={name: dims.get(name, ("pattern",)) for name in arrays},
        coords={
            dim: names,
            "system": counts.models,
            "group": counts.groups,
            "judge": counts.judges,
            "pattern": every,
            "strata": tuple(f"{name} | {kind}" for name in names for kind in strata),
            "labelled": ("no label", "label"),
            "cell": every,
            "other_cell": every,
        },
        observed="n",
        weights="n",
        facts={"unit": dim, "exact": _exact(counts, cells), "weighted": counts.weighted},
        units=_sizes(counts, n),
    )


def require_usable(counts: VerdictCounts, *, labels: str) -> None:
    """Refuse several judges, and labels that the counts do not have."""
    if counts.weighted != (labels in {"weighted", "reweighted"}):
        raise UsageError(
            f"labels={labels!r}, but the table states with which probability each answer was chosen to be "
            "labelled: labels='weighted' uses the column label_probability; without it, leave it out"
            if counts.weighted
            else f"labels={labels!r} needs the column label_probability: with which probability each "
            "labelled answer was chosen"
        )
    if len(counts.judges) > 1:
        raise UsageError(
            f"judge_error speaks of one judge and the table has {len(counts.judges)}: fit one at a time "
            "(counts.for_judge(name)), or use judge_panel for all together"
        )


def replicated(data: Data, observed: Mapping[str, Any]) -> Data:
    """The same design with other counts, of answers that do not depend on each other."""
    n = np.asarray(observed["n"], dtype=np.float64)
    sums, items = np.asarray(data["sums"]), np.asarray(data["items"])
    whole = sums.sum(axis=0)
    of_stratum = np.divide(sums, whole, where=whole > 0, out=np.repeat((items > 0)[:, None] * 0.5, len(n), axis=1))
    sums = of_stratum * n
    together = sums[:, :, None] * sums[:, None, :] / np.maximum(items, 1)[:, None, None]
    return data.with_arrays({**data.arrays, **observed, "sums": sums, "together": together})


def _units(counts: VerdictCounts) -> tuple[str, tuple[str, ...]]:
    if len(counts.groups) == 1:
        return "system", counts.models
    return "system_group", tuple(f"{model} | {group}" for model in counts.models for group in counts.groups)


def _exact(counts: VerdictCounts, cells: PairCells) -> bool:
    """Whether a model's cells are a multinomial sample: no cluster of several items, no answer shared out."""
    items = counts.items[counts.judges[0]]
    alone = int(items.n.sum()) == int(cells.items.sum()) and int(items.runs.max(initial=1)) <= 1
    return alone and not counts.weighted


def _sizes(counts: VerdictCounts, n: NDArray[Any]) -> dict[str, int]:
    """Answers behind each unit and each model, and labelled answers of both (key ``labelled:...``)."""
    table = np.asarray(n, dtype=float).reshape(len(counts.models), len(counts.groups), len(CELLS))
    of = {"": table.sum(axis=-1), "labelled:": table[..., 2:].sum(axis=-1)}
    sizes: dict[str, int] = {}
    for prefix, size in of.items():
        _, units = _units(counts)
        for names, values in ((units, size.reshape(-1)), (counts.models, size.sum(axis=1))):
            sizes |= {prefix + name: round(float(value)) for name, value in zip(names, values, strict=True)}
    return sizes | _shared_items(counts)


def _shared_items(counts: VerdictCounts) -> dict[str, int]:
    """Items that both models of a pair answered (key ``a − b``)."""
    items = counts.items[counts.judges[0]]
    judged = (items.runs > 0).astype(float)
    both = (judged * items.n[:, None]).T @ judged
    pairs = itertools.combinations(range(len(counts.models)), 2)
    return {f"{counts.models[a]} − {counts.models[b]}": int(both[a, b]) for a, b in pairs}
