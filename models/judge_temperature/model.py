"""`judge_temperature`: what a judge's score gap is worth in human preference, and Soft-Elo under that.

For a battle that judge j scored with gap s, in standard deviations of the judge's own gaps, and a person's
vote y on it that is no tie (METHODS 4.7)::

    μ ~ N(0, 1),  τ ~ HalfNormal(0.5)              log temperatures of judges
    log β_j = μ + τ z_j                            z_j ~ N(0, 1)
    log β_jg = log β_j + ω w_jg                    in group g (a language), when asked; ω ~ HalfNormal(0.5)
    y ~ Bernoulli(σ(β_jg s))

Judges, and groups, are partially pooled: a judge with few votes borrows from the others. Effects are sampled
in the units of data.py, which suit few votes and many. Soft-Elo gives each
battle the target σ(βs); its strengths are drawn from a *cut* posterior (results.py), so that they
cannot change β.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.counts.battles.counts import BattleCounts, count_battles
from bayesjudge.errors import require_positive
from bayesjudge.estimates.posterior import Quantities
from bayesjudge.model import Data, GenerativeModel, Statistic
from bayesjudge.models.common.units import Guess
from bayesjudge.models.judge_temperature import data as judge_temperature_data
from bayesjudge.models.judge_temperature import results as judge_temperature_results
from bayesjudge.models.judge_temperature.data import group_units, judge_units
from bayesjudge.priors import Slot
from bayesjudge.tables import Battles

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True, kw_only=True)
class JudgeTemperature(GenerativeModel):
    """Temperature of each judge, partially pooled, and the Elo of soft targets under it.

    Parameters
    ----------
    by_group : bool
        Every group of the counts (``count_battles(..., group="language")``) has a temperature of its own.
    learning_rate : float, optional
        ω of the generalised posterior of strengths: how many battles one battle counts for. By default it is
        drawn from how much the soft targets vary (results.py); METHODS 4.7 has 1.

    Examples
    --------
    >>> JudgeTemperature(by_group=True).label
    'bayes:judge_temperature[group]'
    """

    by_group: bool = False
    learning_rate: float | None = None

    exchangeable = ("z_judge", "z_group")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.learning_rate is not None:
            require_positive(learning_rate=self.learning_rate)

    @property
    def priors(self) -> Mapping[str, Slot]:
        """Of log temperatures, and how far judges (and groups) differ in them."""
        factor = "differ by factors of up to about 3"
        slots = {
            "log_temperature": Slot("Normal(0, 1)", "log", "a gap of a standard deviation is worth .14 to 7 logits"),
            "judge_spread": Slot("HalfNormal(0.5)", "log", f"judges {factor}"),
        }
        return slots | ({"group_spread": Slot("HalfNormal(0.5)", "log", f"groups {factor}")} if self.by_group else {})

    def prepare(self, table: Battles | BattleCounts) -> Data:
        """Votes with and against each gap, and the gaps of every judged battle."""
        counts = table if isinstance(table, BattleCounts) else count_battles(table)
        return judge_temperature_data.prepare(counts, by_group=self.by_group)

    def numpyro(self, data: Data) -> None:
        """The generative model in NumPyro."""
        import jax
        import jax.numpy as jnp
        import numpyro
        from numpyro import distributions as dist

        from bayesjudge.models.common.pattern_counts import PatternCounts

        prior, guess = self.in_use(data), _guess(data)
        mu = numpyro.sample("mu", prior.numpyro("log_temperature"))
        tau = numpyro.sample("tau", prior.numpyro("judge_spread"))
        with numpyro.plate("judge", data.size("judge"), dim=-2):
            omega = numpyro.sample("omega", prior.numpyro("group_spread")) if self.by_group else 0.0
            judges = judge_units(guess, mu, tau, omega)
            z = numpyro.sample("z_judge", dist.Normal(judges.centre, judges.width))
            log_beta = mu + judges.effect(z)
            if self.by_group:
                groups = group_units(guess, log_beta, omega)
                with numpyro.plate("group", data.size("group"), dim=-1):
                    z = numpyro.sample("z_group", dist.Normal(groups.centre, groups.width))
                log_beta = log_beta + groups.effect(z)
        log_beta = jnp.broadcast_to(log_beta, (data.size("judge"), data.size("group")))
        logit = jnp.exp(log_beta[data["judge"], data["group"]]) * data["signed_gap"]
        votes = PatternCounts(jax.nn.log_sigmoid(logit), data["stratum"], data["total"])
        with numpyro.plate("outcome", data.size("outcome"), dim=-1):
            numpyro.sample("n", votes, obs=data.arrays.get("n"))

    def pymc(self, data: Data) -> Any:
        """The same model in PyMC."""
        import pymc as pm
        import pytensor.tensor as pt

        prior = self.in_use(data)
        with pm.Model(coords={name: list(data.coords[name]) for name in ("judge", "group")}) as model:
            column, guess = (data.size("judge"), 1), _guess(data)
            mu, tau = prior.pymc("mu", "log_temperature"), prior.pymc("tau", "judge_spread")
            omega = prior.pymc("omega", "group_spread", shape=column) if self.by_group else np.float64(0)
            judges = judge_units(guess, mu, tau, omega)
            log_beta = mu + judges.effect(pm.Normal("z_judge", judges.centre, judges.width, shape=column))
            if self.by_group:
                groups = group_units(guess, log_beta, omega)
                z = pm.Normal("z_group", groups.centre, groups.width, dims=("judge", "group"))
                log_beta = log_beta + groups.effect(z)
            beta = pt.exp(pt.broadcast_to(log_beta, (data.size("judge"), data.size("group"))))
            logit = beta[data["judge"], data["group"]] * data["signed_gap"]
            pm.Potential("n", -data["n"].astype(float) * pt.softplus(-logit))
        return model

    def quantities(self, posterior: xr.Dataset, data: Data) -> Quantities:
        """β of each judge (and group) in logits a point of score; soft Elo from the cut posterior."""
        return judge_temperature_results.quantities(posterior, data, learning_rate=self.learning_rate)

    def before_data(self, prior: xr.Dataset, data: Data) -> Quantities:
        """Draws from the prior, which no votes have widened."""
        return self.quantities(prior, self.replicated(data, {}))

    def replicated(self, data: Data, observed: Mapping[str, Any]) -> Data:
        """The same design with other votes, which are independent as the model draws them."""
        shared = (judge_temperature_data.ADDED, judge_temperature_data.SOFT_ADDED)
        return data.with_arrays({**data.arrays, **{name: np.zeros_like(data[name]) for name in shared}, **observed})

    def beta(self, posterior: xr.Dataset, data: Data) -> xr.DataArray:
        """Draws of β in logits a point of score, dims ``chain, draw, judge, group``."""
        return judge_temperature_results.beta(posterior, data)

    def elo(self, posterior: xr.Dataset, data: Data, *, judge: str | None = None, seed: int = 0) -> xr.DataArray:
        """Draws of the judge's soft Elo of each model it graded, from the cut posterior: ``chain, draw, system``.

        Parameters
        ----------
        judge : str, optional
            Whose; by default the first judge's.
        """
        return judge_temperature_results.elo(
            posterior, data, judge=judge or str(data.coords["judge"][0]), learning_rate=self.learning_rate, seed=seed
        )

    @property
    def statistics(self) -> Mapping[str, Statistic]:
        """How often votes go with the judge, by the size of the gap."""
        return judge_temperature_results.STATISTICS


def _guess(data: Data) -> Guess:
    return Guess(information=data["information"], pull=data["pull"])
