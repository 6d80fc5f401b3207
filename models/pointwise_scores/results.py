"""What a posterior of `pointwise_scores` says: reliability of one score, sources of its variance, what formulas add.

With x_rb the row of response r in block b and β a draw, the mean of x_rb β over r is x̄_b β, and the covariance of two
blocks' is β' C_bc β with C_bc that of their rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from bayesjudge.effects import Formula
from bayesjudge.estimates.posterior import quantity
from bayesjudge.model import Data, Statistic
from bayesjudge.models.common.added_terms import coefficients_of
from bayesjudge.models.pointwise_scores.data import EXCESS, JUDGES_ERROR

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True, eq=False, kw_only=True)
class Moments:
    """Draws by block of what a formula adds, on the scale on which it is added; 0 without one.

    mean, variance: Over the responses of each block.
    shared: Covariance of two blocks, summed over all ordered pairs; without the dimension of blocks.
    """

    mean: xr.DataArray | float
    variance: xr.DataArray | float
    shared: xr.DataArray | float


NOTHING = Moments(mean=0.0, variance=0.0, shared=0.0)


def moments(formula: Formula | None, posterior: xr.Dataset, data: Data) -> Moments:
    """Moments of what a formula adds."""
    if formula is None:
        return NOTHING
    beta, design, there = _coefficients(formula, posterior, data), _by_block(data), _scored(data)
    weight = there / there.sum(axis=1, keepdims=True)
    mean = np.einsum("bt,btp->bp", weight, design)
    centred = (design - mean[:, None]) * np.sqrt(weight)[..., None]
    value = np.stack([_square(beta, one.T @ one) for one in centred], axis=-1)
    # Of all pairs of blocks, those with themselves left out.
    among = [_square(beta, one.T @ centred.sum(axis=0) - one.T @ one) for one in centred]
    return Moments(
        mean=_drawn(beta @ mean.T, posterior, data),
        variance=_drawn(value, posterior, data),
        shared=_drawn(np.stack(among, axis=-1), posterior, data).sum("block"),
    )


def category_means(
    formula: Formula, posterior: xr.Dataset, data: Data
) -> dict[str, tuple[xr.DataArray, NDArray[np.int64]]]:
    """Mean of what the formula adds over the responses of each category, and how many each block scored.

    Where it scored none the mean is 0.
    """
    if "member" not in data.arrays:
        return {}
    beta, design, there = _coefficients(formula, posterior, data), _by_block(data), _scored(data)
    found = {}
    for category, mine in zip(data.coords["of_category"], np.asarray(data["member"]).T, strict=True):
        size = (there * mine).sum(axis=1)
        mean = np.einsum("bt,btp->bp", there * mine / np.maximum(size, 1)[:, None], design)
        found[str(category)] = _drawn(beta @ mean.T, posterior, data), size.astype(np.int64)
    return found


def mean_changes(formula: Formula, posterior: xr.Dataset, data: Data) -> dict[str, xr.DataArray]:
    """Mean over responses of what one more standard deviation of each number adds."""
    beta, there = _coefficients(formula, posterior, data), _scored(data)
    weight = there / there.sum(axis=1, keepdims=True)
    found = {}
    for k, (_, number) in enumerate(data.facts["changes"], start=1):
        mean = np.einsum("bt,btp->bp", weight, _by_block(data, f"change_{k}"))
        found[number] = _drawn(beta @ mean.T, posterior, data)
    return found


def _coefficients(formula: Formula, posterior: xr.Dataset, data: Data) -> NDArray[np.float64]:
    """Draws (D, P), in score points where scores are numbers."""
    per = float(np.asarray(data["scale"])[0]) if "scale" in data.arrays else 1.0
    return per * coefficients_of(formula).draws(posterior, data)


def _by_block(data: Data, name: str = "design_score") -> NDArray[np.float64]:
    """A design as (blocks, responses, P)."""
    matrix = np.asarray(data[name])
    return matrix.reshape(len(data.coords["block"]), -1, matrix.shape[1])


def _scored(data: Data) -> NDArray[np.float64]:
    """1 where a block scored a response, (blocks, responses)."""
    n = np.asarray(data["n"]).T if "n" in data.arrays else np.reshape(data["total"], (len(data.coords["block"]), -1))
    return np.asarray(n > 0, dtype=np.float64)


def _square(beta: NDArray[np.float64], matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(((beta @ matrix) * beta).sum(axis=1))


def _drawn(values: NDArray[np.float64], posterior: xr.Dataset, data: Data) -> Any:
    """Draws (D, blocks) with their names."""
    import xarray as xr

    shape = (posterior.sizes["chain"], posterior.sizes["draw"], -1)
    names = list(data.coords["block"])
    return xr.DataArray(values.reshape(shape), dims=("chain", "draw", "block"), coords={"block": names})


#: Nodes of the latent variable in standard deviations: a trapezoid rule, exact to 1e-8 for normal weights.
_NODES = np.linspace(-6.0, 6.0, 241)
#: How near 0 and 1 an ICC is on the scale of log odds.
_TINY = 1e-12
#: Share of the squares of scores below which what is left of them is rounding errors.
_ROUNDING = 1e-12


def quantities(posterior: xr.Dataset, data: Data, formula: Formula | None = None) -> dict[str, xr.DataArray]:
    """By judge (``unit``) and condition (``group``), and the ICC between judges; what a formula moves."""
    added = moments(formula, posterior, data)
    found = components(posterior, data, added)
    correlation, within = found["icc"], found["within"]
    if EXCESS in data.arrays:
        of_icc, of_noise, of_mean = np.asarray(data[EXCESS]).T
        inside = correlation.clip(_TINY, 1 - _TINY)
        correlation = _stretched(inside, of_icc, logit, expit)
        within = _stretched(within, of_noise, np.log, np.exp)
        found["mean"] = _stretched(found["mean"], of_mean, np.asarray, np.asarray)
    noise = np.sqrt(within)
    by_block: dict[str, Any] = {
        "icc": correlation,
        "within_share": 1 - correlation,
        "mean_score": found["mean"],
        "score_sd": noise,
        "score_margin": noise,
    }
    judges, n = list(data.coords["block_judge"]), [data.units[str(name)] for name in data.coords["block"]]
    coords = {"unit": judges, "judge": judges, "group": list(data.coords["block_condition"]), "n": n}
    named = {name: ("block", labels) for name, labels in coords.items()}
    every = {
        name: quantity(draws.assign_coords(named), headline=name == "icc", margin=name == "score_margin")
        for name, draws in by_block.items()
    }
    if "between_judges" in found:
        both = found["between_judges"].expand_dims(block=["all judges"])
        if JUDGES_ERROR in data.arrays:
            inside = both.clip(_TINY, 1 - _TINY)
            least = np.asarray(data[JUDGES_ERROR]) / max(float(logit(inside.to_numpy()).std()), _TINY)
            both = _stretched(inside, np.maximum(least, 1.0), logit, expit)
        both = both.rename(block="unit")
        every["icc[judges]"] = quantity(both, n={"all judges": max(data.units.values())})
    if formula is not None:
        every |= _moved(formula, posterior, data, added, named)
    return every


def _stretched(
    draws: xr.DataArray, by: NDArray[np.float64], link: Callable[[Any], Any], back: Callable[[Any], Any]
) -> xr.DataArray:
    """Draws by block further from their mean, on the scale of a link."""
    draws = draws.transpose("chain", "draw", "block")
    values = link(draws.to_numpy())
    mean = values.mean((0, 1))
    return draws.copy(data=back(mean + by * (values - mean)))


def _moved(
    formula: Formula, posterior: xr.Dataset, data: Data, added: Moments, named: Mapping[str, Any]
) -> dict[str, xr.DataArray]:
    """Mean scores of categories, and how much the mean score changes with a number."""
    import xarray as xr

    found = {}
    for category, (mean, size) in category_means(formula, posterior, data).items():
        there = components(posterior, data, replace(added, mean=mean))["mean"].assign_coords(named)
        there = there.assign_coords(n=("block", size)).isel(block=np.flatnonzero(size))
        found[f"mean_score[{category}]"] = quantity(there)
    changes = {}
    now = components(posterior, data, added)["mean"]
    for number, change in mean_changes(formula, posterior, data).items():
        moved = components(posterior, data, replace(added, mean=added.mean + change))["mean"]
        changes[f"score, +1 sd of {number}"] = (moved - now).mean("block")
    if changes:
        effects = xr.concat(list(changes.values()), dim="unit").assign_coords(unit=list(changes))
        found["effect"] = quantity(effects, n=dict.fromkeys(changes, max(data.units.values())), signed=True)
    return found


def components(posterior: xr.Dataset, data: Data, added: Moments = NOTHING) -> dict[str, xr.DataArray]:
    """Draws by block of the mean score, the variances ``between`` and ``within`` responses, and ``icc``.

    added: Of what a formula adds, which is a part of how responses differ.

    All on the scale of the scores. ``within`` is the variance of one score of a given response: trial and
    noise. With several blocks ``between_judges`` is the ICC of single scores by random judges.
    """
    return (_levels if "gaps" in posterior else _numbers)(posterior, data, added)


def _numbers(posterior: xr.Dataset, data: Data, added: Moments) -> dict[str, xr.DataArray]:
    noise = posterior["noise"]
    trial = posterior["trial_spread"] ** 2 if "trial_spread" in posterior else 0.0
    loading, own = posterior["response_spread"] + 0 * noise, 0 * noise
    mean = posterior["mean_score"] + 0 * noise + added.mean
    if "interaction_spread" in posterior:
        mean, log = mean + posterior["leniency"], posterior["log_scale"]
        scale = np.exp(log - log.mean("block"))
        each = posterior["interaction_spread"]
        loading, own = loading * scale, (each if "block" in each.dims else each * scale) ** 2
    between, within = loading**2 + own + added.variance, noise**2 + trial
    found = {"mean": mean, "between": between, "within": within, "icc": between / (between + within)}
    if (blocks := data.size("block")) > 1:
        total = (between + within).mean("block") + mean.var("block", ddof=1)
        pairs = loading.sum("block") ** 2 - (loading**2).sum("block") + added.shared
        found["between_judges"] = pairs / (blocks * (blocks - 1)) / total
    return found


def _levels(posterior: xr.Dataset, data: Data, added: Moments) -> dict[str, xr.DataArray]:
    """Moments of the scores themselves, the latent variable integrated out on a grid."""
    import xarray as xr

    value = np.asarray(data["value"], dtype=float)
    weight = np.exp(-(_NODES**2) / 2)
    weight /= weight.sum()
    gaps = posterior["gaps"].transpose("chain", "draw", "gap").to_numpy()
    steps = np.concatenate([np.zeros((*gaps.shape[:2], 1)), np.cumsum(gaps, axis=-1)], axis=-1)
    cuts = posterior["middle"].to_numpy()[..., None] + steps - steps.mean(-1, keepdims=True)
    parts = []
    for name in data.coords["block"]:
        spread, shift, scale = _block(posterior, name, added)
        eta = shift[..., None] + spread[..., None] * _NODES
        below = expit((cuts[:, :, None] - eta[..., None]) / scale[..., None, None])
        first = value[-1] - below @ np.diff(value)
        second = value[-1] ** 2 - below @ np.diff(value**2)
        mean = first @ weight
        parts.append((mean, first**2 @ weight - mean**2, (second - first**2) @ weight))
    named = [
        xr.DataArray(
            np.stack(part, axis=-1), dims=("chain", "draw", "block"), coords={"block": list(data.coords["block"])}
        )
        for part in zip(*parts, strict=True)
    ]
    mean, between, within = named
    return {"mean": mean, "between": between, "within": within, "icc": between / (between + within)}


def _block(posterior: xr.Dataset, name: str, added: Moments) -> tuple[Any, Any, Any]:
    """Latent spread of responses, shift and scale of one block, (chain, draw) each."""
    more, moved = (
        part.sel(block=name).to_numpy() if hasattr(part, "sel") else part for part in (added.variance, added.mean)
    )
    shared = np.sqrt(posterior["response_spread"].to_numpy() ** 2 + more)
    if "interaction_spread" not in posterior:
        return shared, np.zeros_like(shared) + moved, np.ones_like(shared)
    own, shift, log = (
        posterior[site].sel(block=name).to_numpy() for site in ("interaction_spread", "leniency", "log_noise")
    )
    centred = log - posterior["log_noise"].mean("block").to_numpy()
    return np.sqrt(shared**2 + own**2), shift + moved, np.exp(centred)


def _of_means(figure: Callable[[Any], Any]) -> Statistic:
    """A figure of each block from its responses' mean scores (..., targets), blocks without two left out."""

    def statistic(sample: Any, data: Data) -> dict[str, Any]:
        scored = np.asarray(data["n"]) > 0
        return {
            str(name): figure(sample["mean"][..., scored[:, b], b])
            for b, name in enumerate(data.coords["block"])
            if scored[:, b].sum() > 1
        }

    return statistic


