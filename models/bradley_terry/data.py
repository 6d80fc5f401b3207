"""From counts of battles to what `bradley_terry` sees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bayesjudge.counts.battles.clusters import BattleClusters
from bayesjudge.counts.battles.counts import BattleCounts
from bayesjudge.errors import UsageError
from bayesjudge.model import Data
from bayesjudge.models.bradley_terry.clusters import DIMS, shared_errors
from bayesjudge.models.bradley_terry.groups import DIMS as GROUP_DIMS
from bayesjudge.models.bradley_terry.groups import group_arrays
from bayesjudge.models.common.battle_rows import (
    OUTCOMES,
    OutcomeRows,
    human_rows,
    incidence,
    judged_rows,
    root_mean_square,
    standardised,
)
from bayesjudge.models.common.elo_results import sizes
from bayesjudge.models.common.units import information


def prepare(
    counts: BattleCounts, *, judge: str | None, order: bool, length: bool, covariates: Sequence[str], by_group: bool
) -> Data:
    """Patterns of one kind of outcome, with a column of x for each effect."""
    of = "people's votes" if judge is None else f"verdicts of {judge}"
    columns = [_column(counts, name) for name in covariates]
    rows = (
        human_rows(counts, order=order, length=length, columns=columns, by_group=by_group)
        if judge is None
        else judged_rows(counts, judge, order=order, length=length, columns=columns, by_group=by_group)
    )
    if not rows.n.sum():
        raise UsageError(f"the table has no {of}; outcomes there are: {_known(counts)}")
    scales = _scales(rows, covariates, of=of)
    effects = _effects(rows, order=order, length=length, of=of)
    scale = np.array([1.0] * len(effects) + list(scales.values()))
    effects |= {name: rows.covariates[:, k] / scales[name] for k, name in enumerate(scales)}
    pairs = zip(rows.first, rows.second, strict=True)
    battle = tuple(f"{k}: {counts.models[a]} | {counts.models[b]}" for k, (a, b) in enumerate(pairs, start=1))
    x = np.column_stack(list(effects.values())) if effects else np.zeros((len(rows), 0))
    matrix = incidence(rows.first, rows.second, len(counts.models))
    axes, known = dict.fromkeys(matrix, ("battle", "system")), information(rows.n, len(counts.models))

    def effects_of(clusters: BattleClusters) -> NDArray[np.float64]:
        sides = ([clusters.order] if order else []) + ([clusters.side_longer] if length else [])
        known = [
            np.nan_to_num(clusters.covariates[:, k]) / scales[name] for k, name in zip(columns, scales, strict=True)
        ]
        return np.column_stack([np.zeros((len(clusters), 0)), *sides, *known])

    shared = shared_errors(counts, judge, effects=effects_of)
    if effects:
        # What narrows draws knows the prior of strengths alone (`clusters.with_errors`).
        shared["well_known"] = np.array(0)
    by = tuple(one.column for one in counts.clusters)
    grouped = group_arrays(counts, rows, judge, effects=effects_of) if by_group else {}
    return Data(
        arrays={**rows.arrays(), "x": x, "x_scale": scale, "information": known, **shared, **matrix, **grouped},
        dims={
            **rows.dims(),
            "x": ("battle", "effect"),
            "x_scale": ("effect",),
            "information": (),
            **DIMS,
            **axes,
            **(GROUP_DIMS if by_group else {}),
        },
        coords={
            "system": counts.models,
            "other_system": counts.models,
            "effect": tuple(effects),
            "battle": battle,
            "outcome": OUTCOMES,
            "column": by,
            **({"group": counts.groups} if by_group else {}),
        },
        observed="n",
        weights="n",
        ragged=("battle",),
        facts={"effects": len(effects), "covariates": tuple(scales)},
        units=sizes(rows, counts.models) | (_sizes_by_group(rows, counts) if by_group else {}),
    )


def _sizes_by_group(rows: OutcomeRows, counts: BattleCounts) -> dict[str, int]:
    """Battles behind each model and pair within each group."""
    found: dict[str, int] = {}
    for g, group in enumerate(counts.groups):
        within = sizes(rows.less(np.where((rows.group == g)[:, None], 0, rows.n)), counts.models)
        found |= {f"{unit} | {group}": n for unit, n in within.items()}
    return found


def _known(counts: BattleCounts) -> str:
    votes = ["votes (judge=None)"] if counts.human.votes.sum() else []
    return ", ".join([*votes, *(f"judge={judge!r}" for judge in counts.judges)])


def _column(counts: BattleCounts, name: str) -> int:
    if name not in counts.covariates:
        raise UsageError(
            f"these counts have no covariate {name!r}, they have {list(counts.covariates)}: "
            f"count with count_battles(..., covariates=[{name!r}])"
        )
    return counts.covariates.index(name)


def _scales(rows: OutcomeRows, names: Sequence[str], *, of: str) -> dict[str, float]:
    """Root mean square of each covariate: one unit of x."""
    total = rows.n.sum(axis=1)
    found = {name: root_mean_square(rows.covariates[:, k], total) for k, name in enumerate(names)}
    flat = [name for name, scale in found.items() if scale == 0]
    if flat:
        raise UsageError(
            f"covariate {flat[0]!r} is the same for both answers in every battle of {of}, "
            "or not known there; leave it out"
        )
    return found


def _effects(rows: OutcomeRows, *, order: bool, length: bool, of: str) -> dict[str, np.ndarray]:
    found = {}
    if order:
        if not np.any(rows.order):
            raise UsageError(
                f"order_effect=True needs battles whose order of showing is known; for {of} it "
                "is not (column order), or each battle was judged in both orders"
            )
        found["shown first"] = rows.order
    if length:
        found["longer"] = standardised(rows.length, rows.n.sum(axis=1), of=of)
    return found
