"""Draws of what judges would say: the verdict distribution of every cell, given its counts.

Trials of a cell share ``π ~ Dirichlet(φ p)``, so given p and the cell's counts n it is ``Dirichlet(φ p +
n)``: the distribution in infinitely many trials. A unit (judge, item, condition) mixes its orders by their
share of trials.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.counts.arrays import sums_within
from bayesjudge.maths.clusters import design_effect, shared_variance
from bayesjudge.maths.majority import Contest, most_likely, never_differ
from bayesjudge.model import Data
from bayesjudge.models.common.at_draws import over_draws
from bayesjudge.models.repeated_trials.data import CLUSTER
from bayesjudge.models.repeated_trials.statistics import unit_codes

if TYPE_CHECKING:
    import xarray as xr

    from bayesjudge.estimates import Population


#: Most numbers held for the cells of all draws; past it fewer draws are used, but no fewer than `_LEAST`.
_MOST, _LEAST, _ENOUGH = 12_000_000, 200, 400
#: Seeds of the Dirichlet draws, of the replicated trials and of items' weights: part of the definition, so that one
#: posterior gives one answer.
_SEED, _AGAIN, _WEIGHTS = 20, 21, 22


@dataclass(frozen=True, eq=False, kw_only=True)
class VerdictDraws:
    """Posterior draws over units; arrays have leading axes (chain, draw).

    pi: Verdict distribution of each used cell.
    q: Verdict distribution of each unit.
    units: Codes of judge, item, condition.
    unit: Unit of each used cell.
    order: 1, −1, or 0 where not recorded.
    n: Trials of each outcome in each used cell.
    weight: Of every item, (chain, draw, I), in means over items; see `item_weights`.
    data: Names of the codes.
    name: Judge and condition, where these are the units of one; the condition is empty where there is one.
    """

    pi: NDArray[np.float64]
    q: NDArray[np.float64]
    units: NDArray[np.int64]
    unit: NDArray[np.int64]
    order: NDArray[np.int64]
    n: NDArray[np.int64]
    weight: NDArray[np.float64]
    data: Data
    name: tuple[str, str] = ("", "")

    @property
    def items(self) -> int:
        """Number of units, which is that of items for one judge and condition."""
        return len(self.units)

    def mean(self, values: NDArray[np.float64], among: Any = slice(None)) -> NDArray[np.float64]:
        """Mean (chain, draw) over items of values (chain, draw, U), or of those of some units ``among`` all."""
        weight = self.weight[..., self.units[among, 1]]
        return np.asarray(np.einsum("cdu,cdu->cd", values, weight) / weight.sum(-1))

    def shared_mean(
        self, values: NDArray[np.float64], observed: NDArray[np.float64], among: Any = slice(None)
    ) -> NDArray[np.float64]:
        """The same as far from its mean as clusters of items leave it, (chain, draw).

        Few trials pull each item's values to those of all, and what the items of a cluster share with them. Observed
        ones are as noisy as they like: the noise of two items is not shared.

        observed: What the trials of each unit say of its value (U,), NaN where nothing.
        """
        times = self._shared(values, observed, among)
        return stretched(self.mean(values, among), times, signed=bool((values < 0).any()))

    def _shared(self, values: NDArray[np.float64], observed: NDArray[np.float64], among: Any = slice(None)) -> float:
        """How many times as wide as the draws of a mean the clusters of its items leave it."""
        cluster, known = self.data.arrays.get(CLUSTER), np.isfinite(observed)
        if cluster is None or not np.ptp(self.weight) or not known.any():
            return 1.0
        code = np.asarray(cluster)[self.units[among, 1]]
        more = shared_variance(observed[known], code[known]) - shared_variance(values.mean((0, 1)), code)
        return float(np.sqrt(1 + max(more, 0.0) / max(float(self.mean(values, among).var()), 1e-300)))

    @property
    def position_design(self) -> float:
        """Design effect of what the trials of each unit say of the judge's leaning to the first."""
        cluster = self.data.arrays.get(CLUSTER)
        if cluster is None or not np.ptp(self.weight) or not self.both_orders:
            return 1.0
        observed = self._position_effects(self.n / self.n.sum(1, keepdims=True))
        return design_effect(observed, np.asarray(cluster)[self.units[self.unit[self._ordered[:, 0]], 1]])

    @cached_property
    def flips_shared(self) -> float:
        """The same of flips, with which go wrong majorities of K trials: no item shows those."""
        return self._shared(self.flip_rate, self.observed_flips)

    @cached_property
    def flip_rate(self) -> NDArray[np.float64]:
        """1 − P(true majority) of each unit, (chain, draw, U)."""
        return 1 - self.q.max(-1)

    @cached_property
    def disagreement(self) -> NDArray[np.float64]:
        """Probability that two trials differ, (chain, draw, U)."""
        return np.asarray(1 - (self.q**2).sum(-1))

    @property
    def ordered(self) -> bool:
        """Whether the order of some trials was recorded."""
        return bool((self.order != 0).any())

    @cached_property
    def same_order_flip_rate(self) -> NDArray[np.float64]:
        """1 − P(majority of one order), over the recorded orders of each unit that has some, (chain, draw)."""
        known = self.order != 0
        units, place = np.unique(self.unit[known], return_inverse=True)
        n = self.n[known]
        again = n.sum(1) > 1
        observed = np.where(again, 1 - n.max(1) / n.sum(1), 0.0)

        def means(flips: NDArray[np.float64], of: NDArray[np.intp]) -> NDArray[np.float64]:
            count = np.bincount(of, minlength=len(units))
            sums = np.moveaxis(sums_within(np.moveaxis(flips, -1, 0), of, len(units)), 0, -1)
            return np.asarray(sums / np.where(count, count, np.nan))

        flips = means(1 - self.pi[..., known, :].max(-1), place)
        return self.shared_mean(flips, means(observed[again], place[again]), units)

    @cached_property
    def observed(self) -> NDArray[np.int64]:
        """Trials of each outcome of each unit, (U, 3)."""
        return self._pooled(self.n)

    @property
    def observed_flips(self) -> NDArray[np.float64]:
        """Share of each unit's trials that are not of its majority (U,)."""
        return np.asarray(1 - self.observed.max(1) / self.observed.sum(1))

    @property
    def observed_disagreement(self) -> NDArray[np.float64]:
        """Share of each unit's pairs of trials that differ (U,), NaN of fewer than two trials."""
        total = self.observed.sum(1)
        pairs = np.where(total > 1, total * (total - 1), np.nan)
        return np.asarray(1 - (self.observed * (self.observed - 1)).sum(1) / pairs)

    @cached_property
    def replicated_flip_rate(self) -> NDArray[np.float64]:
        """Mean over items of 1 − max/N had the trials that were made been made again, (chain, draw)."""
        share = self.pi / self.pi.sum(-1, keepdims=True)
        again = self._pooled(np.random.default_rng(_AGAIN).multinomial(self.n.sum(1), share))
        return self.mean(1 - again.max(-1) / again.sum(-1))

    def _pooled(self, n: NDArray[np.int64]) -> NDArray[np.int64]:
        """Counts of cells (..., C, 3) summed over the orders of each unit."""
        return np.moveaxis(sums_within(np.moveaxis(n, -2, 0), self.unit, self.items), 0, -2)

    @property
    def repeated(self) -> bool:
        """Whether any comparison was repeated in one order."""
        return bool((self.n.sum(1) > 1).any())

    @property
    def repeats_itself(self) -> bool:
        """Whether trials of one order never differ."""
        return never_differ(self.n[self.order != 0])

    @cached_property
    def _true(self) -> Contest:
        return Contest(self.q, most_likely(self.q))

    def match(self, trials: int) -> NDArray[np.float64]:
        """P(majority of K trials is the true majority) of each unit, (chain, draw, U)."""
        return self._true.won(trials)

    @cached_property
    def _top(self) -> list[tuple[NDArray[np.intp], NDArray[np.float64], Contest]]:
        """Of each outcome: the units where it has most trials, its share of that place, and its contest there."""
        top = self.observed == self.observed.max(-1, keepdims=True)
        share = top / top.sum(-1, keepdims=True)
        found = []
        for code in range(3):
            here = np.flatnonzero(top[:, code])
            q = self.q[..., here, :]
            found.append((here, share[here, code], Contest(q, np.full(q.shape[:-1], code))))
        return found

    def match_observed(self, trials: int) -> NDArray[np.float64]:
        """P(majority of K further trials is that of those made), a shared place counting in parts."""
        total = np.zeros(self.q.shape[:-1])
        for here, share, contest in self._top:
            total[..., here] += contest.won(trials) * share
        return total

    @property
    def both_orders(self) -> bool:
        """Whether some unit was shown in both orders."""
        return self.in_both > 0

    @property
    def in_both(self) -> int:
        """Units that were shown in both orders."""
        return len(self._ordered)

    @cached_property
    def _ordered(self) -> NDArray[np.int64]:
        """Cells with a shown first and with b shown first of units that have both, (units, 2)."""
        cell = np.full((self.items, 2), -1)
        for column, sign in enumerate((1, -1)):
            here = np.flatnonzero(self.order == sign)
            cell[self.unit[here], column] = here
        return cell[(cell >= 0).all(1)]

    @property
    def position_effect(self) -> NDArray[np.float64]:
        """P(first wins) − P(second wins), over the orders of each unit that has both, (chain, draw)."""
        observed = self._position_effects(self.n / self.n.sum(1, keepdims=True))
        return self.shared_mean(self._position_effects(self.pi), observed, self.unit[self._ordered[:, 0]])

    def _position_effects(self, share: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of each unit that has both orders, by its cells' shares (..., C, 3)."""
        first, second = (share[..., self._ordered[:, k], :] for k in (0, 1))
        return np.asarray((first[..., 0] - first[..., 1] + second[..., 1] - second[..., 0]) / 2)

    def array(self, values: Any) -> xr.DataArray:
        """Values (chain, draw) as an array with those names."""
        import xarray as xr

        return xr.DataArray(np.asarray(values), dims=("chain", "draw"))

    def parts(self) -> Iterator[VerdictDraws]:
        """The units of each judge under each condition that it was asked under."""
        conditions = self.data.coords["condition"]
        for j, c in np.unique(self.units[:, [0, 2]], axis=0):
            name = (str(self.data.coords["judge"][j]), str(conditions[c]) if len(conditions) > 1 else "")
            yield replace(self.where((self.units[:, 0] == j) & (self.units[:, 2] == c)), name=name)

    def where(self, keep: NDArray[np.bool_]) -> VerdictDraws:
        """Some of the units."""
        place = np.cumsum(keep) - 1
        cells = keep[self.unit]
        return replace(
            self,
            pi=self.pi[..., cells, :],
            q=self.q[..., keep, :],
            units=self.units[keep],
            unit=place[self.unit[cells]],
            order=self.order[cells],
            n=self.n[cells],
        )


def verdict_draws(
    model: Any, posterior: xr.Dataset, data: Data, *, population: Population = "superpopulation"
) -> VerdictDraws:
    """Draw the verdict distributions of every cell and unit given the posterior and the counts.

    model: Whose site ``n`` is a `TrialOutcomes`.
    posterior: Dims ``chain, draw, ...``; evenly thinned where cells and draws are many.
    population: What means over items are about.
    """
    used = np.flatnonzero(np.asarray(data["total"]) > 0)
    log_p, rho = _cells(model, _thinned(posterior, len(used)), data, used)
    counts, rng = np.asarray(data["n"])[used], np.random.default_rng(_SEED)
    pi = dirichlet(np.exp(log_p), rho, counts, rng)
    units, unit = unit_codes(data)
    unit = unit[used]
    share = counts.sum(1) / np.bincount(unit, weights=counts.sum(1), minlength=len(units))[unit]
    q = np.zeros((*pi.shape[:2], len(units), 3))
    # Cells stand in order of their units, or nearly: few cells a unit, so one pass for each of them.
    np.add.at(np.moveaxis(q, 2, 0), unit, np.moveaxis(pi * share[:, None], 2, 0))
    order = np.asarray(data["order"])[used]
    weight = item_weights((*pi.shape[:2], data.size("item")), population, data.arrays.get(CLUSTER))
    return VerdictDraws(pi=pi, q=q, units=units, unit=unit, order=order, n=counts, weight=weight, data=data)


def stretched(draws: NDArray[np.float64], times: float, *, signed: bool = False) -> NDArray[np.float64]:
    """Draws (chain, draw) of a mean of shares, so many times as far from their mean, within 0 (or −1) and 1."""
    if times == 1:
        return draws
    centre = draws.mean()
    return np.asarray(np.clip(centre + (draws - centre) * times, -1.0 if signed else 0.0, 1.0))


def item_weights(
    shape: tuple[int, ...], population: Population, cluster: NDArray[np.int64] | None = None
) -> NDArray[np.float64]:
    """Weights of items (..., I) at every draw: ones, or for items like these Dirichlet(1, ..., 1) times their sum.

    The Bayesian bootstrap (Rubin 1981): the items are a sample, and a mean over them is not that of all there are.
    Where items go together, clusters of them are the sample.
    """
    if population == "items":
        return np.ones(shape)
    rng = np.random.default_rng(_WEIGHTS)
    if cluster is None:
        return rng.standard_exponential(shape)
    found, place = np.unique(cluster, return_inverse=True)
    return np.asarray(rng.standard_exponential((*shape[:-1], len(found)))[..., place])


def _thinned(posterior: xr.Dataset, cells: int) -> xr.Dataset:
    chains, draws = posterior.sizes["chain"], posterior.sizes["draw"]
    wanted = int(np.clip(_MOST // max(3 * cells, 1), _LEAST, _ENOUGH))
    keep = np.unique(np.linspace(0, draws - 1, min(draws, -(-wanted // chains))).astype(int))
    return posterior.isel(draw=keep)


@dataclass(frozen=True)
class _Shape:
    """A model and what shapes its density for some data: equal ones share a compiled program."""

    model: Any
    signature: tuple[Any, ...]
    data: Data = field(compare=False)


def _cells(model: Any, posterior: xr.Dataset, data: Data, used: Any) -> tuple[Any, Any]:
    """Log p (chain, draw, C, 3) and ρ (chain, draw, C) of the used cells, by the model's own function."""
    shape = _Shape(replace(model, given=()), data.signature, data)
    found: tuple[Any, Any] = over_draws(
        _of_cells, posterior, arrays={**data.arrays, "used": used}, facts={"shape": shape}
    )
    return found


def _of_cells(sites: Any, arrays: Any, key: Any, facts: Any) -> tuple[Any, Any]:
    """Log p and ρ of the used cells at one draw."""
    from numpyro import handlers

    shape, used = facts["shape"], arrays["used"]
    data = shape.data.with_arrays({name: array for name, array in arrays.items() if name != "used"})
    run = handlers.substitute(handlers.seed(shape.model.numpyro, key), data=dict(sites))
    fn = handlers.trace(run).get_trace(data)["n"]["fn"]
    return fn.log_p.T[used], fn.rho[used]


def dirichlet(p: Any, rho: Any, counts: Any, rng: np.random.Generator) -> NDArray[np.float64]:
    """π given p, ρ and counts; p itself where trials do not correlate."""
    inflated = p * ((1 - rho) / np.maximum(rho, 1e-12))[..., None] + counts
    drawn = rng.standard_gamma(np.maximum(inflated, 1e-12))
    total = drawn.sum(-1, keepdims=True)
    pi = np.where(total > 0, drawn / np.where(total > 0, total, 1.0), p)
    return np.asarray(np.where((rho > 1e-9)[..., None], pi, p))
