"""What a posterior of `judge_elo` says: human Elo, that of models people have not seen, and the judges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.battle_patterns import PairCounts
from bayesjudge.errors import UsageError
from bayesjudge.estimates import Estimates
from bayesjudge.model import Data
from bayesjudge.models.davidson import numpy_outcomes
from bayesjudge.models.elo_results import elo_draws, elo_rows, equals_tie
from bayesjudge.models.judge_elo_density import vine_shapes
from bayesjudge.posterior import summary_rows
from bayesjudge.strengths import anchored_strengths, solve_strengths, to_elo

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

__all__ = ["elo", "estimates", "held_out", "taste_correlations", "tastes"]

PREDICTED = "predicted: no human vote"


def estimates(posterior: xr.Dataset, data: Data, *, prob: float, method: str) -> Estimates:
    """Human Elo and differences, then slope, taste and effects of each judge."""
    common: dict[str, Any] = {"method": method, "prob": prob}
    rows = elo_rows(elo(posterior, data), n=dict(data.units), **common)
    for row in rows:
        row["note"] = PREDICTED if data.units.get(row["unit"]) == 0 and row["estimand"] == "elo" else ""
    votes = int(np.asarray(data["vote_total"]).sum())
    tie = equals_tie(posterior["vote_log_tie"]).expand_dims(unit=["equal models"])
    rows += summary_rows(tie, estimand="tie_rate", n={"equal models": votes}, **common)
    n = _judged(data)
    for estimand, draws in (("slope", _slope(posterior, data)), ("taste", posterior["taste_spread"])):
        rows += summary_rows(draws, estimand=estimand, n=n, signed=estimand == "slope", **common)
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
    pairs = _schedule(data)
    arrays = {"first": pairs.first, "second": pairs.second, "total": pairs.n.sum(axis=1)}
    return elo_draws(posterior["strength"], posterior["vote_log_tie"], arrays)


def _schedule(data: Data) -> PairCounts:
    """Battles of each pair: votes where there are any, else the most that one judge has seen."""
    models = len(data.coords["model"])
    seen = _total("vote", data, np.asarray(data["vote_total"]), models)
    judged = np.zeros_like(seen)
    for kind, judges, weight in (
        ("verdict", data.facts["verdicts"], "total"),
        ("score", data.facts["graded"], "seen"),
    ):
        for k in range(len(judges)):
            own = np.where(np.asarray(data[f"{kind}_judge"]) == k, np.asarray(data[f"{kind}_{weight}"]), 0)
            judged = np.maximum(judged, _total(kind, data, own, models))
    total = np.where(seen > 0, seen, judged)
    first, second = np.nonzero(total)
    return PairCounts(first=first, second=second, n=total[first, second][:, None])


def _total(kind: str, data: Data, weight: NDArray[Any], models: int) -> NDArray[np.int64]:
    """Battles of each pair, (M, M) above the diagonal."""
    found = np.zeros((models, models), dtype=np.int64)
    np.add.at(found, (np.asarray(data[f"{kind}_first"]), np.asarray(data[f"{kind}_second"])), weight)
    return found


def held_out(
    posterior: xr.Dataset,
    data: Data,
    models: Sequence[str],
    *,
    votes: PairCounts | None = None,
    seed: int = 0,
) -> xr.DataArray:
    """Predictive draws of the Elo that people's votes would give models they have not seen.

    For every draw, people vote on the model's battles as the posterior says, and Hard-Elo's second step
    (METHODS 4.3) turns the votes into an Elo against anchors whose strengths are fixed at what Hard-Elo
    finds in the votes without the held-out models. The interval is thus for the very figure that a
    leaderboard would show once those votes are in, sampling error included.

    Parameters
    ----------
    posterior : xarray.Dataset
        Of a fit to data without votes on these models (``counts.without_votes_on(models)``).
    data : Data
        What was fitted.
    models : sequence of str
        The models to predict, each apart from the others.
    votes : PairCounts, optional
        How many votes each pair will have (their outcomes are not looked at); by default as many as the judge
        who saw most battles of the pair has judged.
    seed : int
        Of the votes.

    Returns
    -------
    xarray.DataArray
        Dims ``chain, draw, model``; Elo 1500 is the mean of the anchors.

    Raises
    ------
    UsageError
        A model that is not there, or has votes in ``data``, or has no battle with an anchor.
    """
    import xarray as xr

    names = [str(name) for name in data.coords["model"]]
    codes = [_unseen(model, names, data) for model in models]
    anchors = np.array([m for m in range(len(names)) if m not in codes])
    strength = _anchor_strengths(data, anchors, len(names))
    schedule = _total_of(votes, len(names)) if votes is not None else _total_of(_schedule(data), len(names))
    theta = posterior["strength"].transpose("chain", "draw", "model").to_numpy()
    log_tie = posterior["vote_log_tie"].transpose("chain", "draw").to_numpy()
    rng = np.random.default_rng(seed)
    found = []
    for model, m in zip(models, codes, strict=True):
        n = schedule[m, anchors]
        if not n.sum():
            raise UsageError(
                f"{model!r} has no battle with a model that people voted on; nothing links it to them"
            )
        draws = theta.reshape(-1, len(names))
        p = numpy_outcomes(draws[:, [m]] - draws[:, anchors], log_tie.reshape(-1, 1))
        outcome = rng.multinomial(n, p)
        found.append(to_elo(anchored_strengths(n, outcome[..., 0] + outcome[..., 1] / 2, strength[anchors])))
    values = np.stack(found, axis=-1).reshape(*theta.shape[:2], len(codes))
    return xr.DataArray(values, dims=("chain", "draw", "model"), coords={"model": list(models)}, name="elo")


def _unseen(model: str, names: list[str], data: Data) -> int:
    if model not in names:
        raise UsageError(f"no model {model!r}; the table has {names}")
    if data.units[model]:
        raise UsageError(f"people have voted on {model!r} ({data.units[model]} votes): fit to "
                         f"counts.without_votes_on({model!r}) to predict it")  # fmt: skip
    return names.index(model)


def _anchor_strengths(data: Data, anchors: NDArray[np.int64], models: int) -> NDArray[np.float64]:
    """Hard-Elo strengths from the votes that were fitted, mean 0 over the anchors."""
    votes = PairCounts.tally(data["vote_first"], data["vote_second"], np.asarray(data["vote_n"]))
    wins = votes.n[:, 0] + votes.n[:, 1] / 2
    strength = solve_strengths(votes.first, votes.second, votes.n.sum(axis=1), wins, models)[0]
    return np.asarray(strength - strength[anchors].mean())


def _total_of(pairs: PairCounts, models: int) -> NDArray[np.int64]:
    found = np.zeros((models, models), dtype=np.int64)
    np.add.at(found, (pairs.first, pairs.second), pairs.n.sum(axis=1))
    return np.asarray(found + found.T)
