"""From counts to what `paired_accuracy` sees: patterns over the models of an item.

Two models: every outcome of every stratum is listed, seen or not. Three or more (or clusters): the
observed patterns only, with the *templates* (which answers were given, labelled, and how often judged)
that replicated items are drawn from, and in front of the counts the margins of the items.

An answer is of a *kind* (labelled or not, how many runs) by design; its *cell* is what came out. Kind 0
and cell 0 are an answer that was never given: nobody labelled it and the judge did not see it.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.counts import ItemPatterns, VerdictCounts
from bayesjudge.errors import UsageError
from bayesjudge.model import Data
from bayesjudge.models.common.verdict_channel import log_choose
from bayesjudge.models.paired_accuracy.results import answer_features, margin_count, summed_margins

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["STICKS", "AnswerCells", "list_cells", "prepare"]

#: Beta parameters of the sticks that make a flat Dirichlet over four cells.
STICKS = ((1.0, 1.0, 1.0), (3.0, 2.0, 1.0))
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
    """Patterns of one judge's verdicts on two models or more; groups are merged."""
    judges, models = counts.judges, counts.models
    if len(judges) != 1:
        raise UsageError(f"paired_accuracy takes one judge, got {list(judges)}: use counts.for_judge(name)")
    if len(models) < 2:
        raise UsageError(f"paired_accuracy compares models and found only {list(models)}; use judge_error")
    seen = _merged(counts.items[judges[0]], enriched=labels == "enriched")
    listed = len(models) == 2 and not counts.clusters
    arrays, dims = _listed(seen) if listed else _observed(seen, clustered=counts.clusters > 0)
    return Data(
        arrays=arrays, dims=dims, observed="n", weights="n" if listed else "items",
        coords={**_lengths(arrays, dims), "step": ("both", "only first", "only second"), "label": (0, 1),
                "model": models, "judge": judges, "cluster": tuple(range(max(counts.clusters, 1)))},
        ragged=("pattern", "strata") if listed else ("pattern", "item_pattern", "template", "item"),
        facts={"form": "two models" if listed else "items", "most_runs": int(seen.cells.runs.max()),
               "clusters": counts.clusters, "margins": 0 if listed else margin_count(len(models))},
        units=_sizes(counts, counts.items[judges[0]]),
    )  # fmt: skip


def _lengths(arrays: dict[str, Any], dims: dict[str, tuple[str, ...]]) -> dict[str, tuple[int, ...]]:
    """Numbers as the labels of every axis."""
    axes = [pair for name in arrays for pair in zip(dims[name], np.shape(arrays[name]), strict=True)]
    return {dim: tuple(range(size)) for dim, size in axes}


def _merged(items: ItemPatterns, *, enriched: bool) -> _Patterns:
    """Patterns with groups merged: the comparison is over all items."""
    models = items.label.shape[1]
    codes = np.column_stack([items.cluster, items.label, items.runs, items.positives])
    distinct, index = np.unique(codes, axis=0, return_inverse=True)
    n = np.bincount(index.reshape(-1), weights=items.n, minlength=len(distinct)).astype(np.int64)
    label, runs, positives = (distinct[:, 1 + k * models : 1 + (k + 1) * models] for k in range(3))
    return _Patterns(cells=list_cells(label, runs, positives, enriched=enriched), cluster=distinct[:, 0], n=n)


def _listed(seen: _Patterns) -> tuple[dict[str, Any], dict[str, tuple[str, ...]]]:
    """All outcomes of each pair of kinds, and how often each was seen."""
    cells, width = seen.cells, len(seen.cells.kind)
    by_kind = [np.flatnonzero(cells.kind == kind) for kind in range(cells.kind.max() + 1)]
    strata = np.unique(cells.answer_kind, axis=0)
    sizes = [len(by_kind[a]) * len(by_kind[b]) for a, b in strata]
    if sum(sizes) > MOST_OUTCOMES:
        raise UsageError(
            f"up to {cells.runs.max()} runs of an answer give over {MOST_OUTCOMES} joint outcomes; use fewer"
        )
    cell = np.concatenate([list(itertools.product(by_kind[a], by_kind[b])) for a, b in strata]).astype(
        np.int64
    )
    stratum = np.repeat(np.arange(len(strata)), sizes)
    table = np.zeros((width, width), dtype=np.int64)
    np.add.at(table, (cells.answer_cell[:, 0], cells.answer_cell[:, 1]), seen.n)
    n = table[cell[:, 0], cell[:, 1]]
    total = np.bincount(stratum, weights=n, minlength=len(strata)).astype(np.int64)
    arrays = {"n": n, "cell": cell, "stratum": stratum, "total": total, **cells.arrays()}
    dims = {"n": ("pattern",), "cell": ("pattern", "model"), "stratum": ("pattern",), "total": ("strata",)}
    return arrays, dims | _cell_dims(cells)


def _observed(seen: _Patterns, *, clustered: bool) -> tuple[dict[str, Any], dict[str, tuple[str, ...]]]:
    """The observed patterns behind their margins, and the templates that replicated items are drawn from."""
    cells, margins = seen.cells, _observed_margins(seen)
    arrays = {
        "n": np.concatenate([margins, seen.n]), "items": np.concatenate([np.zeros_like(margins), seen.n]),
        "cell": cells.answer_cell, "cluster_of": seen.cluster, "cell_kind": cells.kind,
        **cells.arrays(), **_templates(seen), **({} if clustered else {"design": _one_hot(cells)}),
    }  # fmt: skip
    dims = {
        "n": ("pattern",), "items": ("pattern",), "cell": ("item_pattern", "model"), "cell_kind": ("cells",),
        "cluster_of": ("item_pattern",), "design": ("item_pattern", "model", "cells"),
        "template_cluster": ("template",), "template_kind": ("template", "model"), "item_template": ("item",),
    }  # fmt: skip
    return arrays, dims | _cell_dims(cells)


