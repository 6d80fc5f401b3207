"""Whether ranks are uniform: the ECDF test with simultaneous bands (Säilynoja, Bürkner & Vehtari 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["RankTest", "chi_squared", "ranks_among"]

#: Simulated sets of uniform ranks.
SIMULATIONS = 20_000


@dataclass(frozen=True, eq=False, kw_only=True)
class RankTest:
    """Test that ranks are uniform on 0, ..., ``draws``.

    The ECDF of the ranks is compared at every rank with its binomial distribution. The smallest pointwise
    tail probability γ is the statistic; its own distribution under uniformity is simulated, which makes the
    test, and the band that belongs to it, hold at all ranks at once.

    Parameters
    ----------
    replicates : int
        Number of ranks.
    draws : int
        Posterior draws behind each rank.
    seed : int
        Seed of the simulated null distribution.

    Examples
    --------
    >>> test = RankTest(replicates=200, draws=19, seed=0)
    >>> even, heaped = np.arange(200) % 20, np.full(200, 10)
    >>> bool(test.p_value(even) > 0.9), bool(test.p_value(heaped) < 1e-4)
    (True, True)
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
        from scipy.special import bdtr, bdtrc

        below = np.cumsum(counts, axis=1)[:, :-1]
        lower = bdtr(below, self.replicates, self._at)
        # P(X >= k) = P(X > k - 1), which is 1 at k = 0.
        upper = np.where(below > 0, bdtrc(np.maximum(below - 1, 0), self.replicates, self._at), 1.0)
        smallest: NDArray[np.float64] = 2 * np.minimum(lower, upper).min(axis=1)
        return smallest


def chi_squared(ranks: NDArray[np.int64], draws: int, *, least: int = 10) -> float:
    """P-value of Pearson's χ² test of the rank histogram (Talts et al. 2018).

    Neighbouring ranks share a bin, so that bins expect ``least`` ranks each or more.

    Parameters
    ----------
    ranks : int array (replicates,)
        From 0 to ``draws``.
    draws : int
        Posterior draws behind each rank.
    least : int
        Smallest expected count; there are two bins at least.

    Examples
    --------
    >>> even, heaped = np.arange(200) % 20, np.full(200, 10)
    >>> chi_squared(even, 19) > 0.9, chi_squared(heaped, 19) < 1e-9
    (True, True)
    """
    from scipy.special import chdtrc

    bins = int(np.clip(len(ranks) // least, 2, draws + 1))
    # Of unequal width where the ranks do not divide: each expects its own share.
    edges = np.linspace(0, draws + 1, bins + 1).round().astype(int)
    seen = np.diff(np.concatenate([[0], np.bincount(ranks, minlength=draws + 1).cumsum()])[edges])
    expected = len(ranks) * np.diff(edges) / (draws + 1)
    return float(chdtrc(bins - 1, float((((seen - expected) ** 2) / expected).sum())))


def ranks_among(
    true: NDArray[np.float64], others: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Rank of (..., 1) among (..., N), from 0 to N; ties are broken at random, so that uniform stays uniform.

    Examples
    --------
    >>> others, rng = np.array([[1.0, 3.0, 0.5]]), np.random.default_rng(0)
    >>> ranks_among(np.array([[2.0]]), others, rng).tolist()
    [2]
    """
    below, equal = (others < true).sum(-1), (others == true).sum(-1)
    return np.asarray(below + rng.integers(0, equal + 1))
