"""What a posterior of `judge_elo` says: human Elo and the judges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.counts.battles.patterns import PairCounts
from bayesjudge.estimates import Estimates
from bayesjudge.estimates.posterior import summary_rows
from bayesjudge.model import Data
from bayesjudge.models.common.elo_results import elo_draws, elo_rows, equals_tie
from bayesjudge.models.judge_elo.battle_links import margin
from bayesjudge.models.judge_elo.likelihood import vine_shapes

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

__all__ = ["elo", "estimates", "schedule", "square", "taste_correlations", "tastes", "votes_of"]

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