def _within(sample: Any, data: Data) -> dict[str, Any]:
    """Standard deviation of scores of one response, trials taken out."""
    freedom = np.asarray(data["freedom"])[:, 0]
    return {
        str(name): np.sqrt(sample["squares"][..., b, 0] / freedom[b])
        for b, name in enumerate(data.coords["block"])
        if freedom[b] > 0
    }


def _trials(sample: Any, data: Data) -> dict[str, Any]:
    """Mean square of trials over that within: 1 where trials do not differ, as where all scores repeat."""
    square = sample["squares"] / np.maximum(np.asarray(data["freedom"]), 1)
    tiny = np.finfo(float).eps
    return {
        str(name): (square[..., b, 1] + tiny) / (square[..., b, 0] + tiny)
        for b, name in enumerate(data.coords["block"])
        if (np.asarray(data["freedom"])[b] > 0).all()
    }


def _correlation(sample: Any, data: Data) -> dict[str, Any]:
    """Correlation of two blocks' mean scores of the responses that both scored: of all pairs in five products."""
    on = (np.asarray(data["n"]) > 0).astype(float)
    # From a value near each block's mean, so that nothing is lost in the differences of sums.
    near = np.asarray(data["mean"]).sum(0) / np.maximum(on.sum(0), 1)
    x = (np.asarray(sample["mean"]) - near) * on
    both, sums = on.T @ on, np.swapaxes(x, -1, -2) @ on  # of a over what a and b scored: [a, b]
    squares, products = np.swapaxes(x**2, -1, -2) @ on, np.swapaxes(x, -1, -2) @ x
    number = np.maximum(both, 1)
    spread = squares - sums**2 / number
    spread = np.where(spread > _ROUNDING * squares, spread, 0)  # of scores that are all equal there is none
    shared = products - sums * np.swapaxes(sums, -1, -2) / number
    scale = np.sqrt(spread * np.swapaxes(spread, -1, -2))
    found = np.divide(shared, scale, out=np.full(scale.shape, np.nan), where=scale > 0)
    names = data.coords["block"]
    return {
        f"{names[a]} & {names[b]}": found[..., a, b]
        for a, b in itertools.combinations(range(len(names)), 2)
        if both[a, b] > 2
    }


