"""Everything that can be asked of a judge battle by battle, in one table, over all battles and by group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from bayesjudge.baselines.elo import agreement, bias
from bayesjudge.baselines.elo.rows import Row, judge_clusters
from bayesjudge.baselines.elo.targets import graded
from bayesjudge.baselines.elo.temperature import gap_votes, temperature
from bayesjudge.counts.battles.counts import BattleCounts
from bayesjudge.counts.battles.patterns import JudgedBattles
from bayesjudge.errors import UsageError
from bayesjudge.estimates import Estimates

#: Correlation of |s| with agreement below which gaps are no confidence.
FLAT = 0.1


def judge_diagnostics(
    counts: BattleCounts,
    judge: str,
    *,
    prob: float = 0.95,
    bootstrap: int = 1000,
    seed: int = 0,
    families: Mapping[str, str] | None = None,
    by_group: bool = True,
) -> Estimates:
    """Agreement, calibration, position, verbosity and own-family bias of a judge.

    Parameters
    ----------
    counts : BattleCounts
        From `bayesjudge.counts.battles.counts.count_battles`; its groups (languages) are reported separately.
    judge : str
    prob : float
        Level of the intervals. Those of agreement, κ, β and preferences for the first or the longer answer
        allow for clusters.
    bootstrap : int
        Resamples of the battles for ``ece, gap_agreement_correlation, own_family_excess``, which have no
        other intervals.
    seed : int
    families : mapping of str to str, optional
        Family of models and judges; the judge's own family is looked at where it has one.
    by_group : bool
        Repeat what can be sliced for each group.

    Returns
    -------
    Estimates
        Estimands ``agreement, agreement[decisive], kappa, beta, ece, gap_agreement_correlation,
        sign_conflict..., first_preferred, flip_rate, reversal_rate, position_advantage, elo_mae...,
        longer_preferred..., own_family_excess``. What the data say nothing about is left out.

    Raises
    ------
    UsageError
        An unknown judge.
    """
    options: dict[str, Any] = {"prob": prob, "bootstrap": bootstrap, "seed": seed}
    j = counts.code("judge", judge)
    rows = _sliced(counts, judge, None, **options) + bias.swap_rows(counts, judge, prob=prob)
    rows += bias.order_elo_rows(counts, judge, prob=prob)
    if families is not None and judge in families:
        rows += bias.family_rows(counts, judge, families, **options)
    parts = [_table(rows, judge, "")]
    if by_group and len(counts.groups) > 1:
        present = np.unique(counts.judged.group[counts.judged.judge == j])
        parts += [_table(_sliced(counts, judge, counts.groups[g], **options), judge, counts.groups[g]) for g in present]
    return Estimates.concat(parts)


def reliability_table(
    counts: BattleCounts, *, judges: list[str] | None = None, bins: int = 10, prob: float = 0.95
) -> pd.DataFrame:
    """Reliability diagrams of all judges that give scores: `agreement.reliability` with a column ``panel``.

    Raises
    ------
    UsageError
        No judge with scores next to human votes.
    """
    parts = []
    for judge in counts.judges if judges is None else judges:
        found = agreement.gap_agreement(counts.judged_by(judge))
        if len(found.size):
            parts.append(agreement.reliability(found, bins=bins, prob=prob).assign(panel=judge))
    if not parts:
        raise UsageError("no judge has scores and human votes that are not ties")
    return pd.concat(parts, ignore_index=True)


def _sliced(
    counts: BattleCounts, judge: str, group: str | None, *, prob: float, bootstrap: int, seed: int
) -> list[Row]:
    judged, shown = (_of(rows, counts, judge, group) for rows in (counts.judged, counts.shown))
    options: dict[str, Any] = {"prob": prob, "bootstrap": bootstrap, "seed": seed}
    clusters = judge_clusters(counts, judge, group)
    rows = agreement.agreement_rows(judged, clusters, prob=prob)
    has_gap = bool((~np.isnan(judged.gap)).any())
    if has_gap and gap_votes(graded(judged, judge)).n:
        found = temperature(counts, judge, group=group, prob=prob).frame.to_dict("records")
        rows += [{str(key): value for key, value in row.items()} for row in found]
        rows += _warned(agreement.calibration_rows(agreement.gap_agreement(judged), **options))
    rows += agreement.conflict_rows(shown, prob=prob)
    rows += bias.position_rows(shown, clusters, prob=prob)
    rows += bias.verbosity_rows(judged, clusters, prob=prob)
    return rows


def _warned(rows: list[Row]) -> list[Row]:
    for row in rows:
        if row["estimand"] == "gap_agreement_correlation" and row["point"] < FLAT:
            row["note"] = "flat: a larger gap hardly means surer agreement"
    return rows


def _of(rows: JudgedBattles, counts: BattleCounts, judge: str, group: str | None) -> JudgedBattles:
    mine = rows.judge == counts.code("judge", judge)
    return rows.keep(mine if group is None else mine & (rows.group == counts.code("group", group)))


def _table(rows: list[Row], judge: str, group: str) -> Estimates:
    # Undefined for want of a column is no finding.
    found = [row for row in rows if row["n"] > 0]
    return Estimates.from_rows([{**row, "unit": judge, "judge": judge, "group": group} for row in found])
