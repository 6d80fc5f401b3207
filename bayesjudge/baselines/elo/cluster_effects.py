"""How much battles that share a prompt, or a voter, matter: design effects, and the spread of effects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bayesjudge.baselines.elo.leaderboard import fit_human, fit_judge
from bayesjudge.baselines.elo.targets import clustered_targets
from bayesjudge.counts.battles.clusters import PEOPLE
from bayesjudge.counts.battles.counts import BattleCounts
from bayesjudge.counts.battles.few_clusters import clusters_of_models
from bayesjudge.estimates import Estimates
from bayesjudge.maths.battle_sums import BattleSums
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
    rows = [row for judge in raters for row in _of_rater(counts, judge, prob)]
    return Estimates.from_rows([{**row, "prob": prob} for row in rows])


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
            yield {
                "estimand": "design_effect",
                "unit": name,
                "method": "sandwich",
                "judge": judge or "",
                "point": effect,
                "lower": np.nan,
                "upper": np.nan,
                "n": int(n),
            }
    spreads = _spreads(clustered_targets(counts, judge), prob)
    for rows, (point, lower, upper) in zip(columns, spreads, strict=True):
        if np.isfinite(point):
            yield {
                "estimand": "cluster_spread",
                "unit": rows.column,
                "method": "moments",
                "point": point,
                "judge": judge or "",
                "lower": lower,
                "upper": upper,
                "n": rows.count(),
                "note": "Elo: how far a model's strength on one of them lies from its own",
            }


def _spreads(sums: Sequence[BattleSums], prob: float) -> Any:
    battles, *clusters = sums
    return prompt_effects(fit_strengths(battles), clusters).spread(prob=prob)[:, 0]
