"""`judge_panel`: many judges, few human labels: the label regressed on all the votes.

For model m's answer to item i, judges j with votes v (METHODS 1.11)::

    logit P(y_im = 1) = α_m + γ ℓ_m + Σ_j β_j (v_imj − v̄_j) + δ c_i

    α_m ~ N(α_0, s_α)     α_0 ~ N(0, 1.5),  s_α ~ LogNormal(−.1, .6)
    β_j ~ N(b_0, s_b)     b_0 ~ N(1, 1),    s_b ~ HalfNormal(1)
    γ, δ ~ N(0, 1)        ℓ_m: centred logit of the mean vote on m;  c_i: centred mean vote on item i

Only labelled answers enter the likelihood. Judges err together, and a model of the votes given the label
turns whatever it leaves out of that into false confidence (see `conditional_panel`); a model of the label
given the votes need not say how judges err. v̄_j is judge j's mean vote, and a missing vote adds nothing.
A formula adds columns of the log, and groups that pool; groups of items have effects ``N(0, s_g)`` of their
own and by model (kinds.py). The likelihood multiplies over answers, though the labels of one item, or of a
cluster of items, share more than their votes say: it is a composite likelihood, and what is reported are its
draws adjusted for that (METHODS 1.9b; population.py). Where several people labelled, the label is what most of them
say, or, by option, each errs at a rate of their own and the true label is summed out (likelihood.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from bayesjudge.counts.panel import PanelVotes, panel_votes
from bayesjudge.effects import columns_named, read_formula
from bayesjudge.errors import require_choice
from bayesjudge.estimates import POPULATIONS, Population
from bayesjudge.model import Data, GenerativeModel, Statistic
from bayesjudge.models.common.effect_terms import effect_facts
from bayesjudge.models.judge_panel import data as judge_panel_data
from bayesjudge.models.judge_panel.data import Scale
from bayesjudge.models.judge_panel.kinds import coefficients_in, label_formula, slots
from bayesjudge.models.judge_panel.priors import (
    EFFECT,
    GROUP_MODEL_SPREAD,
    GROUP_SPREAD,
    OF_ANNOTATORS,
    OWN_WEIGHT,
    SLOTS,
)
from bayesjudge.priors import Slot
from bayesjudge.tables import Verdicts

if TYPE_CHECKING:
    import xarray as xr

    from bayesjudge.estimates.posterior import Quantities


Weights = Literal["shared", "specific"]
Annotators = Literal["majority", "independent"]


@dataclass(frozen=True, kw_only=True)
class JudgePanel(GenerativeModel):
    """Accuracy of every model from a panel of judges and a handful of human labels.

    Parameters
    ----------
    weights : {"shared", "specific"}
        A judge's vote means the same for every model (shared, the default), or nearly the same (specific).
    votes : {"binary", "graded"}
        Judges' verdicts, or the ranks of their graded scores (`PanelVotes.scores`).
    formulas : tuple of str
        What moves the label beyond the votes: ``("label ~ 1 + length + (1|topic)",)``. Levels of systems,
        ``1 + (1|system)``, are always there. Votes then need ``columns=``.
    annotators : {"majority", "independent"}
        Where several people labelled: the label is what most of them say (majority, the default), or a truth that
        each misses at a rate of their own, independently of the others (independent).

    Examples
    --------
    >>> JudgePanel(weights="specific").label
    'bayes:judge_panel[specific]'
    """

    weights: Weights = "shared"
    votes: Scale = "binary"
    formulas: tuple[str, ...] = ()
    annotators: Annotators = "majority"

    exchangeable = ("z_model", "z_weight", "z_own_weight", "z_label", "z_annotator")

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("weights", self.weights, get_args(Weights))
        require_choice("votes", self.votes, get_args(Scale))
        require_choice("annotators", self.annotators, get_args(Annotators))
        label_formula(self.formulas)

    @property
    def priors(self) -> Mapping[str, Slot]:
        """Of levels, of what votes are worth, of groups and of people's marks, as far as options have them."""
        without = set() if self.weights == "specific" else {OWN_WEIGHT}
        without |= set() if self.annotators == "independent" else {*OF_ANNOTATORS}
        plain = {name: slot for name, slot in SLOTS.items() if name not in without}
        return {**plain, **slots(self.formulas, EFFECT, GROUP_SPREAD, GROUP_MODEL_SPREAD)}

    @property
    def options(self) -> tuple[str, ...]:
        """In the label: whatever differs from the defaults."""
        return (*super().options, *(str(read_formula(text)).replace(" ", "") for text in self.formulas))

    def prepare(self, table: Verdicts | PanelVotes) -> Data:
        """Labelled items, and every answer (or pattern of votes) to predict."""
        votes = table if isinstance(table, PanelVotes) else panel_votes(table, columns=columns_named(self.formulas))
        votes = votes if self.annotators == "independent" else votes.majority()
        return judge_panel_data.prepare(votes, scale=self.votes, formulas=self.formulas)

    def numpyro(self, data: Data) -> None:
        """The generative model in NumPyro."""
        import numpyro
        from numpyro import distributions as dist

        from bayesjudge.models.judge_panel import likelihood

        prior = self.in_use(data)
        sites, effect = likelihood.sample_sites(prior, data), None
        if "kind_design" in data.arrays:
            effect = coefficients_in(data).numpyro(data, prior)
        found = likelihood.coefficients(sites, data.arrays, effect)
        logit = likelihood.row_logits(found, data.arrays, "answer")
        if data.facts["annotators"]:
            annotators = likelihood.numpyro_annotators(prior, data.size("annotator"))
        # Rows that count nothing (padding, or no label at all) carry no density.
        n = data["answer_n"]
        with numpyro.plate("answer", data.size("answer"), dim=-1), numpyro.handlers.scale(scale=n + (n == 0)):
            if data.facts["annotators"]:
                marks = likelihood.Marks(logit, annotators, data["mark_given"])
                event = {"event_dims": ("annotator",)}
                numpyro.sample("mark", marks, obs=data.arrays.get("mark"), infer=event)
            else:
                labels = dist.Bernoulli(logits=logit).mask(n > 0)
                numpyro.sample("label", labels, obs=data.arrays.get("label"))

    def pymc(self, data: Data) -> Any:
        """The same model in PyMC."""
        from bayesjudge.models.judge_panel import pymc as judge_panel_twin

        return judge_panel_twin.build(self.in_use(data), data)

    def quantities(self, posterior: xr.Dataset, data: Data, *, population: Population | None = None) -> Quantities:
        """Accuracies and differences on one population or (the default) on both, and judges' weights."""
        from bayesjudge.models.judge_panel import results

        return results.quantities(posterior, data, populations=[population] if population else POPULATIONS)

    def before_data(self, prior: xr.Dataset, data: Data) -> Quantities:
        """Draws from the prior, which no label has moved."""
        blank = data.with_arrays({**data.arrays, "answer_n": 0 * data["answer_n"]})
        return super().before_data(prior, blank)

    def accuracy(
        self, posterior: xr.Dataset, data: Data, *, population: Population = "superpopulation", seed: int = 0
    ) -> xr.DataArray:
        """Draws of each model's accuracy, dims ``chain, draw, system``, for P(best) and P(rank)."""
        from bayesjudge.models.judge_panel.population import accuracy_draws, adjusted

        found = adjusted(posterior, data, seed=seed)
        return accuracy_draws(found, data, population=population, seed=seed)[0]

    def agreement(self, posterior: xr.Dataset, data: Data) -> xr.DataArray:
        """Draws of how often the panel, and then each judge, agree with people; see `results.agreement`."""
        from bayesjudge.models.judge_panel import results

        return results.agreement(posterior, data)

    def answer_probabilities(
        self, posterior: xr.Dataset, data: Data, votes: PanelVotes, *, draws: int = 400, seed: int = 0
    ) -> NDArray[np.float64]:
        """Draws of the probability that each answer is right; see `results.answer_probabilities`."""
        from bayesjudge.models.judge_panel import results

        return results.answer_probabilities(posterior, data, votes, draws=draws, seed=seed)

    @property
    def statistics(self) -> Mapping[str, Statistic]:
        """Labels by model, by vote and by judge."""
        from bayesjudge.models.judge_panel import results

        return results.STATISTICS

    def describe(self, posterior: xr.Dataset, data: Data) -> Mapping[str, Any]:  # noqa: ARG002 what Describes calls
        """What the formula took its columns for."""
        return {"effects": effect_facts(data)} if self.formulas else {}
