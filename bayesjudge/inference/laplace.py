"""The Laplace engine: Newton to the mode, a Student-t fitted from there, Pareto-smoothed importance sampling.

For posteriors near a normal it answers in milliseconds, and it knows when it is wrong: k̂ of the importance
weights (Vehtari et al. 2024) above 0.7 means that the approximation has missed part of the posterior, and
the caller must fall back to NUTS, loudly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Any, NamedTuple

import jax
import numpy as np

from bayesjudge.inference.density import Arrays, Density, Sets
from bayesjudge.inference.gate import LEAST_ESS, MOST_PARETO_K
from bayesjudge.inference.proposal import (
    MOMENTS_UP_TO,
    ROUNDS,
    Proposal,
    Round,
    first_proposal,
    improved,
    round_draws,
    weighted_draws,
)
from bayesjudge.inference.starts import find_starts

__all__ = ["LaplaceDraws", "run_laplace"]

#: Parameters for which one more weighted draw is made for each that is returned, and the most: weights are
#: the more unequal the more parameters there are.
PARAMETERS, MOST = 2, 8
#: Times as many again, where few of them are effective although their k̂ is fine: one far point in a tail can
#: weigh as much as hundreds.
AGAIN = (1, 2, 4)
_PROGRAMS: dict[tuple[Any, ...], Any] = {}
_IMPROVED, _EACH_IMPROVED = jax.jit(improved), jax.jit(jax.vmap(improved))


@dataclass(frozen=True, eq=False, kw_only=True)
class LaplaceDraws:
    """Importance-resampled draws of one posterior or of many.

    Attributes
    ----------
    flat : array (..., draws, d)
        Draws resampled by their smoothed weights.
    pareto_k : array (...)
        k̂ of each posterior's weights.
    ess : array (...)
        Smallest effective number of proposals of any parameter's mean, 5 % and 95 % quantile.
    gradient_norm : array (...)
        Largest absolute gradient where Newton stopped; infinite where there is no mode to start from.
    """

    flat: Any
    pareto_k: Any
    ess: Any
    gradient_norm: Any


def run_laplace(
    target: Density, arrays: Arrays, key: Any, *, draws: int, many: Sets | None = None
) -> LaplaceDraws:
    """Approximate, weight and resample.

    Parameters
    ----------
    target : Density
        The posterior.
    arrays : mapping of str to array
        Its data; with ``many`` the arrays it names have a leading axis of data sets.
    key : jax PRNG key
        Equal keys give equal draws.
    draws : int
        Draws returned, resampled from up to ``MOST`` times as many, or four times that where it helps.
    """
    draw, size = _program(target, many), round_draws(target.size)
    mode = find_starts(target, arrays, many)
    keys = jax.random.split(key, many.number) if many else key
    proposal = _fitted(draw, first_proposal(mode), keys, arrays, many)
    least = ceil(draws * min(ceil(target.size / PARAMETERS), MOST) / size)
    # Numbers that no round of the fit has had: draws that chose a proposal would flatter it.
    found = _until_enough(lambda number: draw(proposal, keys, ROUNDS[1] + number, arrays), least, draws, key)
    lead = (many.number,) if many else ()
    flat, k, ess = (np.reshape(part, (*lead, *np.shape(part)[1:])) for part in zip(*found, strict=True))
    return LaplaceDraws(flat=flat, pareto_k=k, ess=ess, gradient_norm=np.asarray(mode.gradient_norm))


def _program(target: Density, many: Sets | None) -> Any:
    """One round of draws, compiled. Any number of draws is rounds."""
    kept = (id(target), many)
    if kept not in _PROGRAMS:
        size = round_draws(target.size)

        def draw(proposal: Proposal, key: Any, number: Any, arrays: Arrays) -> tuple[Any, Any]:
            return weighted_draws(target, proposal, jax.random.fold_in(key, number), arrays, size)

        _PROGRAMS[kept] = jax.jit(jax.vmap(draw, in_axes=(0, 0, None, many.axes)) if many else draw)
    return _PROGRAMS[kept]


def _fitted(draw: Any, proposal: Proposal, keys: Any, arrays: Arrays, many: Sets | None) -> Proposal:
    """The proposal that rounds of draws lead to.

    A data set whose proposal has settled keeps it while others go on, so that it is what it would be alone.
    """
    if proposal.at.shape[-1] > MOMENTS_UP_TO:
        return proposal
    shape, improve = ((many.number,), _EACH_IMPROVED) if many else ((), _IMPROVED)
    state = Round(proposal, np.zeros(shape), np.zeros(shape, dtype=bool))
    for number in range(ROUNDS[1]):
        settled = np.asarray(state.settled) & (number >= ROUNDS[0])
        if settled.all():
            break
        state = improve(*draw(state.proposal, keys, number, arrays), state, settled)
    return state.proposal


class _Resampled(NamedTuple):
    """Draws of one posterior, and what their weights say of them."""

    flat: Any
    pareto_k: float
    ess: float

    def wants_more(self, draws: int) -> bool:
        """Whether there are too few effective proposals, and more would be of use."""
        return self.pareto_k <= MOST_PARETO_K and self.ess < min(draws, LEAST_ESS)


def _until_enough(draw: Callable[[int], Any], least: int, draws: int, key: Any) -> list[_Resampled]:
    """Every data set's draws, from as many rounds as it needs itself."""
    rounds: list[tuple[Any, Any]] = []
    found: list[_Resampled] = []
    seed = np.asarray(jax.random.key_data(key)).tolist()
    for again in AGAIN:
        rounds += [_by_set(draw(number)) for number in range(len(rounds), again * least)]
        z, log_ratio = (np.concatenate(part, axis=1) for part in zip(*rounds, strict=True))
        enough = [not one.wants_more(draws) for one in found] or [False] * len(z)
        found = [found[k] if enough[k] else _resample(z[k], log_ratio[k], draws, [k, *seed])
                 for k in range(len(z))]  # fmt: skip
        if not any(one.wants_more(draws) for one in found):
            break
    return found