def _templates(seen: _Patterns) -> dict[str, Any]:
    """Distinct designs of an item, the first of them no item at all, and the design of each item."""
    codes = np.column_stack([seen.cluster, seen.cells.answer_kind])
    template, of_pattern = np.unique(codes, axis=0, return_inverse=True)
    template = np.vstack([np.zeros_like(template[:1]), template])
    item = 1 + np.sort(np.repeat(of_pattern.reshape(-1), seen.n))
    step = -(-len(item) // MOST_ITEMS)
    return {
        "template_cluster": template[:, 0],
        "template_kind": template[:, 1:],
        "item_template": item[::step],
    }


def _one_hot(cells: AnswerCells) -> NDArray[np.float64]:
    """Which cell each pattern and model shows, (patterns, M, K)."""
    out = np.zeros((*cells.answer_cell.shape, len(cells.kind)))
    np.put_along_axis(out, cells.answer_cell[:, :, None], 1.0, axis=2)
    return out


def _observed_margins(seen: _Patterns) -> NDArray[np.int64]:
    cells, code = seen.cells, seen.cells.answer_cell
    features = answer_features(cells.label[code], cells.runs[code], cells.positives[code])
    margins: NDArray[np.int64] = summed_margins(features, seen.n.astype(float)).astype(np.int64)
    return margins


def _cell_dims(cells: AnswerCells) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(cells.arrays(), ("cells",))


def _sizes(counts: VerdictCounts, items: ItemPatterns) -> dict[str, int]:
    """Items behind each model and each pair (key ``a − b``)."""
    seen = (items.runs > 0).astype(float)
    both = (seen * items.n[:, None]).T @ seen
    sizes = {name: int(both[m, m]) for m, name in enumerate(counts.models)}
    pairs = itertools.combinations(range(len(counts.models)), 2)
    return sizes | {f"{counts.models[a]} − {counts.models[b]}": int(both[a, b]) for a, b in pairs}


@dataclass(frozen=True, eq=False, kw_only=True)
class AnswerCells:
    """All cells of all kinds that occur; K cells.

    Attributes
    ----------
    kind : int array (K,)
        Kind that each cell belongs to; cells of one kind stand together.
    label, runs, positives : int array (K,)
        What each cell is; label -1 where nobody labelled.
    answer_kind, answer_cell : int array, shape of the answers
        Codes of the answers that the cells were listed for.
    """

    kind: NDArray[np.int64]
    label: NDArray[np.int64]
    runs: NDArray[np.int64]
    positives: NDArray[np.int64]
    answer_kind: NDArray[np.int64]
    answer_cell: NDArray[np.int64]

    def arrays(self) -> dict[str, Any]:
        """The cells as a model's arrays, axis ``cells``."""
        return {"cell_label": self.label, "cell_runs": self.runs, "cell_positives": self.positives,
                "cell_log_ways": log_choose(self.runs, self.positives)}  # fmt: skip


def list_cells(
    label: NDArray[np.int64], runs: NDArray[np.int64], positives: NDArray[np.int64], *, enriched: bool
) -> AnswerCells:
    """List the cells of every kind of answer in three arrays of equal shape.

    With enriched labels the label was chosen, so it belongs to the kind; with random labels it came out.

    Examples
    --------
    >>> label, runs, positives = np.array([1, -1]), np.array([1, 1]), np.array([1, 0])
    >>> cells = list_cells(label, runs, positives, enriched=False)
    >>> list(zip(cells.label.tolist(), cells.positives.tolist())), cells.answer_cell.tolist()
    ([(-1, 0), (-1, 0), (-1, 1), (0, 0), (0, 1), (1, 0), (1, 1)], [6, 1])
    """
    by_design = label if enriched else np.minimum(label, 0)
    never = np.array([[-1, 0]])
    answers = np.concatenate([never, np.column_stack([by_design.ravel(), runs.ravel()])])
    kinds, answer_kind = np.unique(answers, axis=0, return_inverse=True)
    rows = [(code, y, k, v) for code, (mark, k) in enumerate(kinds.tolist())
            for y in _labels(mark, enriched=enriched) for v in range(k + 1)]  # fmt: skip
    kind, *outcome = np.array(rows, dtype=np.int64).T
    order = {(code, y, v): cell for cell, (code, y, _, v) in enumerate(rows)}
    answer_kind = answer_kind.reshape(-1)[1:]
    seen = np.column_stack([answer_kind, label.ravel(), positives.ravel()]).tolist()
    cell = np.array([order[tuple(row)] for row in seen], dtype=np.int64)
    return AnswerCells(
        kind=kind, label=outcome[0], runs=outcome[1], positives=outcome[2],
        answer_kind=answer_kind.reshape(runs.shape), answer_cell=cell.reshape(runs.shape),
    )  # fmt: skip


def _labels(mark: int, *, enriched: bool) -> tuple[int, ...]:
    """Labels an answer of a kind can show; ``mark`` is -1 without a label."""
    if mark < 0:
        return (-1,)
    return (mark,) if enriched else (0, 1)
