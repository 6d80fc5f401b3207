"""`judge_error`: true accuracy under a judge with unknown sensitivity and specificity.

For model m, label y and verdict v of one judge (METHODS 1.8; Rogan & Gladen 1978 for the channel)::

    θ_m ~ Beta(1, 1)                              accuracy of model m
    q1_m, q0_m                                    the verdict channel, pooled over models (verdict_channel.py)
    labelled answer    P(y, v) = θ q1^v (1−q1)^(1−v)  if y = 1,   (1−θ) q0^(1−v) (1−q0)^v  if y = 0
    unlabelled answer  P(v)    = Σ_y P(y, v)

The likelihood multiplies over answers. Models answer the same items, so it is a composite likelihood, and
what is reported are its draws adjusted for shared items (METHODS 1.9b; shared_items.py): accuracies,
differences, ranks and the judge's rates are one posterior that knows how many independent items there are.
Items of one cluster (questions on one document) count as one. Several runs of the judge on an answer enter
with weight 1/K each. Where answers were chosen to be labelled with unequal probabilities π, a label counts
w ∝ 1/π times in P(y | v) and every verdict once in P(v) (METHODS 1.9a). J may be negative: the labels
identify the sign. As J → 0 nothing divides by it, and θ falls back to what the labels say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from bayesjudge.counts import VerdictCounts, count_verdicts
from bayesjudge.errors import require_choice
from bayesjudge.estimates import Estimates, Population
from bayesjudge.estimates.posterior import estimates_of
from bayesjudge.model import Data, GenerativeModel, Statistic
from bayesjudge.models.common.verdict_channel import FLAT, Labels, Pooling, channel_slots, numpyro_channel
from bayesjudge.models.judge_error import data as judge_error_data
from bayesjudge.models.judge_error import results
from bayesjudge.models.judge_error.adjustment import adjusted, describe, unadjusted
from bayesjudge.priors import Slot

if TYPE_CHECKING:
    import xarray as xr

    from bayesjudge.estimates.posterior import Quantities
    from bayesjudge.tables import Verdicts


@dataclass(frozen=True, kw_only=True)
class JudgeError(GenerativeModel):
    """Accuracy of every model from one judge with errors.

    Parameters
    ----------
    pooling : {"partial", "shared", "specific"}
        Whether the judge errs alike on all models (shared), on each in its own way (specific), or how
        alike is learned (partial, the default).
    labels : {"random", "weighted", "reweighted", "enriched"}
        Labelled answers are a random sample of the answers and inform θ (random), were drawn with the
        probabilities that the table states (weighted) or with estimated ones (reweighted), or were chosen by
        the answer's own label and nothing else, and inform sensitivity and specificity only (enriched).

    Examples
    --------
    >>> JudgeError(pooling="specific").label
    'bayes:judge_error[specific]'
    """

    pooling: Pooling = "partial"
    labels: Labels = "random"

    exchangeable = ("z_sensitivity", "z_specificity")

    def __post_init__(self) -> None:
        require_choice("pooling", self.pooling, get_args(Pooling))
        require_choice("labels", self.labels, get_args(Labels))

    @property
    def priors(self) -> Mapping[str, Slot]:
        """Of accuracies and of the verdict channel."""
        return {"accuracy": FLAT, **channel_slots(self.pooling)}

    @property
    def options(self) -> tuple[str, ...]:
        """In the label: the pooling, then whatever differs from the defaults."""
        return (self.pooling, *([] if self.labels == "random" else [self.labels]))

    @property
    def _enriched(self) -> bool:
        return self.labels == "enriched"

    def prepare(self, table: Verdicts | VerdictCounts) -> Data:
        """Sufficient statistics: answers in each cell, and pairs of cells of one item."""
        counts = table if isinstance(table, VerdictCounts) else count_verdicts(table)
        return judge_error_data.prepare(counts, labels=self.labels)

    def numpyro(self, data: Data) -> None:
        """The generative model in NumPyro."""
        import numpyro

        from bayesjudge.models.common.pattern_counts import PatternCounts
        from bayesjudge.models.judge_error.likelihood import log_cells

        dim, prior = data.facts["unit"], self.in_use(data)
        with numpyro.plate(dim, data.size(dim), dim=-1):
            theta = numpyro.sample("theta", prior.numpyro("accuracy"))
        logit_1, logit_0 = numpyro_channel(self.pooling, prior, 1, data.size(dim), dim)
        log_p = log_cells(theta, logit_1[0], logit_0[0], enriched=self._enriched).reshape(-1)
        with numpyro.plate("pattern", data.size("pattern"), dim=-1):
            counts = PatternCounts(log_p, data["stratum"], data["total"])
            numpyro.sample("n", counts, obs=data.arrays.get("n"))

    def pymc(self, data: Data) -> Any:
        """The same model in PyMC."""
        from bayesjudge.models.judge_error import pymc as twin

        return twin.build(data, self.in_use(data), pooling=self.pooling, enriched=self._enriched)

    def quantities(
        self, posterior: xr.Dataset, data: Data, *, population: Population = "superpopulation"
    ) -> Quantities:
        """Accuracies, differences and judge quality, over all items and by group."""
        rates = adjusted(posterior, data, enriched=self._enriched)
        return results.quantities(results.accuracy(rates, data, population), rates, data, population=population)

    def before_data(self, prior: xr.Dataset, data: Data, *, prob: float) -> Estimates:
        """Rows of draws from the prior, which no answer has moved."""
        blank = data.with_arrays({**data.arrays, "n": np.zeros_like(data["n"])})
        rates = unadjusted(prior, data)
        found = results.quantities(rates["theta"], rates, blank, population="superpopulation")
        return estimates_of(found, method=self.label, prob=prob)

    def accuracy(
        self, posterior: xr.Dataset, data: Data, *, population: Population = "superpopulation", seed: int = 0
    ) -> xr.DataArray:
        """Draws of each model's accuracy, dims ``chain, draw, system``, for P(best) and P(rank)."""
        rates = adjusted(posterior, data, enriched=self._enriched, seed=seed)
        return results.overall(results.accuracy(rates, data, population, seed=seed), data)

    def accuracy_if(self, posterior: xr.Dataset, data: Data, *, odds: float) -> xr.DataArray:
        """Draws of each model's accuracy if labels had been chosen, dims ``chain, draw, system``.

        Among answers with one verdict, the odds of a right one are ``odds`` times as large without a label as
        with one. Likelihood and data cannot bound it.
        """
        rates = adjusted(posterior, data, enriched=self._enriched)
        return results.overall(results.shifted(rates, data, odds=odds), data)

    @property
    def statistics(self) -> Mapping[str, Statistic]:
        """Verdict rates and labelled cells of every unit."""
        return results.STATISTICS

    def describe(self, posterior: xr.Dataset, data: Data) -> Mapping[str, Any]:
        """What shared items do to this posterior: design effects, degrees of freedom."""
        return {"shared_items": describe(posterior, data, enriched=self._enriched)}

    def replicated(self, data: Data, observed: Mapping[str, Any]) -> Data:
        """The same design with other counts, of independent answers as the model draws them."""
        return judge_error_data.replicated(data, observed)