def _by_set(drawn: tuple[Any, Any]) -> tuple[Any, Any]:
    """Draws and log ratios with a leading axis of data sets, where there is one data set too."""
    z, log_ratio = (np.asarray(part) for part in drawn)
    return z.reshape(-1, *z.shape[-2:]), log_ratio.reshape(-1, log_ratio.shape[-1])


def _resample(z: Any, log_ratio: Any, draws: int, seed: list[int]) -> _Resampled:
    """Systematic resampling by Pareto-smoothed weights, in random order."""
    from arviz_stats.base import array_stats

    log_ratio = np.maximum(log_ratio, np.max(log_ratio) - 700.0)
    log_weight, k = array_stats.psislw(-log_ratio)
    weight = np.exp(log_weight - np.max(log_weight))
    weight /= weight.sum()
    rng = np.random.default_rng(seed)
    edges = (rng.random() + np.arange(draws)) / draws
    index = np.minimum(np.searchsorted(np.cumsum(weight), edges), len(weight) - 1)
    return _Resampled(z[rng.permutation(index)], float(k), _worst_effective(z, weight))


def _worst_effective(z: Any, weight: Any) -> float:
    """Smallest effective sample size of any parameter's mean, 5 % and 95 % quantile.

    Weights are largest where the proposal is thinnest, often in a tail: 1/Σw² would not see that a tail's
    share is known less well. For h of mean μ the variance of its estimate is Σw²(h − μ)² (Owen 2013,
    section 9.3).
    """
    order = np.argsort(z, axis=0)
    ranked = weight[order]
    share = np.cumsum(ranked, axis=0)
    centred = z - weight @ z
    found = [(weight @ centred**2) / (weight**2 @ centred**2)]
    for tail in (0.05, 0.95):
        away = (share <= tail) - tail
        found.append(tail * (1 - tail) / (ranked**2 * away**2).sum(axis=0))
    return float(np.min(found))
