"""What ranks say: tidy rows of a calibration, and their verdict."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc, chdtrc

from bayesjudge.baselines.common.moments import ratio
from bayesjudge.maths.holm import holm
from bayesjudge.simulation.blocks import write_parquet
from bayesjudge.simulation.calibration.replicates import Ranked

#: Probability of a false alarm over all quantities, and both opinions, together.
FALSE_ALARM = 0.01


def rank_rows(found: Ranked, *, unreliable: NDArray[np.bool_], seed: int) -> pd.DataFrame:
    """One row a replicate and quantity; ties, as of a quantity that does not vary, are broken at random.

    Returns: ``replicate, quantity, of_data, rank, truth, mean, sd, unreliable``.
    """
    replicates, names = found.true.shape[1], len(found.names)
    ranks = ranks_among(found.true[..., None], found.drawn, np.random.default_rng(seed))
    return pd.DataFrame(
        {
            "replicate": np.repeat(np.arange(replicates), names),
            "quantity": list(found.names) * replicates,
            "of_data": np.tile(found.of_data, replicates),
            "rank": ranks.T.reshape(-1),
            "truth": found.true.T.reshape(-1),
            "mean": found.drawn.mean(-1).T.reshape(-1),
            "sd": found.drawn.std(-1, ddof=1).T.reshape(-1),
            "unreliable": np.repeat(unreliable, names),
        }
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class Calibration:
    """Ranks of true values among posterior draws, and what they say.

    Attributes
    ----------
    label : str
        The model's method name.
    frame : pandas.DataFrame
        One row a quantity: ``quantity, p_value`` (ECDF test), ``chi_squared`` (p-value of the rank histogram;
        not in the verdict), ``exact`` (ECDF test of the second opinion; missing without one), ``adjusted``
        (smaller of the two ECDF p-values after Holm's correction for all of them), ``bias`` (mean of
        (posterior mean − truth)/posterior sd, 0 when calibrated and where nothing varies), ``contraction``
        (1 − mean posterior variance/prior variance; missing for quantities that look at the data),
        ``failed``.
    rows : pandas.DataFrame
        One row a replicate and quantity, as `rank_rows` has them.
    draws : int
        Posterior draws that each rank is among.
    """

    label: str
    frame: pd.DataFrame
    rows: pd.DataFrame
    draws: int

    @classmethod
    def of(cls, rows: pd.DataFrame, *, label: str, draws: int, seed: int = 0) -> Calibration:
        """Verdict on tidy rows; ``seed`` is that of the simulated null distribution."""
        return cls(label=label, frame=_judge(rows, draws, seed), rows=rows, draws=draws)

    @property
    def ranks(self) -> NDArray[np.int64]:
        """Rank of each truth, (replicates, quantities), 0 to ``draws``."""
        return self.rows["rank"].to_numpy().reshape(-1, len(self.frame))

    @property
    def unreliable(self) -> int:
        """Replicates whose fit had divergent transitions or too large a Pareto k; they are not left out."""
        return int(self.rows.loc[self.rows["unreliable"], "replicate"].nunique())

    @property
    def failures(self) -> tuple[str, ...]:
        """Quantities whose ranks are not uniform."""
        return tuple(self.frame.loc[self.frame["failed"], "quantity"])

    @property
    def passed(self) -> bool:
        """Whether every quantity's ranks may be uniform, at `FALSE_ALARM` for all together."""
        return not self.failures

    @property
    def summary(self) -> str:
        """The result in one sentence."""
        size = f"{len(self.frame)} quantities over {len(self.ranks)} replicates"
        if self.passed:
            low, high = RankTest(replicates=len(self.ranks), draws=self.draws).band()
            band = f"the 95 % band of an ECDF is ±{max(high.max(), -low.min()):.2f}"
            few = ", so only large departures would show" if len(self.ranks) < FEW else ""
            return f"no departure from calibration detected: ranks of {size} ({band}{few})"
        return f"not calibrated: ranks of {', '.join(self.failures)} are not uniform ({size})"

    def save(self, folder: Path) -> tuple[Path, Path]:
        """Write ``ranks.parquet`` (tidy rows) and ``quantities.parquet`` (the verdict on each)."""
        folder.mkdir(parents=True, exist_ok=True)
        parts = {"ranks.parquet": self.rows, "quantities.parquet": self.frame}
        ranks, quantities = (write_parquet(folder / name, frame) for name, frame in parts.items())
        return ranks, quantities


