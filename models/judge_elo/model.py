"""`judge_elo`: the Elo that people would give, from people's votes and from judges who saw other battles too.

For models i with strengths θ_i, people, and judges j (METHODS 4.8)::

    τ ~ Rayleigh(1),  θ ~ ZeroSumNormal(τ)            what people prefer, in logits
    a_j ~ N(1, 1)                                     slope: how strongly judge j feels it
    (δ_1i, ..., δ_Ji) ~ N(0, diag(s) R diag(s))       the judges' own tastes, for each model
    s_j ~ HalfNormal(0.5),  R ~ LKJ(1)                which judges may share
    η_ji = a_j θ_i + δ_ji

    vote on i against k      Davidson in θ_i − θ_k                              (davidson.py)
    verdict of judge j       Davidson in η_ji − η_jk + o ρ_j + ℓ λ_j + f κ_j    its own ν_j
    score gap of judge j     StudentT(ν_j) about the same difference            scale ς_j
    with battle_effect       outcomes of one battle share a factor: ρ_r ~ Uniform(0, 1) for people and for
                             each judge, every one's own probabilities as above  (likelihood.py)

o is the order of showing, ℓ the difference of lengths, f whether the judge is of one family with one of the
two; ρ, λ, κ ~ N(0, 1). Tastes are on the judge's own scale, so that a judge who does not feel θ at all (a =
0) may still have preferences. They are what no number of battles removes: a model that only judges have seen
is predicted no better than tastes allow, and judges who share a taste do not count as independent witnesses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from bayesjudge.counts.battles.counts import BattleCounts, count_battles
from bayesjudge.errors import UsageError
from bayesjudge.estimates import Estimates
from bayesjudge.model import Data, Statistic
from bayesjudge.models.judge_elo import data as judge_elo_data
from bayesjudge.models.judge_elo import results

if TYPE_CHECKING:
    import xarray as xr

    from bayesjudge.counts.battles.patterns import PairCounts
    from bayesjudge.tables import Battles

__all__ = ["JudgeElo"]

Scores = Literal["graded", "verdicts"]


@dataclass(frozen=True, kw_only=True)
class JudgeElo:
    """Elo on the human scale from people and any number of judges.

    Parameters
    ----------
    scores : {"graded", "verdicts"}
        Judges who score answers are modelled by their score gaps (graded, the default), battle by battle, or
        like the others by whom they prefer (verdicts), on counts.
    length_effect : bool
        A longer answer is worth something to a judge; lengths are scaled to a root mean square of 1.
    families : tuple of (str, str)
        ``(name, family)`` of judges and models; where a judge has one, favouring its own family is learned.
    battle_effect : bool
        People and judges who saw the same battle may agree, or err, together beyond what the models explain
        (`battle_effect`); needs the battles themselves, and takes scores by whom they prefer.
    strength_scale, taste_scale : float
        Scales of the priors of τ (Rayleigh) and s_j (half-normal), in logits (of a standardised gap for
        scores).

    Examples
    --------
    >>> JudgeElo(scores="verdicts").label
    'bayes:judge_elo[verdicts]'
    """

    scores: Scores = "graded"
    length_effect: bool = False
    families: tuple[tuple[str, str], ...] = ()
    battle_effect: bool = False
    strength_scale: float = 1.0
    taste_scale: float = 0.5

    def __post_init__(self) -> None:
        if self.scores not in get_args(Scores):
            raise UsageError(f"scores={self.scores!r} is not one of {', '.join(get_args(Scores))}")
        if self.battle_effect and self.scores != "verdicts":
            raise UsageError("battle_effect=True links verdicts, not score gaps: give scores='verdicts' too")
        for name in ("strength_scale", "taste_scale"):
            if not getattr(self, name) > 0:
                raise UsageError(f"{name} must be above 0, got {getattr(self, name)}")

    @property
    def name(self) -> str:
        """Registered name."""
        return "judge_elo"

    @property
    def label(self) -> str:
        """Method name in tables: whatever differs from the defaults."""
        given = {"verdicts": self.scores == "verdicts", "length": self.length_effect, "family": self.families,
                 "battle": self.battle_effect}  # fmt: skip
        options = [name for name, is_given in given.items() if is_given]
        return f"bayes:judge_elo[{','.join(options)}]" if options else "bayes:judge_elo"

    def prepare(self, table: Battles | BattleCounts) -> Data:
        """Counts of votes and verdicts by pattern, and standardised score gaps."""
        linked = self.battle_effect
        counts = table if isinstance(table, BattleCounts) else count_battles(table, keep_battles=linked)
        return judge_elo_data.prepare(
            counts, graded=self.scores == "graded", length=self.length_effect, families=dict(self.families),
            linked=linked,
        )  # fmt: skip

    def numpyro(self, data: Data) -> None:
        """The generative model in NumPyro."""
        from bayesjudge.models.judge_elo import likelihood
        from bayesjudge.models.judge_elo.likelihood import numpyro_links

        theta, eye = self._strengths(data)
        votes = likelihood.numpyro_votes(theta, data)
        effects = likelihood.numpyro_effects(data)
        if self.battle_effect:
            numpyro_links(votes, likelihood.numpyro_verdict_outcomes(eye, effects, data), data)
        elif data.facts["verdicts"]:
            likelihood.numpyro_verdicts(eye, effects, data)
        if data.facts["graded"]:
            likelihood.numpyro_scores(eye, effects, data)

    def _strengths(self, data: Data) -> tuple[Any, Any]:
        """θ (M,) and what each judge sees of it, η (J, M)."""
        import numpyro
        from numpyro import distributions as dist

        from bayesjudge.models.common.strengths import Strengths, spread
        from bayesjudge.models.judge_elo.likelihood import numpyro_tastes

        tau = numpyro.sample("spread", spread(self.strength_scale))
        prior = Strengths(tau, data["information"], data.size("model"))
        theta = numpyro.sample("strength", prior, infer={"event_dims": ("model",)})
        with numpyro.plate("judge", data.size("judge"), dim=-2):
            slope = numpyro.sample("slope", dist.Normal(1.0, 1.0))
            scale = numpyro.sample("taste_spread", dist.HalfNormal(self.taste_scale))
        return theta, slope * theta + numpyro_tastes(scale, data)

    def _votes_given_verdicts(self, data: Data) -> Any:
        """Chances of a vote on each stratum's battles, given what their judges said."""
        from bayesjudge.models.judge_elo import likelihood
        from bayesjudge.models.judge_elo.likelihood import numpyro_votes_given_verdicts

        theta, eye = self._strengths(data)
        verdicts = likelihood.numpyro_verdict_outcomes(eye, likelihood.numpyro_effects(data), data)
        return numpyro_votes_given_verdicts(theta, verdicts, data)

    def pymc(self, data: Data) -> Any:
        """The same model in PyMC."""
        import pymc as pm

        from bayesjudge.models.common.strengths import pymc_spread, pymc_strengths
        from bayesjudge.models.judge_elo import pymc as twin

        one = np.float64(1)
        named = ("model", "judge", "effect", "judge_pair", "verdict_judge", "score_judge")
        coords = {name: list(data.coords[name]) for name in named}
        with pm.Model(coords=coords) as model:
            tau = pymc_spread("spread", self.strength_scale)
            theta = pymc_strengths("strength", tau, data["information"], dims="model")
            column = (data.size("judge"), 1)
            slope = pm.Normal("slope", one, one, shape=column)
            scale = pm.HalfNormal("taste_spread", np.float64(self.taste_scale), shape=column)
            unit = scale ** data["taste_power"][:, None]
            z = pm.Normal("z_taste", np.float64(0), unit, dims=("judge", "model"))
            eye = slope * theta[None, :] + scale * twin.pymc_tastes(z / unit, data)
            votes = twin.pymc_votes(theta, data)
            effects = twin.pymc_effects(data)
            verdicts = twin.pymc_verdicts(eye, effects, data)
            if self.battle_effect:
                twin.pymc_links(votes, verdicts, data)
            if data.facts["graded"]:
                twin.pymc_scores(eye, effects, data)
        return model

    def estimates(self, posterior: xr.Dataset, data: Data, *, prob: float = 0.95) -> Estimates:
        """Human Elo, differences, and each judge's slope, tastes and effects."""
        return results.estimates(posterior, data, prob=prob, method=self.label)

    @property
    def exchangeable(self) -> tuple[str, ...]:
        """Strengths and tastes: part of the model, not prior guesses about one number."""
        return ("strength", "z_taste")

    def elo(self, posterior: xr.Dataset, data: Data) -> xr.DataArray:
        """Draws of each model's human Elo, dims ``chain, draw, model``, for ranks and for who beats whom."""
        return results.elo(posterior, data)

    def held_out(
        self, posterior: xr.Dataset, data: Data, models: Sequence[str], *, votes: PairCounts | None = None,
        seed: int = 0,
    ) -> xr.DataArray:  # fmt: skip
        """Predictive draws of the Elo that people's votes would give models they have not seen.

        See `bayesjudge.models.judge_elo.held_out.held_out`.
        """
        from bayesjudge.models.judge_elo.held_out import held_out

        given = self._votes_given_verdicts if self.battle_effect else None
        return held_out(posterior, data, models, votes=votes, given=given, seed=seed)

    def quantities(self, posterior: xr.Dataset, data: Data) -> dict[str, xr.DataArray]:
        """Draws whose sensitivity to the prior is checked: every Elo and every slope."""
        return {"elo": self.elo(posterior, data), "slope": posterior["slope"]}

    @property
    def statistics(self) -> Mapping[str, Statistic]:
        """Scores, ties and cycles of people and of each judge, the worth of being shown first, score gaps."""
        return results.STATISTICS

    def bootstrap(self, data: Data, *, replicates: int, seed: int) -> Any:
        """Resampled votes, verdicts and gaps, each within its pattern, by name."""
        return results.bootstrap(data, replicates=replicates, seed=seed)

    def simulate(self, key: Any, data: Data) -> Mapping[str, Any]:
        """One draw from the prior: parameters, votes, verdicts and gaps."""
        from bayesjudge.models.common.pattern_counts import simulate

        return simulate(self, key, data)
