"""Hard-Elo, Soft-Elo and label smoothing for people and judges, and how much shared prompts or voters matter to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from bayesjudge.baselines.common.bootstrap import percentile
from bayesjudge.baselines.common.intervals import t_quantile
from bayesjudge.baselines.elo.fit import EloFit, fit_elo
from bayesjudge.baselines.elo.rows import figure_row
from bayesjudge.baselines.elo.targets import (
    HARD,
    SOFT,
    Floats,
    clustered_targets,
    graded,
    human_targets,
    judge_targets,
    smoothing,
)
from bayesjudge.baselines.elo.temperature import gap_votes
from bayesjudge.counts.battles.counts import BattleCounts
from bayesjudge.counts.battles.few_clusters import clusters_of_models, few_clusters
from bayesjudge.errors import UsageError
from bayesjudge.estimates import Estimates
from bayesjudge.maths.bradley_terry import RIDGE, shown_pairs
from bayesjudge.maths.prompt_effects import prompt_effects
from bayesjudge.maths.strengths import fit_strengths
from bayesjudge.maths.temperature import solve_beta

#: Methods where none are named; any label-smoothing constant may be asked for.
METHODS = (HARD, SOFT, "label-smoothing[0.75]")


def elo_baselines(
    counts: BattleCounts,
    *,
    judges: Iterable[str] | None = None,
    methods: Iterable[str] | None = None,
    prob: float = 0.95,
    ridge: float = RIDGE,
    bootstrap: int = 0,
    seed: int = 0,
) -> Estimates:
    """Elo of every model and every difference, by people's votes and by each judge.

    Parameters
    ----------
    counts : BattleCounts
        From `bayesjudge.counts.battles.counts.count_battles`.
    judges : iterable of str, optional
        Some of ``counts.judges``; all by default.
    methods : iterable of str, optional
        Some of ``hard-elo``, ``soft-elo``, ``label-smoothing[c]``; by default all of `METHODS` that the
        judge's data allow. People's votes always have ``hard-elo`` alone.
    prob : float
        Level of the intervals: Student's t with sandwich errors by cluster (clusters − 1 degrees of freedom),
        or bootstrap percentiles.
    ridge : float
        Penalty; the notes say what it alone holds finite.
    bootstrap : int
        Resamples of the clusters, or of the battles where they are taken as independent; 0 for sandwich
        errors.
    seed : int
        Equal seeds give equal results, whatever the judges and methods chosen.

    Returns
    -------
    Estimates
        Estimands ``elo`` and ``difference`` (``a − b``); ``judge`` is empty for people's votes. Past 30
        models, differences are those of neighbours. ``n`` counts battles, or votes. A model without battles
        is NaN.

    Raises
    ------
    UsageError
        An unknown judge or method, a method that the data do not allow, or an ill-posed fit at ridge 0.
    """
    rows: list[dict[str, Any]] = []
    options: dict[str, Any] = {"ridge": ridge, "bootstrap": bootstrap, "seed": seed}
    if counts.human.votes.sum():
        few = few_clusters(counts, None)
        rows += elo_rows(fit_human(counts, **options), method=HARD, judge="", prob=prob, few=few)
    for judge in counts.judges if judges is None else list(dict.fromkeys(judges)):
        few = few_clusters(counts, judge)
        for method in _methods(counts, judge, methods):
            fit = fit_judge(counts, judge, method, **options)
            rows += elo_rows(fit, method=method, judge=judge, prob=prob, few=few)
    return Estimates.from_rows(rows)


def fit_human(counts: BattleCounts, *, ridge: float = RIDGE, bootstrap: int = 0, seed: int = 0) -> EloFit:
    """Elo by people's votes; see `bayesjudge.baselines.elo.fit.fit_elo`."""
    clusters = clustered_targets(counts, None)
    return fit_elo(human_targets(counts), counts.models, ridge=ridge, bootstrap=bootstrap, seed=seed, clusters=clusters)


def fit_judge(
    counts: BattleCounts, judge: str, method: str = HARD, *, ridge: float = RIDGE, bootstrap: int = 0, seed: int = 0
) -> EloFit:
    """Elo by one judge; the temperature of ``soft-elo`` is fitted to all human non-ties first."""
    beta = judge_beta(counts, judge) if method == SOFT else np.nan
    targets = judge_targets(counts, judge, method, beta=beta)
    clusters = clustered_targets(counts, judge, method, beta=beta)
    return fit_elo(targets, counts.models, ridge=ridge, bootstrap=bootstrap, seed=seed, clusters=clusters)


