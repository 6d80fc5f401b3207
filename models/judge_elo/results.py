"""What a posterior of `judge_elo` says: human Elo and the judges."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.counts.battles.patterns import PairCounts
from bayesjudge.estimates import Estimates
from bayesjudge.estimates.posterior import summary_rows
from bayesjudge.model import Data, Statistic
from bayesjudge.models.common import battle_statistics
from bayesjudge.models.common.battle_rows import resampled
from bayesjudge.models.common.battle_statistics import Patterns
from bayesjudge.models.common.elo_results import elo_draws, elo_rows, equals_tie
from bayesjudge.models.judge_elo.battle_links import agreement, margin

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "STATISTICS",
    "bootstrap",
    "elo",
    "estimates",
    "schedule",
    "square",
    "taste_correlations",
    "tastes",
    "votes_of",
]

PREDICTED = "predicted: no human vote"


def estimates(posterior: xr.Dataset, data: Data, *, prob: float, method: str) -> Estimates:
    """Human Elo and differences, then slope, taste and effects of each judge."""
    common: dict[str, Any] = {"method": method, "prob": prob}
    rows = elo_rows(elo(posterior, data), n=dict(data.units), **common)
    for row in rows:
        row["note"] = PREDICTED if data.units.get(row["unit"]) == 0 and row["estimand"] == "elo" else ""
    votes = int(votes_of(data).sum())
    tie = equals_tie(posterior["vote_log_tie"]).expand_dims(unit=["equal models"])
    rows += summary_rows(tie, estimand="tie_rate", n={"equal models": votes}, **common)
    n = _judged(data)
    for estimand, draws in (("slope", _slope(posterior, data)), ("taste", posterior["taste_spread"])):
        rows += summary_rows(draws, estimand=estimand, n=n, signed=estimand == "slope", **common)
    if "loading" in posterior:
        each = {str(name): n.get(str(name), votes) for name in data.coords["rater"]}
        rows += summary_rows(posterior["loading"], estimand="battle_effect", n=each, **common)
    if "taste_partial" in posterior:
        pairs = {str(name): votes for name in data.coords["judge_pair"]}
        shared = taste_correlations(posterior)
        rows += summary_rows(shared, estimand="taste_correlation", n=pairs, signed=True, **common)
    return Estimates.from_rows(rows + _judge_rows(posterior, data, n, common))


def _judge_rows(
    posterior: xr.Dataset, data: Data, n: dict[str, int], common: dict[str, Any]
) -> list[dict[str, Any]]:
    """Effects of each judge, and its taste for each model, on its own scale."""
    rows = []
    own = tastes(posterior, data)
    for judge in map(str, data.coords["judge"]):
        extra = {"judge": judge}
        if "effects" in posterior:
            each = dict.fromkeys(map(str, data.coords["effect"]), n[judge])
            rows += summary_rows(posterior["effects"].sel(judge=judge, drop=True), estimand="effect", n=each,
                                 signed=True, extra=extra, **common)  # fmt: skip
        each = dict.fromkeys(map(str, data.coords["model"]), n[judge])
        rows += summary_rows(own.sel(judge=judge, drop=True), estimand="deviation", n=each, signed=True,
                             extra=extra, **common)  # fmt: skip
    return rows


def _judged(data: Data) -> dict[str, int]:
    """Battles each judge has judged."""
    every = [str(judge) for judge in data.coords["judge"]]
    found = dict.fromkeys(every, 0)
    for kind, judges, weight in (
        ("verdict", data.facts["verdicts"], "total"),
        ("score", data.facts["graded"], "seen"),
    ):
        for k, judge in enumerate(judges):
            found[every[judge]] = int(data[f"{kind}_{weight}"][data[f"{kind}_judge"] == k].sum())
    return found


def _slope(posterior: xr.Dataset, data: Data) -> xr.DataArray:
    """a_j in logits of verdicts, or in points of score, for one logit of human preference."""
    scale = np.ones(len(data.coords["judge"]))
    if data.facts["graded"]:
        scale[list(data.facts["graded"])] = np.asarray(data["score_scale"])
    slope: xr.DataArray = posterior["slope"] * posterior["slope"]["judge"].copy(data=scale)
    return slope


def tastes(posterior: xr.Dataset, data: Data) -> xr.DataArray:
    """Draws of δ_ji, each judge's own taste for each model, dims ``chain, draw, judge, model``."""
    z = posterior["z_taste"].transpose("chain", "draw", "judge", "model")
    root = _roots(posterior)
    spread = posterior["taste_spread"].transpose("chain", "draw", "judge").to_numpy()[..., None]
    unit = np.asarray(data["taste_power"])[:, None]
    found: xr.DataArray = z.copy(data=spread * (root @ (z.to_numpy() / spread**unit)))
    return found