def _judge(rows: pd.DataFrame, draws: int, seed: int) -> pd.DataFrame:
    """One row of results a quantity."""
    names = rows["quantity"].drop_duplicates().tolist()

    def wide(column: str) -> NDArray[Any]:
        return rows[column].to_numpy().reshape(-1, len(names))

    test = RankTest(replicates=len(rows) // len(names), draws=draws, seed=seed)
    p_values = np.array([test.p_value(one) for one in wide("rank").T])
    exact = np.full(len(names), np.nan)
    if "exact_rank" in rows:
        exact = np.array([test.p_value(one) for one in wide("exact_rank").T])
    adjusted = _adjusted(p_values, exact)
    truth, mean, sd = wide("truth"), wide("mean"), wide("sd")
    z = np.divide(mean - truth, sd, out=np.zeros_like(sd), where=sd > 0)
    left = ratio((sd**2).mean(0), truth.var(axis=0, ddof=1))
    return pd.DataFrame(
        {
            "quantity": names,
            "p_value": p_values,
            "chi_squared": [chi_squared(one, draws) for one in wide("rank").T],
            "exact": exact,
            "adjusted": adjusted,
            "bias": z.mean(0),
            "contraction": np.where(wide("of_data")[0], np.nan, 1 - left),
            "failed": adjusted < FALSE_ALARM,
        }
    )


def _adjusted(p_values: NDArray[np.float64], exact: NDArray[np.float64]) -> NDArray[np.float64]:
    """Smaller of both tests' p-values for each quantity, all corrected together."""
    if np.isnan(exact).all():
        return holm(p_values)
    adjusted: NDArray[np.float64] = holm(np.concatenate([p_values, exact])).reshape(2, -1).min(axis=0)
    return adjusted


#: Fewer replicates than this find large departures only: the band is wider than ±.14.
FEW = 100
#: Simulated sets of uniform ranks.
SIMULATIONS = 20_000


@dataclass(frozen=True, eq=False, kw_only=True)
class RankTest:
    """Test that ranks are uniform on 0, ..., ``draws``.

    The ECDF of the ranks is compared at every rank with its binomial distribution. The smallest pointwise
    tail probability γ is the statistic; its own distribution under uniformity is simulated, which makes the
    test, and the band that belongs to it, hold at all ranks at once.
    """

    replicates: int
    draws: int
    seed: int = 0

    def p_value(self, ranks: NDArray[np.int64]) -> float:
        """Probability of ECDF deviations at least as large under uniformity.

        Where no simulated set was as far off, the sum of the pointwise probabilities bounds it.
        """
        gamma = float(self._gamma(np.bincount(ranks, minlength=self.draws + 1)[None])[0])
        as_far = int(np.sum(self._null <= gamma))
        simulated = (1 + as_far) / (1 + SIMULATIONS)
        return simulated if as_far else min(simulated, self.draws * gamma)

    def band(self, *, prob: float = 0.95) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Simultaneous limits (draws,) of the ECDF at ranks below 1, ..., ``draws``, minus the uniform's."""
        from scipy.stats import binom

        gamma = float(np.quantile(self._null, 1 - prob))
        low = binom.ppf(gamma / 2, self.replicates, self._at)
        high = binom.ppf(1 - gamma / 2, self.replicates, self._at)
        return low / self.replicates - self._at, high / self.replicates - self._at

    def deviation(self, ranks: NDArray[np.int64]) -> NDArray[np.float64]:
        """ECDF of the ranks minus the uniform's, at ranks below 1, ..., ``draws``."""
        counts = np.bincount(ranks, minlength=self.draws + 1)
        found: NDArray[np.float64] = np.cumsum(counts)[:-1] / self.replicates - self._at
        return found

    @property
    def _at(self) -> NDArray[np.float64]:
        return np.arange(1, self.draws + 1) / (self.draws + 1)

    @cached_property
    def _null(self) -> NDArray[np.float64]:
        rng, uniform = np.random.default_rng(self.seed), np.full(self.draws + 1, 1 / (self.draws + 1))
        return self._gamma(rng.multinomial(self.replicates, uniform, size=SIMULATIONS))

    def _gamma(self, counts: NDArray[Any]) -> NDArray[np.float64]:
        """Smallest two-sided pointwise tail probability of each row of rank counts (sets, draws + 1)."""
        below = np.cumsum(counts, axis=1)[:, :-1]
        smallest: NDArray[np.float64] = self._tails[below, np.arange(self.draws)].min(axis=1)
        return smallest

    @cached_property
    def _tails(self) -> NDArray[np.float64]:
        """Two-sided tail probability of each number of ranks below each, (replicates + 1, draws)."""
        k = np.arange(self.replicates + 1)[:, None]
        # P(X >= k) = P(X > k - 1), which is 1 at k = 0.
        upper = np.where(k > 0, bdtrc(np.maximum(k - 1, 0), self.replicates, self._at), 1.0)
        tails: NDArray[np.float64] = 2 * np.minimum(bdtr(k, self.replicates, self._at), upper)
        return tails


def chi_squared(ranks: NDArray[np.int64], draws: int, *, least: int = 10) -> float:
    """P-value of Pearson's χ² test of the rank histogram (Talts et al. 2018).

    Neighbouring ranks share a bin, so that bins expect ``least`` ranks each or more.

    ranks: From 0 to ``draws``.
    """
    bins = int(np.clip(len(ranks) // least, 2, draws + 1))
    # Of unequal width where the ranks do not divide: each expects its own share.
    edges = np.linspace(0, draws + 1, bins + 1).round().astype(int)
    observed = np.diff(np.concatenate([[0], np.bincount(ranks, minlength=draws + 1).cumsum()])[edges])
    expected = len(ranks) * np.diff(edges) / (draws + 1)
    return float(chdtrc(bins - 1, float((((observed - expected) ** 2) / expected).sum())))


def ranks_among(true: NDArray[np.float64], others: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Rank of (..., 1) among (..., N), from 0 to N; ties are broken at random, so that uniform stays uniform."""
    below, equal = (others < true).sum(-1), (others == true).sum(-1)
    return np.asarray(below + rng.integers(0, equal + 1))
