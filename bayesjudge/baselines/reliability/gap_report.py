"""The pairwise–pointwise gap as estimates, frame and tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.baselines.common.slices import rows
from bayesjudge.baselines.reliability.gap import Gaps, wilcoxon_test
from bayesjudge.baselines.reliability.resampling import bootstrap_column, item_means, resampled_means
from bayesjudge.counts.conditions import group_names
from bayesjudge.counts.scores import ScoreCounts

__all__ = ["gap_frame", "gap_rows", "gap_tests"]


def _gap_parts(gaps: Gaps, counts: ScoreCounts) -> Iterator[tuple[str, str, NDArray[np.bool_]]]:
    groups = group_names(counts.conditions)
    for j, c in np.unique(np.column_stack([gaps.judge, gaps.condition]), axis=0).tolist():
        yield counts.judges[j], groups[c], (gaps.judge == j) & (gaps.condition == c)


def gap_rows(
    gaps: Gaps, counts: ScoreCounts, *, prob: float, bootstrap: int, seed: int
) -> Iterator[dict[str, Any]]:
    """Mean gap of every judge under every condition, with its bootstrap interval."""
    for number, (judge, group, mine) in enumerate(_gap_parts(gaps, counts)):
        values = gaps.gap[mine][:, None]
        rng = np.random.default_rng(np.random.SeedSequence([seed, number]))
        replicates = resampled_means(values, replicates=bootstrap, rng=rng)
        column = bootstrap_column(item_means(values), replicates, n=np.array([float(len(values))]), prob=prob,
                                  bounds=(0.0, np.inf))  # fmt: skip
        yield from rows(column, [judge], estimand="score_gap", method="bootstrap", prob=prob, group=group)


def gap_frame(gaps: Gaps | None, counts: ScoreCounts) -> pd.DataFrame:
    """One row a judge, condition and item; no rows without gaps."""
    names = ["judge", "group", "item", "mean_a", "mean_b", "difference", "gap"]
    if gaps is None:
        return pd.DataFrame(columns=names)
    groups = np.asarray(group_names(counts.conditions), dtype=object)
    return pd.DataFrame({
        "judge": np.asarray(counts.judges, dtype=object)[gaps.judge],
        "group": groups[gaps.condition],
        "item": np.asarray(counts.items, dtype=object)[gaps.item],
        "mean_a": gaps.first, "mean_b": gaps.second, "difference": gaps.difference, "gap": gaps.gap,
    }, columns=names)  # fmt: skip


def gap_tests(gaps: Gaps | None, counts: ScoreCounts) -> pd.DataFrame:
    """Do scores of the two responses differ? Wilcoxon signed-rank test of every judge and condition."""
    found = []
    if gaps is not None:
        for judge, group, mine in _gap_parts(gaps, counts):
            tested = wilcoxon_test(gaps.difference[mine])
            found.append({"test": "Wilcoxon signed-rank, scores of a and b", "unit": judge, "group": group,
                          **vars(tested)})  # fmt: skip
    return pd.DataFrame(found, columns=["test", "unit", "group", "statistic", "p", "effect", "n", "note"])
