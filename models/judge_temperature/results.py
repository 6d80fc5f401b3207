"""What a posterior of `judge_temperature` says: β, soft Elo from the cut posterior; its statistics.

Soft-Elo gives battle b the target ``σ(β s_b)``. No distribution has such targets as its data, so the
exponential of the penalised likelihood of METHODS 4.1 is taken as a Gibbs posterior of θ with learning rate
ω (Bissiri, Holmes & Walker 2016), which is drawn from here; the penalty is a normal prior. θ must not
feed back on β, which people's votes alone inform: the posterior is *cut* (Plummer 2015). β is drawn from its
own posterior, then θ given β, where the density is log-concave.

A soft target ``t = σ(βs)`` of two models whose strengths differ by d varies less than a vote would: its mean
is σ(d) and its variance ``φ σ(d)(1 − σ(d))``, with φ = 1 for votes (quasi-likelihood; McCullagh & Nelder
1989, chapter 9). The likelihood of votes then counts each battle ``1/φ`` times too little, and ``ω = 1/φ``
is the learning rate at which the spread of the generalised posterior is that of Soft-Elo in repeated samples
(Lyddon, Holmes & Walker 2019 match the two in general). φ is not known either. Its posterior is that of a
variance, from the squared residuals X² of B battles and M models::

    φ ~ (φ₀ ν₀ + X²) / χ²(ν₀ + B − M + 1),    X² = Σ (t − σ(d))² / [σ(d)(1 − σ(d))]

Targets of battles on one prompt move together: θ given β gets the errors that clusters add (data.py).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray
from scipy.special import expit

from bayesjudge.estimates.posterior import quantity
from bayesjudge.maths.bradley_terry import RIDGE, solve_strengths, to_elo
from bayesjudge.model import Data, Statistic
from bayesjudge.models.common.elo_results import ELO
from bayesjudge.models.common.shared_items import adjust
from bayesjudge.models.common.units import Guess
from bayesjudge.models.judge_temperature.data import ADDED, SOFT_ADDED, group_units, judge_units

if TYPE_CHECKING:
    import xarray as xr


#: Draws of β, evenly spaced, that strengths are drawn for: a table of estimates needs no more.
CUT_DRAWS = 1000
#: Edges of the bins of |gap|, in standard deviations.
EDGES = (0.0, 0.25, 0.5, 1.0, 1.5, np.inf)


def quantities(posterior: xr.Dataset, data: Data, *, learning_rate: float | None) -> dict[str, xr.DataArray]:
    """β of each judge and group, then each judge's soft Elo, of fewer draws."""
    import xarray as xr

    draws, kept = posterior.sizes["draw"], max(CUT_DRAWS // posterior.sizes["chain"], 1)
    thin = posterior.isel(draw=np.unique(np.linspace(0, draws - 1, min(draws, kept)).astype(int)))
    judges, models = (list(map(str, data.coords[name])) for name in ("judge", "system"))
    boards = [elo(thin, data, judge=judge, learning_rate=learning_rate, seed=0) for judge in judges]
    soft = xr.concat(boards, dim="judge", join="outer").assign_coords(judge=judges)
    soft = soft.sel(system=[model for model in models if model in soft["system"]])
    n = [[data.units[f"{judge} | {model}"] for model in soft["system"].to_numpy()] for judge in judges]
    soft = soft.assign_coords(n=(("judge", "system"), n))
    return {"beta": quantity(beta(posterior, data), n=data.units, headline=True), ELO: quantity(soft)}


def beta(posterior: xr.Dataset, data: Data) -> xr.DataArray:
    """Draws of β in logits a point of score, dims ``chain, draw, judge, group``."""
    import xarray as xr

    dims = ("chain", "draw", "judge", "group")
    sites = {
        name: values.expand_dims([dim for dim in dims if dim not in values.dims]).transpose(*dims).to_numpy()
        for name, values in posterior.items()
    }
    guess = Guess(information=np.asarray(data["information"]), pull=np.asarray(data["pull"]))
    omega = sites.get("omega", 0.0)
    log_beta = sites["mu"] + judge_units(guess, sites["mu"], sites["tau"], omega).effect(sites["z_judge"])
    if "z_group" in sites:
        log_beta = log_beta + group_units(guess, log_beta, omega).effect(sites["z_group"])
    coords = {name: list(data.coords[name]) for name in dims[2:]}
    found = np.exp(_with_errors(log_beta, data)) / np.asarray(data["scale"])[:, None]
    return xr.DataArray(np.broadcast_to(found, (*found.shape[:3], len(coords["group"]))), coords, dims)


def _with_errors(log_beta: Any, data: Data) -> Any:
    """Draws (chain, draw, judge, group) as they would be had the likelihood known that votes on a prompt are alike.

    Σ becomes Σ + ΣK more KΣ, with K the information of the votes (`shared_items.adjust`).
    """
    added = np.asarray(data[ADDED])
    if not added.any():
        return log_beta
    draws = log_beta.reshape(-1, added.size)
    more = np.diag((np.asarray(data["information"]) * added).reshape(-1))
    df = np.asarray(data["cluster_df"]).reshape(-1)
    return adjust(draws, information=np.zeros_like(more), variance=more, df=df).reshape(log_beta.shape)


def elo(posterior: xr.Dataset, data: Data, *, judge: str, learning_rate: float | None, seed: int) -> xr.DataArray:
    """Draws of one judge's soft Elo, dims ``chain, draw, system``; groups add up, each at its own β.

    Of the models that it graded: without a battle a strength is anything, and the mean of all would be too.
    """
    import xarray as xr

    temperatures = beta(posterior, data).sel(judge=judge).to_numpy()
    shape = temperatures.shape[:2]
    flat = temperatures.reshape(-1, temperatures.shape[-1])
    code = [str(name) for name in data.coords["judge"]].index(judge)
    tables = [_table(data, code, g, flat[:, g]) for g in range(flat.shape[1])]
    models = [str(model) for model in data.coords["system"] if data.units[f"{judge} | {model}"]]
    graded = np.flatnonzero(np.isin(data.coords["system"], models))
    theta = cut_strengths(
        [t for t in tables if t is not None],
        [flat[:, g] for g, t in enumerate(tables) if t is not None],
        len(models),
        added=np.asarray(data[SOFT_ADDED])[code][np.ix_(graded, graded)],
        df=float(data["strength_df"][code]),
        learning_rate=learning_rate,
        seed=seed,
    )
    return xr.DataArray(
        to_elo(theta).reshape(*shape, len(models)),
        dims=("chain", "draw", "system"),
        coords={"system": models},
        name=ELO,
    )


def _table(data: Data, judge: int, group: int, temperatures: Any) -> SoftTable | None:
    first, second, gap, n = (np.asarray(data[f"soft_{name}"]) for name in ("first", "second", "gap", "n"))
    own = (np.asarray(data["soft_judge"]) == judge) & (n > 0)
    mine = own & (np.asarray(data["soft_group"]) == group)
    if not mine.any():
        return None
    graded, log = np.union1d(first[own], second[own]), np.log(temperatures)
    first, second = (np.searchsorted(graded, side[mine]) for side in (first, second))
    return SoftTable.tabulate(first, second, gap[mine], n[mine], low=float(log.min()), high=float(log.max()))


def _agreement(counts: Any, data: Data) -> dict[str, Any]:
    """Share of votes that go with the judge, by the size of its gap."""
    gap, found = np.abs(np.asarray(data["signed_gap"])), {}
    with_it = np.asarray(data["signed_gap"]) > 0
    for j, judge in enumerate(data.coords["judge"]):
        for low, high in itertools.pairwise(EDGES):
            rows = (np.asarray(data["judge"]) == j) & (gap > low) & (gap <= high)
            if np.all(counts @ rows > 0):
                share = counts @ (rows & with_it) / (counts @ rows)
                found[f"{judge}: |gap| {low:g} to {high:g} sd"] = share
    return found


def _group_agreement(counts: Any, data: Data) -> dict[str, Any]:
    """The same by group, over all gaps."""
    found: dict[str, Any] = {}
    with_it = np.asarray(data["signed_gap"]) > 0
    for g, group in enumerate(data.coords["group"]):
        rows = np.asarray(data["group"]) == g
        if np.all(counts @ rows > 0):
            found[str(group)] = counts @ (rows & with_it) / (counts @ rows)
    return found


STATISTICS: Mapping[str, Statistic] = {
    "votes with the judge, by |gap|": _agreement,
    "votes with the judges": _group_agreement,
}


type Floats = NDArray[np.float64]
type Ints = NDArray[np.int64]
#: Chebyshev nodes; with them a sum of σ(βs) is known to 1e-9 of its size for β within a factor of 3.
NODES = 33
#: Proposals for each draw of θ, of which one is kept by its importance weight.
PROPOSALS = 32
#: Fewest degrees of freedom of the proposals, and models for each: tails heavier than the density's.
FREEDOM, MODELS = 5.0, 2
#: Draws that are worked out at once.
_CHUNK = 200


@dataclass(frozen=True, eq=False, kw_only=True)
class SoftTable:
    """Sums of the soft targets of every pair, and of their squares, as functions of β.

    ``Σ_b σ(β s_b)`` is smooth in β, so a Chebyshev polynomial in log β takes the place of the battles: after
    one pass at the nodes the cost does not depend on their number.

    first, second: Models of each pair.
    n: Battles of each pair.
    low, high: Range of log β.
    coefficients: Of the sums, then of the sums of squares.
    """

    first: Ints
    second: Ints
    n: Ints
    low: float
    high: float
    coefficients: Floats

    @classmethod
    def tabulate(cls, first: Ints, second: Ints, gap: Floats, n: Ints, *, low: float, high: float) -> SoftTable:
        """From patterns (R,) of pair and gap, for β between ``exp(low)`` and ``exp(high)``."""
        pairs, place = np.unique(np.stack([first, second]), axis=1, return_inverse=True)
        place = place.reshape(-1)
        # A range of no width would leave the polynomial undetermined.
        low, high = min(low, high) - 1e-3, max(low, high) + 1e-3
        nodes = chebyshev.chebpts1(NODES)
        beta = np.exp(low + (nodes + 1) / 2 * (high - low))
        sums = np.stack(
            [
                np.concatenate([np.bincount(place, n * expit(b * gap) ** power, pairs.shape[1]) for power in (1, 2)])
                for b in beta
            ]
        )
        return cls(
            first=pairs[0],
            second=pairs[1],
            n=np.bincount(place, weights=n).astype(np.int64),
            low=low,
            high=high,
            coefficients=chebyshev.chebfit(nodes, sums, NODES - 1),
        )

    def wins(self, beta: Floats) -> Floats:
        """Sums of targets (S, P) for temperatures (S,) within the table's range."""
        return self._at(beta, slice(None, len(self.n)))

    def squares(self, beta: Floats) -> Floats:
        """Sums of squared targets (S, P), ditto."""
        return self._at(beta, slice(len(self.n), None))

    def _at(self, beta: Floats, columns: slice) -> Floats:
        at = 2 * (np.log(beta) - self.low) / (self.high - self.low) - 1
        return np.asarray(chebyshev.chebval(at, self.coefficients[:, columns]).T)


def cut_strengths(
    tables: Sequence[SoftTable],
    beta: Sequence[Floats],
    models: int,
    *,
    added: Floats | None = None,
    df: float = np.inf,
    learning_rate: float | None = None,
    ridge: float = RIDGE,
    seed: int = 0,
) -> Floats:
    """One draw of θ for each draw of β.

    A Student-t at the mode, with the curvature there, proposes; of `PROPOSALS` draws one is kept by its
    importance weight. Where few battles are, the density is skewed, with a tail longer than a normal's: with
    normal proposals the standard deviation of three battles' strengths was 14 % too small.

    added, df: Covariance (M, M) that battles which share prompts add to θ given β, and its degrees of freedom.
    learning_rate: ω: how many battles one battle counts for; by default drawn, from how much the targets vary.
    seed: Equal seeds give equal draws.

    Returns: Strengths in logits, sum 0.
    """
    every = [np.stack([table.first, table.second]) for table in tables]
    pairs, place = np.unique(np.concatenate(every, axis=1), axis=1, return_inverse=True)
    splits = np.split(place.reshape(-1), np.cumsum([len(table.first) for table in tables])[:-1])
    n, (wins, squares) = np.zeros(pairs.shape[1]), np.zeros((2, len(beta[0]), pairs.shape[1]))
    for table, at, own in zip(tables, splits, beta, strict=True):
        n[at] += table.n
        wins[:, at] += table.wins(own)
        squares[:, at] += table.squares(own)
    rng = np.random.default_rng(seed)
    mode = _mode(pairs, n, wins, models, ridge)
    if learning_rate is None:
        d = mode[:, pairs[0]] - mode[:, pairs[1]]
        rate = learning_rates(n, wins, squares, d, models=len(np.unique(pairs)), rng=rng)[:, None]
    else:
        rate = np.full((len(wins), 1), learning_rate)
    mode = _mode(pairs, rate * n, rate * wins, models, ridge)
    gibbs = _Gibbs(pairs[0], pairs[1], ridge)
    chunks = [slice(at, at + _CHUNK) for at in range(0, len(mode), _CHUNK)]
    theta = [gibbs.draw((rate * n)[part], (rate * wins)[part], mode[part], rng) for part in chunks]
    return _with_clusters(np.concatenate(theta), mode, added, df, rng)


def _with_clusters(theta: Floats, mode: Floats, added: Floats | None, df: float, rng: np.random.Generator) -> Floats:
    """Draws further from their modes by normal errors of a covariance (M, M), with the tails of Student's t."""
    if added is None or not added.any():
        return theta
    values, vectors = np.linalg.eigh(added)
    # The symmetric root: that of eigenvectors alone would turn with rounding.
    errors = rng.normal(size=theta.shape) @ (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    # The level is free, and a root of what rounding leaves of its variance is not small.
    errors = errors - errors.mean(axis=1, keepdims=True)
    return np.asarray(mode + (theta - mode + errors) * np.sqrt(df / rng.chisquare(df, (len(theta), 1))))


def _mode(pairs: Ints, n: Floats, wins: Floats, models: int, ridge: float) -> Floats:
    """Strengths (S, M) of the highest density, each search begun at that of the mean of all."""
    middle = np.atleast_2d(n).mean(axis=0), wins.mean(axis=0)
    start = solve_strengths(pairs[0], pairs[1], *middle, models, ridge=ridge)[0]
    return solve_strengths(pairs[0], pairs[1], n, wins, models, ridge=ridge, start=start)


@dataclass(frozen=True, eq=False)
class _Gibbs:
    """The generalised posterior of θ on one set of pairs, at many sums of targets."""

    first: Ints
    second: Ints
    ridge: float

    def draw(self, n: Floats, wins: Floats, mode: Floats, rng: np.random.Generator) -> Floats:
        """One θ (S, M) for each row of battles and wins (S, P), proposed about its mode (S, M)."""
        root = np.linalg.cholesky(np.linalg.inv(self._curvature(n, mode)))
        moves = root @ rng.normal(size=(*mode.shape, PROPOSALS))
        # The level of θ is free: what is proposed must sum to 0 as the mode does.
        moves = moves - moves.mean(axis=1, keepdims=True)
        free = mode.shape[1] - 1
        freedom = max(FREEDOM, free / MODELS)
        moves /= np.sqrt(rng.chisquare(freedom, size=(len(mode), 1, PROPOSALS)) / freedom)
        theta = mode[:, :, None] + moves
        distance = (np.linalg.solve(root, moves) ** 2).sum(axis=1)
        log_proposal = -0.5 * (freedom + free) * np.log1p(distance / freedom)
        log_weight = self._log_density(n, wins, theta) - log_proposal
        weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
        share = np.cumsum(weight / weight.sum(axis=1, keepdims=True), axis=1)
        pick = (rng.random((len(mode), 1)) > share[:, :-1]).sum(axis=1)
        return np.asarray(theta[np.arange(len(mode)), :, pick])

    def _curvature(self, n: Floats, mode: Floats) -> Floats:
        p = expit(mode[:, self.first] - mode[:, self.second])
        weight, own = n * p * (1 - p), np.arange(mode.shape[1])
        hessian = np.zeros((*mode.shape, len(own)))
        hessian[:, self.first, self.second] = -weight
        hessian[:, self.second, self.first] = -weight
        hessian[:, own, own] = self.ridge - hessian.sum(axis=2)
        return hessian

    def _log_density(self, n: Floats, wins: Floats, theta: Floats) -> Floats:
        d = theta[:, self.first] - theta[:, self.second]
        terms = wins[..., None] * d - n[..., None] * np.logaddexp(0.0, d)
        return np.asarray(terms.sum(axis=1) - self.ridge / 2 * (theta**2).sum(axis=1))


#: ν₀ and φ₀: a tenth of a battle whose target varies as a vote does. It keeps φ off 0 where a few battles
#: have one gap, and is lost among fifty.
PRIOR = (0.1, 1.0)


def learning_rates(
    n: Floats, wins: Floats, squares: Floats, d: Floats, *, models: int, rng: np.random.Generator
) -> Floats:
    """One draw of ω for each row of targets."""
    p = expit(d)
    misfit = (squares - 2 * p * wins + n * p**2) / (p * expit(-d))
    degrees, scale = PRIOR
    free = max(float(n.sum()) - models + 1, 0.0)
    return np.asarray(rng.chisquare(degrees + free, len(d)) / (degrees * scale + misfit.sum(axis=1)))
