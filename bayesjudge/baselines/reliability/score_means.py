"""Mean scores over responses like these, with intervals for new items: those of one item are summed before squaring."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.baselines.common.intervals import t_quantile
from bayesjudge.counts.conditions import group_names
from bayesjudge.counts.scores import ScoreCounts
from bayesjudge.estimates import Estimates

#: Method of the rows.
METHOD = "t"


def score_means(
    counts: ScoreCounts, *, prob: float = 0.95, estimand: str = "mean_score", among: NDArray[np.bool_] | None = None
) -> Estimates:
    """Mean over responses of each response's mean score, by judge (``unit``) and condition (``group``).

    among: Cells that count; by default all.
    """
    kept = np.ones(len(counts.cells.n), dtype=bool) if among is None else among
    return Estimates.from_rows(
        [{**row, "estimand": estimand, "method": METHOD, "prob": prob} for row in _rows(counts, kept, prob)]
    )


def _rows(counts: ScoreCounts, kept: NDArray[np.bool_], prob: float) -> Iterator[dict[str, Any]]:
    cells = counts.cells
    for j, judge in enumerate(counts.judges):
        for c, group in enumerate(group_names(counts.conditions)):
            mine = kept & (cells.judge == j) & (cells.condition == c)
            if not mine.any():
                continue
            score, item = cells.mean[mine], np.unique(cells.item[mine], return_inverse=True)[1]
            point, items = float(score.mean()), int(item.max()) + 1
            found = {"unit": judge, "judge": judge, "group": group, "point": point, "n": len(score)}
            if items < 2:
                yield {**found, "lower": np.nan, "upper": np.nan, "note": "no interval: one item"}
                continue
            sums = np.bincount(item, weights=score - point)
            error = float(np.sqrt((sums**2).sum() * items / (items - 1))) / len(score)
            half = t_quantile(prob, items - 1) * error
            yield {**found, "lower": point - half, "upper": point + half}
