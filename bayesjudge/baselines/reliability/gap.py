"""The pairwise–pointwise gap: winners are chosen where the judge's own scores hardly differ (section 5.3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bayesjudge.baselines.reliability.means import estimand_rows, resampled_column
from bayesjudge.baselines.reliability.rank_tests import TEST_COLUMNS, wilcoxon_test
from bayesjudge.counts.conditions import group_names
from bayesjudge.counts.scores import ScoreCounts
from bayesjudge.errors import UsageError

GAP_COLUMNS = ["judge", "group", "item", "mean_a", "mean_b", "difference", "gap"]


def score_gaps(counts: ScoreCounts, *, responses: tuple[str, str] | None = None) -> list[pd.DataFrame]:
    """`GAP_COLUMNS` of every judge under every condition, one row an item whose two responses it scored.

    responses: The responses to compare; by default the only two. The gap is ``|s̄_A − s̄_B|``.
    """
    names = responses or counts.responses
    if len(names) != 2 or not set(names) <= set(counts.responses):
        raise UsageError(
            f"a gap needs two responses; the scores have {list(counts.responses)}, so choose: responses=('a', 'b')"
        )
    cells = counts.cells
    keys, place = np.unique(np.column_stack([cells.judge, cells.condition, cells.item]), axis=0, return_inverse=True)
    means = np.full((2, len(keys)), np.nan)
    for row, name in zip(means, names, strict=True):
        side = cells.response == counts.responses.index(name)
        row[place.reshape(-1)[side]] = cells.mean[side]
    both = ~np.isnan(means).any(axis=0)
    keys, (first, second) = keys[both], means[:, both]
    frame = pd.DataFrame(
        {
            "judge": np.asarray(counts.judges, dtype=object)[keys[:, 0]],
            "group": np.asarray(group_names(counts.conditions), dtype=object)[keys[:, 1]],
            "item": np.asarray(counts.items, dtype=object)[keys[:, 2]],
            "mean_a": first,
            "mean_b": second,
            "difference": first - second,
            "gap": np.abs(first - second),
        }
    )
    return [part for _, part in frame.groupby([keys[:, 0], keys[:, 1]])]


def gap_rows(gaps: Sequence[pd.DataFrame], *, prob: float, bootstrap: int, seed: int) -> Iterator[dict[str, Any]]:
    """Mean gap of every judge under every condition, with its bootstrap interval."""
    for number, part in enumerate(gaps):
        rng = np.random.default_rng(np.random.SeedSequence([seed, number]))
        values = part[["gap"]].to_numpy()
        column = resampled_column(values, prob=prob, bootstrap=bootstrap, rng=rng, bounds=(0.0, np.inf))
        judge, group = part.iloc[0][["judge", "group"]]
        yield from estimand_rows(column, ["score_gap"], unit=judge, prob=prob, group=group)


def gap_tests(gaps: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Do scores of the two responses differ? Wilcoxon signed-rank test of every judge and condition."""
    name = "Wilcoxon signed-rank, scores of a and b"
    found = [
        {"test": name, "unit": judge, "group": group, **vars(wilcoxon_test(part["difference"]))}
        for part in gaps
        for judge, group in part[["judge", "group"]].iloc[:1].itertuples(index=False)
    ]
    return pd.DataFrame(found, columns=TEST_COLUMNS)
