"""`bradley_terry`: a leaderboard from battles that people, or one judge, decided.

For models with strengths θ and a battle of i against k (Bradley & Terry 1952; ties by Davidson 1970)::

    τ ~ Rayleigh(1)
    θ ~ ZeroSumNormal(τ)                              strengths in logits
    log ν ~ N(−1, 2)                                  how readily battles tie
    β ~ N(0, 1)                                       order of showing, length, covariates: one each
    u_gi ~ N(0, τ_g)                                  what models are worth in a group, where groups are asked for
    d = θ_i + u_gi − θ_k − u_gk + x'β
    P(i wins) : P(tie) : P(k wins) = e^{d/2} : ν : e^{−d/2}

The likelihood is written on counts of each (pair, order, length, covariates): its cost does not depend on
the number of battles, unless a covariate has a value of its own in every one. Strengths are sampled in the
units of `common/strengths.py`, which suit few battles and many.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.counts.battles.counts import BattleCounts, count_battles
from bayesjudge.estimates.posterior import Quantities
from bayesjudge.maths.bradley_terry import PER_LOGIT
from bayesjudge.model import Data, GenerativeModel, Statistic
from bayesjudge.models.bradley_terry import clusters, groups, results
from bayesjudge.models.bradley_terry import data as bradley_terry_data
from bayesjudge.models.common.battle_rows import STRENGTH, TIE, jax_log_outcomes, pytensor_log_outcomes, resampled
from bayesjudge.priors import Slot
from bayesjudge.tables import Battles

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True, kw_only=True)
class BradleyTerry(GenerativeModel):
    """Strengths, and their Elo, from the outcomes of battles.

    Parameters
    ----------
    judge : str, optional
        Whose verdicts are the outcomes; by default people's votes.
    order_effect : bool
        Being shown first is worth something, and how much is learned.
    length_effect : bool
        A longer answer is worth something; lengths are scaled to a root mean square of 1.
    covariates : sequence of str
        Columns by which the two answers differ (``X``, or ``X_a`` and ``X_b``), each scaled like lengths;
        strengths are then those of answers alike in them.
    by_group : bool
        Strengths differ by the groups of the battles (a language, a category), and pool.

    Examples
    --------
    >>> BradleyTerry(judge="gpt-4").label
    'bayes:bradley_terry[gpt-4]'
    """

    judge: str | None = None
    order_effect: bool = False
    length_effect: bool = False
    covariates: tuple[str, ...] = ()
    by_group: bool = False

    exchangeable = ("strength", "group_strength")

    def __post_init__(self) -> None:
        object.__setattr__(self, "covariates", tuple(dict.fromkeys(self.covariates)))
        super().__post_init__()

    @property
    def priors(self) -> Mapping[str, Slot]:
        """Of how far strengths are apart, of ties, and of effects where there are some."""
        learned = self.order_effect or self.length_effect or self.covariates
        effects = {"effect": Slot("Normal(0, 1)", "logits", "being first, or a typical difference, is seldom worth 2")}
        grouped = {"group_spread": groups.SPREAD} if self.by_group else {}
        return {"strength": STRENGTH, "tie": TIE, **(effects if learned else {}), **grouped}

    @property
    def options(self) -> tuple[str, ...]:
        """In the label: whose outcomes, then the effects."""
        effects = {"order": self.order_effect, "length": self.length_effect, "by group": self.by_group}
        return (self.judge or "human", *(name for name, given in effects.items() if given), *self.covariates)

    def prepare(self, table: Battles | BattleCounts) -> Data:
        """Counts of outcomes for each pattern of pair, order, length and covariates."""
        counts = table if isinstance(table, BattleCounts) else count_battles(table, covariates=self.covariates)
        return bradley_terry_data.prepare(
            counts,
            judge=self.judge,
            order=self.order_effect,
            length=self.length_effect,
            covariates=self.covariates,
            by_group=self.by_group,
        )

    def numpyro(self, data: Data) -> None:
        """The generative model in NumPyro."""
        import numpyro

        from bayesjudge.models.common.pattern_counts import OutcomeCounts
        from bayesjudge.models.common.strengths import Strengths

        prior = self.in_use(data)
        tau = numpyro.sample("spread", prior.numpyro("strength", per=PER_LOGIT))
        strengths = Strengths(tau, data["information"], data.size("system"))
        theta = numpyro.sample("strength", strengths, infer={"event_dims": ("system",)})
        log_tie = numpyro.sample("log_tie", prior.numpyro("tie"))
        is_small = "incidence" in data.arrays
        d = data["incidence"] @ theta if is_small else theta[data["first"]] - theta[data["second"]]
        if data.facts["effects"]:
            with numpyro.plate("effect", data.size("effect"), dim=-1):
                d = d + data["x"] @ numpyro.sample("beta", prior.numpyro("effect"))
        if self.by_group:
            u = groups.numpyro_effects(data, prior)
            d = d + u[data["group"], data["first"]] - u[data["group"], data["second"]]
        outcomes = OutcomeCounts(jax_log_outcomes(d, log_tie), data["total"])
        with numpyro.plate("battle", data.size("battle"), dim=-2), numpyro.plate("outcome", 3, dim=-1):
            numpyro.sample("n", outcomes, obs=data.arrays.get("n"))

    def pymc(self, data: Data) -> Any:
        """The same model in PyMC."""
        import pymc as pm

        from bayesjudge.models.common.strengths import pymc_strengths

        prior = self.in_use(data)
        coords = {name: list(data.coords[name]) for name in ("system", "effect", "group") if name in data.coords}
        with pm.Model(coords=coords) as model:
            tau = prior.pymc("spread", "strength", per=PER_LOGIT)
            theta = pymc_strengths("strength", tau, data["information"], dims="system")
            log_tie = prior.pymc("log_tie", "tie")
            d = theta[data["first"]] - theta[data["second"]]
            if data.facts["effects"]:
                d = d + data["x"] @ prior.pymc("beta", "effect", dims="effect")
            if self.by_group:
                u = groups.pymc_effects(data, prior)
                d = d + u[data["group"], data["first"]] - u[data["group"], data["second"]]
            pm.Potential("n", data["n"].astype(float) * pytensor_log_outcomes(d, log_tie))
        return model

    def quantities(self, posterior: xr.Dataset, data: Data) -> Quantities:
        """Elo, differences, tie rate of equals and effects."""
        return results.quantities(posterior, data, self.chosen_priors)

    def elo(self, posterior: xr.Dataset, data: Data) -> xr.DataArray:
        """Draws of each model's Elo, dims ``chain, draw, system``, for ranks and for who beats whom."""
        return results.elo(posterior, data, self.chosen_priors)

    def describe(self, posterior: xr.Dataset, data: Data) -> Mapping[str, Any]:  # noqa: ARG002
        """What shared prompts do to this posterior: clusters, design effects, degrees of freedom."""
        return {"clusters": results.describe(data)}

    def before_data(self, prior: xr.Dataset, data: Data) -> Quantities:
        """Draws from the prior, which no battles have widened."""
        return self.quantities(prior, self.replicated(data, {}))

    def replicated(self, data: Data, observed: Mapping[str, Any]) -> Data:
        """The same design with other outcomes, of independent battles as the model draws them."""
        return data.with_arrays(clusters.independent({**data.arrays, **observed}))

    @property
    def statistics(self) -> Mapping[str, Statistic]:
        """Scores of models and pairs, ties, cycles, and what being shown first is worth."""
        return results.STATISTICS

    def bootstrap(self, data: Data, *, replicates: int, seed: int) -> Any:
        """Outcomes of resampled battles, (replicates, patterns, 3)."""
        return resampled(np.asarray(data["n"]), replicates=replicates, seed=seed)
