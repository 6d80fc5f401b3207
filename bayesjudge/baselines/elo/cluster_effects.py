"""How much battles that share a prompt, or a voter, matter: design effects, and the spread of effects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bayesjudge.baselines.elo.leaderboard import fit_human, fit_judge
from bayesjudge.baselines.elo.rows import figure_row
from bayesjudge.baselines.elo.targets import clustered_targets
from bayesjudge.counts.battles.clusters import PEOPLE
from bayesjudge.counts.battles.counts import BattleCounts
from bayesjudge.counts.battles.few_clusters import clusters_of_models
from bayesjudge.estimates import Estimates
from bayesjudge.maths.prompt_effects import prompt_effects
from bayesjudge.maths.strengths import fit_strengths


def cluster_effects(counts: BattleCounts, *, prob: float = 0.95) -> Estimates:
    """Design effects of every model's Elo, and how much models' strengths vary over clusters.

    Returns: For people and each judge (``judge``) whose clusters hold several battles: ``design_effect`` of each model,
        the variance of its hard-elo relative to independent battles (``n`` counts clusters), and ``cluster_spread`` of
        each column that clusters: σ_u in Elo, the standard deviation of a model's strength over its clusters (METHODS
        4.6), whose limits are from a normal interval of σ_u².
    """
    raters: list[str | None] = [None] if counts.human.votes.sum() else []
    raters += [judge for judge in counts.judges if (counts.judged.judge == counts.code("judge", judge)).any()]
    return Estimates.from_rows([row for judge in raters for row in _of_rater(counts, judge, prob)])


def _of_rater(counts: BattleCounts, judge: str | None, prob: float) -> Iterator[dict[str, Any]]:
    rater = PEOPLE if judge is None else counts.code("judge", judge) + 1
    columns = [rows.of(rater) for rows in counts.clusters]
    battles = int(counts.battles.of(rater).n @ counts.battles.times[counts.battles.of(rater).cluster])
    if not columns or all(rows.count() == battles for rows in columns):
        return
    fit = fit_human(counts) if judge is None else fit_judge(counts, judge)
    own = np.min([clusters_of_models(rows, len(counts.models)) for rows in columns], axis=0)
    for name, effect, n in zip(counts.models, fit.design_effect, own, strict=True):
        if np.isfinite(effect) and n > 1:
            row = figure_row("design_effect", effect, np.nan, np.nan, method="sandwich", n=n, prob=prob)
            yield {**row, "unit": name, "judge": judge or ""}
    note = "Elo: how far a model's strength on one of them lies from its own"
    single, *sums = clustered_targets(counts, judge)
    spreads = prompt_effects(fit_strengths(single), sums).spread(prob=prob)[:, 0]
    for rows, (point, lower, upper) in zip(columns, spreads, strict=True):
        if np.isfinite(point):
            row = figure_row(
                "cluster_spread", point, lower, upper, method="moments", n=rows.count(), prob=prob, note=note
            )
            yield {**row, "unit": rows.column, "judge": judge or ""}