def _roots(posterior: xr.Dataset) -> NDArray[np.float64]:
    """Cholesky factors of the correlation of tastes, (chain, draw, J, J)."""
    from bayesjudge.models.judge_elo.likelihood import vine_shapes

    sizes = posterior["z_taste"].sizes
    judges = sizes["judge"]
    root = np.zeros((sizes["chain"], sizes["draw"], judges, judges))
    left = np.ones(root.shape[:-1])
    partial = (2 * posterior["taste_partial"].transpose("chain", "draw", "judge_pair").to_numpy() - 1
               if "taste_partial" in posterior else root[..., 0])  # fmt: skip
    for place, (i, k, _) in enumerate(vine_shapes(judges)):
        root[..., i, k] = partial[..., place] * np.sqrt(left[..., i])
        left[..., i] *= 1 - partial[..., place] ** 2
    own = np.arange(judges)
    root[..., own, own] = np.sqrt(left)
    return root


def taste_correlations(posterior: xr.Dataset) -> xr.DataArray:
    """Draws of the correlation of two judges' tastes, dims ``chain, draw, judge_pair``."""
    root = _roots(posterior)
    matrix = root @ np.swapaxes(root, -1, -2)
    first, second = np.triu_indices(root.shape[-1], 1)
    draws = posterior["taste_partial"].transpose("chain", "draw", "judge_pair")
    found: xr.DataArray = draws.copy(data=matrix[..., first, second])
    return found


def elo(posterior: xr.Dataset, data: Data) -> xr.DataArray:
    """Draws of each model's human Elo, on the pairs that people voted on or, failing that, judges saw."""
    pairs = schedule(data)
    arrays = {"first": pairs.first, "second": pairs.second, "total": pairs.n.sum(axis=1)}
    return elo_draws(posterior["strength"], posterior["vote_log_tie"], arrays)


def schedule(data: Data) -> PairCounts:
    """Battles of each pair: votes where there are any, else the most that one judge has seen."""
    models = len(data.coords["model"])
    seen = square(data["vote_first"], data["vote_second"], votes_of(data).sum(axis=1), models)
    judged = np.zeros_like(seen)
    for kind, judges, weight in (
        ("verdict", data.facts["verdicts"], "total"),
        ("score", data.facts["graded"], "seen"),
    ):
        for k in range(len(judges)):
            own = np.where(np.asarray(data[f"{kind}_judge"]) == k, np.asarray(data[f"{kind}_{weight}"]), 0)
            judged = np.maximum(judged, square(data[f"{kind}_first"], data[f"{kind}_second"], own, models))
    total = np.where(seen > 0, seen, judged)
    first, second = np.nonzero(total)
    return PairCounts(first=first, second=second, n=total[first, second][:, None])


def square(first: Any, second: Any, weight: NDArray[Any], models: int) -> NDArray[np.int64]:
    """Battles of each pair, (M, M) above the diagonal."""
    found = np.zeros((models, models), dtype=np.int64)
    np.add.at(found, (np.asarray(first), np.asarray(second)), weight)
    return found


def votes_of(data: Data) -> NDArray[np.int64]:
    """Every vote by pair and outcome, (V, 3): beside the judges' verdicts and alone."""
    alone = np.asarray(data["vote_n"])
    return alone + margin(np.asarray(data["linked_n"]), data, 0) if "linked_n" in data.arrays else alone


