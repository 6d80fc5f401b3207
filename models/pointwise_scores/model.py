"""`pointwise_scores`: how much of a single score is the response, and how much the day it was given.

For response r scored by block b (a judge under one condition) in trial t
(METHODS 2.2; Shrout & Fleiss 1979)::

    score_rbt = μ + b_b + λ_b u_r + (u×b)_rb + τ_bt + ε_rbt
    u_r ~ N(0, σ_u)      (u×b)_rb ~ N(0, σ_b)      τ_bt ~ N(0, σ_τ,b)      ε_rbt ~ N(0, σ_ε,b)
    log λ_b ~ N(0, ½), centred: some judges use more of the scale than others; of two, σ_b = λ_b σ

Gaussian scores enter through the means of cells and the sums of squares of blocks, from which every random
effect is integrated out: the cost does not grow with trials, and hardly with responses. Ordinal scores
(``likelihood="ordinal"``) are levels of a logistic variable around ``u_r + b_b + (u×b)_rb`` in units s_b::

    P(score ≤ level k) = σ((c_k − u_r − b_b − (u×b)_rb) / s_b)

A formula of ``score`` adds to μ + b_b what columns of the responses say, and groups of responses that pool
(`common/added_terms.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from bayesjudge.counts.scores import ScoreCounts, count_scores
from bayesjudge.effects import SCORE, Formula
from bayesjudge.errors import require_choice
from bayesjudge.estimates.posterior import Quantities
from bayesjudge.model import Data, GenerativeModel, Statistic
from bayesjudge.models.common.added_terms import added_formulas, added_slots, columns_of
from bayesjudge.models.common.effect_terms import effect_facts
from bayesjudge.models.pointwise_scores import data as pointwise_scores_data
from bayesjudge.models.pointwise_scores import priors as likelihood_priors
from bayesjudge.models.pointwise_scores import results
from bayesjudge.priors import Slot
from bayesjudge.tables import Scores

if TYPE_CHECKING:
    import xarray as xr


Likelihood = Literal["gaussian", "ordinal"]


@dataclass(frozen=True, kw_only=True)
class PointwiseScores(GenerativeModel):
    """Reliability of judges that score single responses.

    Parameters
    ----------
    likelihood : {"gaussian", "ordinal"}
        Scores as numbers, or as ordered levels (at most 21) of a latent logistic variable.
    formulas : tuple of str
        At most one: ``score ~ 1 + length + (1|system)``.

    Examples
    --------
    >>> PointwiseScores(likelihood="ordinal").label
    'bayes:pointwise_scores[ordinal]'
    """

    likelihood: Likelihood = "gaussian"
    formulas: tuple[str, ...] = ()

    exchangeable = ("response_effect", "interaction", "leniency", "z_score")

    def __post_init__(self) -> None:
        require_choice("likelihood", self.likelihood, get_args(Likelihood))
        self.formula()

    def formula(self) -> Formula | None:
        """What the formula says, if there is one."""
        slots = tuple(likelihood_priors.SLOTS[self.likelihood])
        return next(iter(added_formulas(self.formulas, of=(SCORE,), slots=slots)), None)

    @property
    def columns(self) -> list[str] | None:
        """Columns of responses that counts of scores need for the formula."""
        return columns_of([formula] if (formula := self.formula()) else [])

    @property
    def priors(self) -> Mapping[str, Slot]:
        """Of scores in standard deviations of all of them, or of a latent logistic variable."""
        effect, spread = likelihood_priors.ADDED[self.likelihood]
        added = [formula] if (formula := self.formula()) else []
        return {**likelihood_priors.SLOTS[self.likelihood], **added_slots(added, {SCORE: effect}, spread)}

    @property
    def options(self) -> tuple[str, ...]:
        """In the label: the likelihood, and the formula."""
        return (self.likelihood, *([str(formula).replace(" ", "")] if (formula := self.formula()) else []))

    def prepare(self, table: Scores | ScoreCounts) -> Data:
        """Moments of cells and blocks, or counts of levels."""
        counts = table if isinstance(table, ScoreCounts) else count_scores(table, columns=self.columns)
        made, added = pointwise_scores_data, [formula] if (formula := self.formula()) else []
        return (made.ordinal_data if self.likelihood == "ordinal" else made.gaussian_data)(counts, added)

    def numpyro(self, data: Data) -> None:
        """The generative model in NumPyro."""
        from bayesjudge.models.pointwise_scores import likelihood

        moments = likelihood.ordinal if self.likelihood == "ordinal" else likelihood.gaussian
        moments(data, self.in_use(data), self.formula())

    def pymc(self, data: Data) -> Any:
        """The same model in PyMC."""
        import pymc as pm

        from bayesjudge.models.pointwise_scores import pymc as twin

        with pm.Model(coords={name: list(labels) for name, labels in data.coords.items()}) as model:
            moments = twin.ordinal if self.likelihood == "ordinal" else twin.gaussian
            moments(data, self.in_use(data), self.formula())
        return model

    def quantities(self, posterior: xr.Dataset, data: Data) -> Quantities:
        """ICC, shares of variance, and the margin of error of one score, of every judge and condition."""
        return results.quantities(posterior, data, self.formula())

    def before_data(self, prior: xr.Dataset, data: Data) -> Quantities:
        """Draws from the prior, which no scores have stretched."""
        return self.quantities(prior, self.replicated(data, {}))

    def replicated(self, data: Data, observed: Mapping[str, Any]) -> Data:
        """The same design with other scores, which are normal."""
        plain = {pointwise_scores_data.EXCESS: np.ones_like, pointwise_scores_data.JUDGES_ERROR: np.zeros_like}
        normal = {name: made(data[name]) for name, made in plain.items() if name in data.arrays}
        return data.with_arrays({**data.arrays, **normal, **observed})

    def describe(self, posterior: xr.Dataset, data: Data) -> Mapping[str, Any]:  # noqa: ARG002 what Describes calls
        """What the formula took its columns for."""
        return {"effects": effect_facts(data)} if self.formulas else {}

    @property
    def statistics(self) -> Mapping[str, Statistic]:
        """Mean scores, spreads between and within responses, agreement of judges."""
        return results.STATISTICS[self.likelihood]
