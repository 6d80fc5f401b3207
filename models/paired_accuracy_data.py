"""From counts to what `paired_accuracy` sees: patterns over the models of an item.

Two models: every outcome of every stratum is listed, seen or not. Three or more (or clusters): the
observed patterns only, with the *templates* (which answers were given, labelled, and how often judged)
that replicated items are drawn from, and in front of the counts the margins of the items.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.counts import ItemPatterns, VerdictCounts
from bayesjudge.errors import UsageError
from bayesjudge.model import Data
from bayesjudge.models.answer_cells import AnswerCells, list_cells
from bayesjudge.models.item_margins import answer_features, margin_count, summed_margins

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["prepare"]

#: Most outcomes of two models that are listed.
MOST_OUTCOMES = 65_536
#: Most items in one replicate of many models; past it a replicate stands for a sample of the items.
MOST_ITEMS = 50_000


@dataclass(frozen=True, eq=False, kw_only=True)
class _Patterns:
    """Distinct patterns, groups merged: cluster (R,), cells and kinds (R, M), n (R,)."""

    cells: AnswerCells
    cluster: NDArray[np.int64]
    n: NDArray[np.int64]


def prepare(counts: VerdictCounts, *, labels: str) -> Data:
    """Patterns of one judge's verdicts on two models or more."""
    if len(counts.judges) != 1:
        raise UsageError(
            f"paired_accuracy takes one judge at a time, got {list(counts.judges)}: use counts.for_judge(name)"
        )
    if len(counts.models) < 2:
        raise UsageError(
            f"paired_accuracy compares models and found only {list(counts.models)}; use judge_error for one"
        )
    seen = _merged(counts.items[counts.judges[0]], enriched=labels == "enriched")
    listed = len(counts.models) == 2 and not counts.clusters
    arrays, dims, form = _listed(seen) if listed else _observed(seen, len(counts.models))
    lengths = {
        dim: size
        for name, axes in dims.items()
        for dim, size in zip(axes, np.shape(arrays[name]), strict=True)
    }
    coords = {dim: tuple(range(size)) for dim, size in lengths.items()}
    return Data(
        arrays=arrays, dims=dims, observed="n", weights="n" if listed else "items",
        coords={**coords, "step": ("both", "only first", "only second"), "model": counts.models,
                "judge": counts.judges, "cluster": tuple(range(max(counts.clusters, 1)))},
        ragged=("pattern", "strata") if listed else ("pattern", "item_pattern", "template", "item"),
        facts={"form": form, "most_runs": int(seen.cells.runs.max()), "clusters": counts.clusters,
               "margins": 0 if listed else margin_count(len(counts.models))},
        units=_sizes(counts, counts.items[counts.judges[0]]),
    )  # fmt: skip


def _merged(items: ItemPatterns, *, enriched: bool) -> _Patterns:
    """Patterns with groups merged: the comparison is over all items."""
    models = items.label.shape[1]
    codes = np.column_stack([items.cluster, items.label, items.runs, items.positives])
    distinct, index = np.unique(codes, axis=0, return_inverse=True)
    n = np.bincount(index.reshape(-1), weights=items.n, minlength=len(distinct)).astype(np.int64)
    label, runs, positives = (distinct[:, 1 + k * models : 1 + (k + 1) * models] for k in range(3))
    return _Patterns(cells=list_cells(label, runs, positives, enriched=enriched), cluster=distinct[:, 0], n=n)


def _listed(seen: _Patterns) -> tuple[dict[str, Any], dict[str, tuple[str, ...]], str]:
    """All outcomes of each pair of kinds, and how often each was seen."""
    cells, by_kind = (
        seen.cells,
        [np.flatnonzero(seen.cells.kind == k) for k in range(seen.cells.kind.max() + 1)],
    )
    strata, _ = np.unique(cells.answer_kind, axis=0, return_inverse=True)
    if sum(len(by_kind[a]) * len(by_kind[b]) for a, b in strata) > MOST_OUTCOMES:
        raise UsageError(
            f"up to {cells.runs.max()} runs give over {MOST_OUTCOMES} joint outcomes; use fewer runs of each answer"
        )
    rows = [list(itertools.product(by_kind[a], by_kind[b])) for a, b in strata]
    cell, stratum = (
        np.concatenate(rows).astype(np.int64),
        np.repeat(np.arange(len(strata)), [len(r) for r in rows]),
    )
    width = len(cells.kind)
    n = np.zeros(width * width, dtype=np.int64)
    np.add.at(n, cells.answer_cell @ [width, 1], seen.n)
    n = n[cell @ [width, 1]]
    arrays = {"n": n, "cell": cell, "stratum": stratum, **cells.arrays(),
              "total": np.bincount(stratum, weights=n, minlength=len(strata)).astype(np.int64)}  # fmt: skip
    dims = {"n": ("pattern",), "cell": ("pattern", "model"), "stratum": ("pattern",), "total": ("strata",)}
    return arrays, dims | _cell_dims(cells), "two models"


def _observed(seen: _Patterns, models: int) -> tuple[dict[str, Any], dict[str, tuple[str, ...]], str]:
    """The observed patterns, their margins, and the templates that replicated items are drawn from."""
    cells, width = seen.cells, len(seen.cells.kind)
    one_hot = np.zeros((len(seen.n), models, width))
    np.put_along_axis(one_hot, cells.answer_cell[:, :, None], 1.0, axis=2)
    margins = _observed_margins(seen)
    template, of_pattern = np.unique(
        np.column_stack([seen.cluster, cells.answer_kind]), axis=0, return_inverse=True
    )
    item = np.repeat(of_pattern.reshape(-1), seen.n)
    step = -(-len(item) // MOST_ITEMS)
    arrays = {
        "n": np.concatenate([margins, seen.n]), "items": np.concatenate([np.zeros_like(margins), seen.n]),
        "cell": cells.answer_cell, "design": one_hot, "cluster_of": seen.cluster, "cell_kind": cells.kind,
        "template_cluster": np.append(0, template[:, 0]),
        "template_kind": np.vstack([np.zeros(models, dtype=np.int64), template[:, 1:]]),
        "item_template": 1 + np.sort(item)[::step], **cells.arrays(),
    }  # fmt: skip
    dims = {"n": ("pattern",), "items": ("pattern",), "cell": ("item_pattern", "model"), "cell_kind": ("cells",),
            "design": ("item_pattern", "model", "cells"), "cluster_of": ("item_pattern",),
            "template_cluster": ("template",), "template_kind": ("template", "model"), "item_template": ("item",)}  # fmt: skip
    return arrays, dims | _cell_dims(cells), "items"


def _observed_margins(seen: _Patterns) -> NDArray[np.int64]:
    cells, code = seen.cells, seen.cells.answer_cell
    features = answer_features(cells.label[code], cells.runs[code], cells.positives[code])
    return summed_margins(features, seen.n.astype(float)).astype(np.int64)


def _cell_dims(cells: AnswerCells) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(cells.arrays(), ("cells",))


def _sizes(counts: VerdictCounts, items: ItemPatterns) -> dict[str, int]:
    """Items behind each model and each pair (key ``a − b``)."""
    seen = (items.runs > 0).astype(float)
    both = (seen * items.n[:, None]).T @ seen
    sizes = {name: int(both[m, m]) for m, name in enumerate(counts.models)}
    pairs = itertools.combinations(range(len(counts.models)), 2)
    return sizes | {f"{counts.models[a]} − {counts.models[b]}": int(both[a, b]) for a, b in pairs}