type Seen = Mapping[str, Any]
type PatternStatistic = Callable[[Any, Patterns], dict[str, Any]]
#: Shares of gaps that lie below these quantiles' values are compared: the shape of their distribution.
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def bootstrap(data: Data, *, replicates: int, seed: int) -> dict[str, Any]:
    """Votes and verdicts resampled within their patterns, gaps within judge and pair; (replicates, ...)."""
    found: dict[str, Any] = {
        name: resampled(np.asarray(data[name]), replicates=replicates, seed=seed + k)
        for k, name in enumerate(("vote_n", "verdict_n", "linked_n")) if name in data.arrays
    }  # fmt: skip
    if "score" in data.arrays:
        found["score"] = _resampled_gaps(data, replicates, np.random.default_rng(seed + 2))
    return found


def _resampled_gaps(data: Data, replicates: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Battles of one judge and pair change places with replacement."""
    keys = np.column_stack([data["score_judge"], data["score_first"], data["score_second"]])
    _, group, size = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    group = group.reshape(-1)
    order = np.argsort(group, kind="stable")
    start = np.cumsum(size) - size
    pick = (rng.random((replicates, len(order))) * size[group[order]]).astype(np.int64)
    drawn = np.empty((replicates, len(order)))
    drawn[:, order] = np.asarray(data["score"])[order][start[group[order]] + pick]
    return drawn


def _of_votes(statistic: PatternStatistic) -> Statistic:
    def voted(seen: Seen, data: Data) -> dict[str, Any]:
        design, n = Patterns.of(data, "vote_"), seen["vote_n"]
        if "linked_n" in seen:
            n = n + margin(seen["linked_n"], data, 0)
            design = replace(design, total=votes_of(data).sum(axis=1))
        return statistic(n, design)

    return voted


def _of_verdicts(statistic: PatternStatistic) -> Statistic:
    def judged(seen: Seen, data: Data) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for k, judge in enumerate(data.coords["verdict_judge"]):
            rows = np.asarray(data["verdict_judge"]) == k
            n = margin(seen["linked_n"], data, k + 1) if "linked_n" in seen else seen["verdict_n"]
            own = statistic(n[..., rows, :], Patterns.of(data, "verdict_").keep(rows))
            found |= {f"{judge}: {unit}": value for unit, value in own.items()}
        return found

    return judged


def _agreement(seen: Seen, data: Data) -> dict[str, Any]:
    """Battles on which two raters say the same, where battles are kept apart."""
    return agreement(seen["linked_n"], data) if "linked_n" in seen else {}


def _gaps(seen: Seen, data: Data) -> dict[str, Any]:
    """Quantiles of each judge's score gaps, in standard deviations."""
    if "score" not in seen:
        return {}
    found: dict[str, Any] = {}
    for k, judge in enumerate(data.coords["score_judge"]):
        own = seen["score"][..., np.asarray(data["score_judge"]) == k]
        at = np.quantile(own, QUANTILES, axis=-1)
        found |= {f"{judge}: {share:.0%} quantile": value for share, value in zip(QUANTILES, at, strict=True)}
    return found


def _gap_of_first_shown(seen: Seen, data: Data) -> dict[str, Any]:
    """Mean gap in favour of the answer that was shown first."""
    if "score" not in seen:
        return {}
    found: dict[str, Any] = {}
    order = np.asarray(data["score_order"])
    for k, judge in enumerate(data.coords["score_judge"]):
        rows = (np.asarray(data["score_judge"]) == k) & (order != 0)
        if rows.any():
            found[str(judge)] = (seen["score"][..., rows] * order[rows]).mean(axis=-1)
    return found


STATISTICS: Mapping[str, Statistic] = {
    "votes: score of a model": _of_votes(battle_statistics.model_scores),
    "votes: win matrix": _of_votes(battle_statistics.pair_scores),
    "votes: ties": _of_votes(battle_statistics.tie_rate),
    "votes: cycles": _of_votes(battle_statistics.cycle_rate),
    "verdicts: score of a model": _of_verdicts(battle_statistics.model_scores),
    "verdicts: win matrix": _of_verdicts(battle_statistics.pair_scores),
    "verdicts: ties": _of_verdicts(battle_statistics.tie_rate),
    "verdicts: cycles": _of_verdicts(battle_statistics.cycle_rate),
    "verdicts: shown first": _of_verdicts(battle_statistics.shown_first),
    "battles: agreement of two raters": _agreement,
    "scores: distribution of gaps": _gaps,
    "scores: gap of the answer shown first": _gap_of_first_shown,
}
