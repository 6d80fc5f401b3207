"""The pairwise–pointwise gap: winners are chosen where the judge's own scores hardly differ (section 5.3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from bayesjudge.baselines.common.columns import rows
from bayesjudge.baselines.reliability.groups import RankTest
from bayesjudge.baselines.reliability.outcomes import bootstrap_column, item_means, resampled_means
from bayesjudge.counts.conditions import group_names
from bayesjudge.counts.scores import ScoreCounts
from bayesjudge.errors import UsageError

type Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Gaps:
    """Mean scores of both responses of an item by one judge under one condition: arrays (G,).

    judge, condition, item: Codes into the names of `ScoreCounts`.
    first, second: Mean scores of the two responses.
    """

    judge: NDArray[np.int64]
    condition: NDArray[np.int64]
    item: NDArray[np.int64]
    first: Array
    second: Array

    @property
    def difference(self) -> Array:
        """First minus second."""
        return self.first - self.second

    @property
    def gap(self) -> Array:
        """Pairwise–pointwise gap ``|s̄_A − s̄_B|``."""
        return np.abs(self.difference)


def score_gaps(counts: ScoreCounts, *, responses: tuple[str, str] | None = None) -> Gaps:
    """Both responses' mean scores wherever a judge scored both.

    responses: The responses to compare; by default the only two.
    """
    names = responses or counts.responses
    if len(names) != 2 or not set(names) <= set(counts.responses):
        raise UsageError(
            f"a gap needs two responses; the scores have {list(counts.responses)}, so choose: responses=('a', 'b')"
        )
    cells = counts.cells
    key = np.column_stack([cells.judge, cells.condition, cells.item])
    sides = [cells.response == counts.responses.index(name) for name in names]
    keys, place = np.unique(key, axis=0, return_inverse=True)
    means = np.full((2, len(keys)), np.nan)
    for row, side in zip(means, sides, strict=True):
        row[place.reshape(-1)[side]] = cells.mean[side]
    both = ~np.isnan(means).any(axis=0)
    judge, condition, item = keys[both].T
    return Gaps(judge=judge, condition=condition, item=item, first=means[0, both], second=means[1, both])


def wilcoxon_test(differences: ArrayLike) -> RankTest:
    """Wilcoxon signed-rank test of differences (I,), zeros left out; effect: their median.

    Exact without ties among up to 50 differences, normal otherwise.
    """
    from scipy.stats import wilcoxon

    values = np.asarray(differences, dtype=np.float64)
    moved = values[values != 0]
    effect = float(np.median(values)) if len(values) else float("nan")
    if not len(moved):
        return RankTest(statistic=np.nan, p=np.nan, effect=effect, n=0, note="no difference other than 0")
    sizes = np.abs(moved)
    exact = len(moved) <= 50 and len(np.unique(sizes)) == len(sizes)
    found = wilcoxon(moved, method="exact" if exact else "asymptotic")
    return RankTest(statistic=float(found.statistic), p=float(found.pvalue), effect=effect, n=len(moved))


def _gap_parts(gaps: Gaps, counts: ScoreCounts) -> Iterator[tuple[str, str, NDArray[np.bool_]]]:
    groups = group_names(counts.conditions)
    for j, c in np.unique(np.column_stack([gaps.judge, gaps.condition]), axis=0).tolist():
        yield counts.judges[j], groups[c], (gaps.judge == j) & (gaps.condition == c)


def gap_rows(gaps: Gaps, counts: ScoreCounts, *, prob: float, bootstrap: int, seed: int) -> Iterator[dict[str, Any]]:
    """Mean gap of every judge under every condition, with its bootstrap interval."""
    for number, (judge, group, mine) in enumerate(_gap_parts(gaps, counts)):
        values = gaps.gap[mine][:, None]
        rng = np.random.default_rng(np.random.SeedSequence([seed, number]))
        replicates = resampled_means(values, replicates=bootstrap, rng=rng)
        column = bootstrap_column(
            item_means(values), replicates, n=np.array([float(len(values))]), prob=prob, bounds=(0.0, np.inf)
        )
        yield from rows(column, [judge], estimand="score_gap", method="bootstrap", prob=prob, group=group)


def gap_frame(gaps: Gaps | None, counts: ScoreCounts) -> pd.DataFrame:
    """One row a judge, condition and item; no rows without gaps."""
    names = ["judge", "group", "item", "mean_a", "mean_b", "difference", "gap"]
    if gaps is None:
        return pd.DataFrame(columns=names)
    groups = np.asarray(group_names(counts.conditions), dtype=object)
    return pd.DataFrame(
        {
            "judge": np.asarray(counts.judges, dtype=object)[gaps.judge],
            "group": groups[gaps.condition],
            "item": np.asarray(counts.items, dtype=object)[gaps.item],
            "mean_a": gaps.first,
            "mean_b": gaps.second,
            "difference": gaps.difference,
            "gap": gaps.gap,
        },
        columns=names,
    )


def gap_tests(gaps: Gaps | None, counts: ScoreCounts) -> pd.DataFrame:
    """Do scores of the two responses differ? Wilcoxon signed-rank test of every judge and condition."""
    found = []
    if gaps is not None:
        for judge, group, mine in _gap_parts(gaps, counts):
            tested = wilcoxon_test(gaps.difference[mine])
            found.append(
                {"test": "Wilcoxon signed-rank, scores of a and b", "unit": judge, "group": group, **vars(tested)}
            )
    return pd.DataFrame(found, columns=["test", "unit", "group", "statistic", "p", "effect", "n", "note"])
