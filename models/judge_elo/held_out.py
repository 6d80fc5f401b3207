"""What people would say of models that only judges have seen: predictive draws of `judge_elo`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayesjudge.counts.battles.patterns import PairCounts
from bayesjudge.errors import UsageError
from bayesjudge.maths.bradley_terry import anchored_strengths, solve_strengths, to_elo
from bayesjudge.model import Data
from bayesjudge.models.common.at_draws import at_draws, thinned
from bayesjudge.models.common.davidson import numpy_outcomes
from bayesjudge.models.judge_elo.results import schedule, square, votes_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["held_out"]

#: A model's chances of votes given verdicts, see `held_out`.
type Given = Callable[[Data], Any]
#: Draws at which the chances are worked out.
MOST_DRAWS = 2000


def held_out(
    posterior: xr.Dataset,
    data: Data,
    models: Sequence[str],
    *,
    votes: PairCounts | None = None,
    given: Given | None = None,
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
    given : callable, optional
        For models with a battle effect: chances (D, 3^J, 3) of a vote on each stratum's battles given their
        verdicts, a function of data that samples NumPyro sites. Posterior draws are then thinned.
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
    names = [str(name) for name in data.coords["model"]]
    codes = [_unseen(model, names, data) for model in models]
    anchors = np.array([m for m in range(len(names)) if m not in codes])
    strength = _anchor_strengths(data, anchors, len(names))[anchors]
    n = _total_of(votes if votes is not None else schedule(data), len(names))
    posterior = posterior if given is None else thinned(posterior, size=1, most=MOST_DRAWS)
    rng, shape = np.random.default_rng(seed), (posterior.sizes["chain"], posterior.sizes["draw"])
    found = []
    for model, m in zip(models, codes, strict=True):
        if not n[m, anchors].sum():
            raise UsageError(
                f"{model!r} has no battle with a model that people voted on; nothing links it to them"
            )
        outcome, left = _beside_verdicts(posterior, data, m, n[m], given=given, rng=rng)
        outcome = outcome[:, anchors] + _alone(posterior, m, anchors, left[anchors], rng)
        points = outcome[..., 0] + outcome[..., 1] / 2
        found.append(to_elo(anchored_strengths(n[m, anchors], points, strength)))
    values = np.stack(found, axis=-1).reshape(*shape, len(codes))
    return xr.DataArray(values, dims=("chain", "draw", "model"), coords={"model": list(models)}, name="elo")


def _alone(
    posterior: xr.Dataset, m: int, anchors: NDArray[np.int64], n: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Votes on battles that no judge's verdict tells more of, for model m against anchors (S, A, 3)."""
    theta = posterior["strength"].transpose("chain", "draw", "model").to_numpy()
    theta = theta.reshape(-1, theta.shape[-1])
    log_tie = posterior["vote_log_tie"].transpose("chain", "draw").to_numpy().reshape(-1, 1)
    return rng.multinomial(n, numpy_outcomes(theta[:, [m]] - theta[:, anchors], log_tie))


def _beside_verdicts(
    posterior: xr.Dataset, data: Data, m: int, n: NDArray[np.int64], *, given: Given | None,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:  # fmt: skip
    """Votes on model m's judged battles given their verdicts (S, M, 3), and how many more will come (M,)."""
    draws, left = posterior.sizes["chain"] * posterior.sizes["draw"], n.copy()
    found = np.zeros((draws, len(n), 3), dtype=np.int64)
    if given is None:
        return found, left
    first, second = np.asarray(data["linked_first"]), np.asarray(data["linked_second"])
    rows = np.flatnonzero(((first == m) | (second == m)) & (np.asarray(data["linked_total"]) > 0))
    own = data.with_arrays({name: np.asarray(array)[rows] if name.startswith("linked_") else array
                            for name, array in data.arrays.items()})  # fmt: skip
    chances = at_draws(lambda _: given(own), posterior)
    chances = chances.reshape(draws, *chances.shape[2:])
    for row, stratum in enumerate(rows):
        other, cells = int(first[stratum] + second[stratum] - m), own["linked_n"][row][: chances.shape[2]]
        # Where fewer votes are planned than battles were judged, some of the battles get one.
        cells = rng.multivariate_hypergeometric(cells, min(int(cells.sum()), int(left[other])))
        seen = np.flatnonzero(cells)
        votes = rng.multinomial(cells[seen], chances[:, row, seen]).sum(axis=1)
        found[:, other] += votes if first[stratum] == m else votes[:, ::-1]
        left[other] -= cells.sum()
    return found, left


def _unseen(model: str, names: list[str], data: Data) -> int:
    if model not in names:
        raise UsageError(f"no model {model!r}; the table has {names}")
    if data.units[model]:
        raise UsageError(f"people have voted on {model!r} ({data.units[model]} votes): fit to "
                         f"counts.without_votes_on({model!r}) to predict it")  # fmt: skip
    return names.index(model)


def _anchor_strengths(data: Data, anchors: NDArray[np.int64], models: int) -> NDArray[np.float64]:
    """Hard-Elo strengths from the votes that were fitted, mean 0 over the anchors."""
    votes = PairCounts.tally(data["vote_first"], data["vote_second"], votes_of(data))
    wins = votes.n[:, 0] + votes.n[:, 1] / 2
    strength = solve_strengths(votes.first, votes.second, votes.n.sum(axis=1), wins, models)[0]
    return np.asarray(strength - strength[anchors].mean())


def _total_of(pairs: PairCounts, models: int) -> NDArray[np.int64]:
    found = square(pairs.first, pairs.second, pairs.n.sum(axis=1), models)
    return np.asarray(found + found.T)
