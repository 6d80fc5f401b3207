"""Simulation-based calibration: a posterior that is computed right has the truth at a uniform rank.

Parameters are drawn from the prior, data from the model given them, and the model is fitted to the data.
Over replicates, the rank of each true value among posterior draws is uniform (Talts, Betancourt, Simpson,
Vehtari & Gelman 2018). The log likelihood is ranked too: it sees errors that single parameters do not,
such as data that were ignored or counted twice (Modrák et al. 2023).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesjudge.checks.replicates import Quantity, Ranked, quantities_of, simulate
from bayesjudge.checks.uniformity import RankTest
from bayesjudge.errors import UsageError
from bayesjudge.inference.gate import MOST_PARETO_K
from bayesjudge.model import Data, Model

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from numpy.typing import NDArray

    from bayesjudge.inference import ManyFits

__all__ = ["Calibration", "sbc"]

#: Probability of a false alarm over all quantities together.
FALSE_ALARM = 0.01


@dataclass(frozen=True, eq=False, kw_only=True)
class Calibration:
    """Ranks of true values among posterior draws, and what they say.

    Attributes
    ----------
    label : str
        The model's method name.
    frame : pandas.DataFrame
        One row a quantity: ``quantity, p_value`` (ECDF test), ``adjusted`` (Holm, over all quantities),
        ``bias`` (mean of (posterior mean − truth)/posterior sd, 0 when calibrated), ``contraction`` (1 − mean
        posterior variance/prior variance; missing for quantities that look at the data), ``failed``.
    ranks : int array (replicates, quantities)
        Rank of the truth, 0 to ``draws``.
    draws : int
        Posterior draws that each rank is among.
    unreliable : int
        Replicates whose fit had divergent transitions or too large a Pareto k; they are not left out.
    """

    label: str
    frame: pd.DataFrame
    ranks: NDArray[np.int64]
    draws: int
    unreliable: int

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


def sbc(
    model: Model,
    data: Data,
    *,
    replicates: int = 200,
    ranked: int = 63,
    chains: int = 4,
    draws: int = 250,
    tune: int = 300,
    seed: int = 0,
    engine: str = "hmc",
    quantities: Mapping[str, Quantity] | None = None,
    progress: bool = False,
    batch: int | None = None,
    executor: Executor | None = None,
) -> Calibration:
    """Calibrate a model's posterior against its own simulator.

    Parameters
    ----------
    model : Model
        Any model of the protocol; its ``simulate`` and its posterior are held against each other.
    data : Data
        The design: everything but the observations is kept.
    replicates : int
        Simulated data sets.
    ranked : int
        Draws of each posterior that the rank is among, spaced evenly so that they are nearly independent.
    chains, draws, tune, engine, progress, batch, executor
        As in `fit_many`.
    seed : int
        Equal seeds give equal ranks.
    quantities : mapping of str to callable, optional
        Further test quantities, ``(latent values, arrays) -> scalar`` in JAX; they may look at the data.

    Returns
    -------
    Calibration

    Raises
    ------
    UsageError
        Fewer draws than ranks are asked for.

    Examples
    --------
    >>> from bayesjudge.datasets import simulate_verdicts
    >>> from bayesjudge.models.judge_error import JudgeError
    >>> model = JudgeError(pooling="shared")
    >>> design = model.prepare(simulate_verdicts(seed=1).verdicts)
    >>> sbc(model, design, replicates=40, engine="laplace").passed
    True
    """
    from bayesjudge.inference import fit_many

    if chains * draws < ranked:
        raise UsageError(
            f"ranked={ranked} needs that many draws; there are {chains * draws} (chains × draws)"
        )
    world = simulate(model, data, replicates=replicates, seed=seed)
    fits = fit_many(
        model,
        world.datasets,
        engine=engine,
        chains=chains,
        draws=draws,
        tune=tune,
        seed=seed + 1,
        progress=progress,
        batch=batch,
        executor=executor,
    )
    found = quantities_of(world, fits.flat, ranked=ranked, extra=quantities or {})
    ranks, frame = _judge(found, seed)
    return Calibration(
        label=model.label, frame=frame, ranks=ranks, draws=ranked, unreliable=_unreliable(fits)
    )


def _unreliable(fits: ManyFits) -> int:
    def bad(stats: Mapping[str, Any]) -> bool:
        k = np.max(stats.get("pareto_k", 0.0))
        return bool(np.sum(stats.get("diverging", 0)) > 0 or not k <= MOST_PARETO_K)

    return sum(bad(stats) for stats in fits.stats)


def _judge(found: Ranked, seed: int) -> tuple[NDArray[np.int64], pd.DataFrame]:
    """Ranks (replicates, quantities) and one row of results a quantity."""
    true, drawn = found.true, found.drawn
    ranks = (drawn < true[..., None]).sum(-1)
    test = RankTest(replicates=true.shape[1], draws=drawn.shape[-1], seed=seed)
    p_values = np.array([test.p_value(one) for one in ranks])
    adjusted = _holm(p_values)
    spread = drawn.std(axis=-1, ddof=1)
    contraction = 1 - (spread**2).mean(-1) / true.var(axis=-1, ddof=1)
    frame = pd.DataFrame({
        "quantity": found.names, "p_value": p_values, "adjusted": adjusted,
        "bias": ((drawn.mean(-1) - true) / spread).mean(-1),
        "contraction": np.where(found.of_data, np.nan, contraction), "failed": adjusted < FALSE_ALARM,
    })  # fmt: skip
    return ranks.T, frame


def _holm(p_values: NDArray[np.float64]) -> NDArray[np.float64]:
    """P-values adjusted for their number (Holm 1979), valid whatever their dependence."""
    order = np.argsort(p_values)
    stepped = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return adjusted