def _share_of_levels(counts: Any, data: Data) -> dict[str, Any]:
    """Share of all scores at each level."""
    totals = np.asarray(counts).sum(-2)
    return {str(level): totals[..., k] / totals.sum(-1) for k, level in enumerate(data.coords["level"])}


def _of_cells(figure: Callable[[Any, Any], Any]) -> Statistic:
    """A figure of each block from the mean and the variance of every response's scores, (..., responses) each."""

    def statistic(counts: Any, data: Data) -> dict[str, Any]:
        counts, value, block = np.asarray(counts), np.asarray(data["value"]), np.asarray(data["block"])
        n = np.maximum(counts.sum(-1), 1)
        mean = counts @ value / n
        variance = counts @ value**2 / n - mean**2
        return {
            str(name): figure(mean[..., at], variance[..., at])
            for b, name in enumerate(data.coords["block"])
            if (at := (block == b) & (np.asarray(data["total"]) > 1)).sum() > 1
        }

    return statistic


STATISTICS: Mapping[str, Mapping[str, Statistic]] = {
    "gaussian": {
        "mean score": _of_means(lambda mean: mean.mean(-1)),
        "spread between responses": _of_means(lambda mean: mean.std(-1)),
        "spread within a response": _within,
        "trials against noise": _trials,
        "correlation of judges": _correlation,
    },
    "ordinal": {
        "share of levels": _share_of_levels,
        "mean score": _of_cells(lambda mean, _: mean.mean(-1)),
        "spread between responses": _of_cells(lambda mean, _: mean.std(-1)),
        "spread within a response": _of_cells(lambda _, variance: np.sqrt(variance.mean(-1))),
        "all scores equal": _of_cells(lambda _, variance: (variance < 1e-9).mean(-1)),
    },
}
