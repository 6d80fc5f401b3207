"""What ranks say: tidy rows of a calibration, and their verdict."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesjudge.simulation.blocks import write_parquet
from bayesjudge.simulation.calibration.uniformity import RankTest, chi_squared, ranks_among
from bayesjudge.simulation.holm import holm

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bayesjudge.simulation.calibration.replicates import Ranked

__all__ = ["FALSE_ALARM", "Calibration", "rank_rows"]

#: Probability of a false alarm over all quantities, and both opinions, together.
FALSE_ALARM = 0.01


def rank_rows(found: Ranked, *, unreliable: NDArray[np.bool_], seed: int) -> pd.DataFrame:
    """One row a replicate and quantity; ties, as of a quantity that does not vary, are broken at random.

    Returns
    -------
    pandas.DataFrame
        ``replicate, quantity, of_data, rank, truth, mean, sd, unreliable``.
    """
    replicates, names = found.true.shape[1], len(found.names)
    ranks = ranks_among(found.true[..., None], found.drawn, np.random.default_rng(seed))
    return pd.DataFrame({
        "replicate": np.repeat(np.arange(replicates), names), "quantity": list(found.names) * replicates,
        "of_data": np.tile(found.of_data, replicates),
        "rank": ranks.T.reshape(-1), "truth": found.true.T.reshape(-1),
        "mean": found.drawn.mean(-1).T.reshape(-1),
        "sd": found.drawn.std(-1, ddof=1).T.reshape(-1), "unreliable": np.repeat(unreliable, names),
    })  # fmt: skip


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
            return f"calibrated: ranks of {size} are uniform"
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
    prior = truth.var(axis=0, ddof=1)
    left = np.divide((sd**2).mean(0), prior, out=np.full(len(names), np.nan), where=prior > 0)
    return pd.DataFrame({
        "quantity": names, "p_value": p_values,
        "chi_squared": [chi_squared(one, draws) for one in wide("rank").T], "exact": exact,
        "adjusted": adjusted, "bias": z.mean(0),
        "contraction": np.where(wide("of_data")[0], np.nan, 1 - left), "failed": adjusted < FALSE_ALARM,
    })  # fmt: skip


def _adjusted(p_values: NDArray[np.float64], exact: NDArray[np.float64]) -> NDArray[np.float64]:
    """Smaller of both tests' p-values for each quantity, all corrected together."""
    if np.isnan(exact).all():
        return holm(p_values)
    adjusted: NDArray[np.float64] = holm(np.concatenate([p_values, exact])).reshape(2, -1).min(axis=0)
    return adjusted