def judge_beta(counts: BattleCounts, judge: str) -> float:
    """Maximum-likelihood β over all human non-ties."""
    votes = gap_votes(graded(counts.judged_by(judge), judge))
    beta = float(solve_beta(votes.gap, votes.won, votes.lost)[0]) if votes.n else np.nan
    if not beta > 0:
        found = "none" if np.isnan(beta) else f"β = {beta:.3g}"
        raise UsageError(
            f"soft-elo needs a temperature above 0, and judge {judge!r} has {found} from {votes.n} decisive "
            "human votes with a score gap; use hard-elo or label-smoothing[0.75]"
        )
    return beta


def _methods(counts: BattleCounts, judge: str, methods: Iterable[str] | None) -> list[str]:
    if methods is not None:
        chosen = list(dict.fromkeys(methods))
        for method in chosen:
            smoothing(method)
        return chosen
    votes = gap_votes(counts.judged_by(judge))
    soft = bool(votes.n) and solve_beta(votes.gap, votes.won, votes.lost)[0] > 0
    return [method for method in METHODS if method != SOFT or soft]


def elo_rows(
    fit: EloFit, *, method: str, judge: str, prob: float, few: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    """Rows of a fit: each model's Elo, then differences; ``few`` is a note for a model with few clusters."""
    first, second = (list(side) for side in zip(*shown_pairs(fit.elo), strict=True))
    contrast = np.eye(len(fit.models))[first] - np.eye(len(fit.models))[second]
    notes = [[few[name]] if few and name in few else [] for name in fit.models]
    single = _limits(fit, np.eye(len(fit.models)), prob)
    paired = _limits(fit, contrast, prob)
    names = [f"{fit.models[a]} − {fit.models[b]}" for a, b in zip(first, second, strict=True)]
    n = np.minimum(fit.n[first], fit.n[second])
    either = [list(dict.fromkeys(notes[a] + notes[b])) for a, b in zip(first, second, strict=True)]
    joined = [["; ".join([*fit.notes, *note]) for note in each] for each in (notes, either)]
    # The penalty puts the mean of each part at 1500: no battle says how two parts compare.
    unlinked = (fit.part[first] != fit.part[second]) & ~np.isnan(paired[0])
    point, lower, upper = paired
    paired = np.where(unlinked, np.nan, point), np.where(unlinked, -np.inf, lower), np.where(unlinked, np.inf, upper)
    joined[1] = [_UNLINKED if out else note for out, note in zip(unlinked, joined[1], strict=True)]
    found = []
    for estimand, units, limits, sizes, each in (
        ("elo", fit.models, single, fit.n, joined[0]),
        ("difference", names, paired, n, joined[1]),
    ):
        for unit, point, low, high, size, known in zip(units, *limits, sizes, each, strict=True):
            note = "undefined: no battles" if np.isnan(point) and known != _UNLINKED else known
            row = figure_row(estimand, point, low, high, method=method, n=size, prob=prob, note=note)
            found.append({**row, "unit": unit, "judge": judge})
    return found


#: Why nothing is known of a difference.
_UNLINKED = "undefined: no battles link the two models"


def _limits(fit: EloFit, contrast: Floats, prob: float) -> tuple[Floats, Floats, Floats]:
    """Point and limits of linear combinations; nothing is known of one that holds a model without battles."""
    known = ~np.isnan(fit.elo)
    defined = ~(contrast[:, ~known] != 0).any(axis=1)
    used = contrast[:, known]
    point = np.where(defined, used @ fit.elo[known], np.nan)
    if len(fit.replicates):
        _, lower, upper, _ = percentile(used @ fit.replicates[:, known].T, prob=prob)
    else:
        covariance = fit.covariance[np.ix_(known, known)]
        # Of two models that share all their battles and never differ it is 0, and rounding may take it below.
        error = np.sqrt(np.maximum(np.einsum("cm,mk,ck->c", used, covariance, used), 0.0))
        half = t_quantile(prob, fit.df) * error if fit.df > 0 else np.full(len(error), np.inf)
        lower, upper = point - half, point + half
    return point, np.where(defined, lower, -np.inf), np.where(defined, upper, np.inf)


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
    rater = counts.rater(judge)
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
