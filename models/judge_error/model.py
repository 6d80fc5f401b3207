"""`judge_error`: true accuracy under a judge with unknown sensitivity and specificity.

For model m, judge j, label y and verdicts v (METHODS 1.8; Rogan & Gladen 1978 for the channel)::

    θ_m ~ Beta(1, 1)                              accuracy of model m
    q1_jm, q0_jm                                  the verdict channel, pooled over models (verdict_channel.py)
    labelled answer    P(y, v) = θ q1^v (1−q1)^(1−v)  if y = 1,   (1−θ) q0^(1−v) (1−q0)^v  if y = 0
    unlabelled answer  P(v)    = Σ_y P(y, v)

Runs of one judge on one answer are Beta-binomial given y. Several judges are independent given y, or
share how easy an answer is to judge (``item_effect``): ``logit q + s_j u``, ``u ~ N(0, 1)``, integrated by
Gauss–Hermite. Where items come in clusters (questions from one document), prevalence and the judge's
leniency each have a cluster effect, and θ, q1, q0 are averages over clusters. J may be negative: the
labels identify the sign. As J → 0 nothing divides by it, and θ falls back to what the labels say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.counts import VerdictCounts, count_verdicts
from bayesjudge.errors import UsageError
from bayesjudge.estimates import Estimates, Population
from bayesjudge.model import Data, Statistic
from bayesjudge.models.common.verdict_channel import (
    ChannelPrior,
    Labels,
    Pooling,
    channel_quality,
    check_channel,
    headline,
    numpyro_channel,
    numpyro_leniency,
    numpyro_run_correlation,
    pymc_channel,
    pymc_leniency,
    pymc_run_correlation,
)
from bayesjudge.models.judge_error import (
    data as judge_error_data,
)
from bayesjudge.models.judge_error import results

if TYPE_CHECKING:
    import xarray as xr

    from bayesjudge.tables import Verdicts

__all__ = ["JudgeError"]


@dataclass(frozen=True, kw_only=True)
class JudgeError:
    """Accuracy of every model from one judge or several judges with errors.

    Parameters
    ----------
    pooling : {"partial", "shared", "specific"}
        Whether the judge errs alike on all models (shared), on each in its own way (specific), or how
        alike is learned (partial, the default).
    labels : {"random", "enriched"}
        Labelled answers are a random sample of the answers and inform θ (random), or were chosen by
        the label itself, or are other items, and inform sensitivity and specificity only (enriched).
    item_effect : bool
        Judges share how easy an answer is to judge; needs two judges or more.
    channel : ChannelPrior
        Hyper-parameters of the verdict channel.
    accuracy_prior : (float, float)
        The Beta prior of each θ_m; (1, 1) is flat.

    Examples
    --------
    >>> JudgeError(pooling="specific").label
    'bayes:judge_error[specific]'
    """

    pooling: Pooling = "partial"
    labels: Labels = "random"
    item_effect: bool = False
    channel: ChannelPrior = field(default_factory=ChannelPrior)
    accuracy_prior: tuple[float, float] = (1.0, 1.0)

    def __post_init__(self) -> None:
        check_channel(self.pooling, self.labels)
        if min(self.accuracy_prior) <= 0:
            raise UsageError(f"accuracy_prior needs two numbers above 0, got {self.accuracy_prior}")

    @property
    def name(self) -> str:
        """Registered name."""
        return "judge_error"

    @property
    def label(self) -> str:
        """Method name in tables: the pooling, then whatever differs from the defaults."""
        options = [self.pooling, *(["enriched"] if self.labels == "enriched" else []),
                   *(["item_effect"] if self.item_effect else [])]  # fmt: skip
        return f"bayes:judge_error[{','.join(options)}]"

    def prepare(self, table: Verdicts | VerdictCounts) -> Data:
        """Sufficient statistics: every possible pattern of an answer and how often it was seen."""
        counts = table if isinstance(table, VerdictCounts) else count_verdicts(table)
        if self.item_effect and len(counts.judges) < 2:
            raise UsageError("item_effect=True needs two judges or more; one judge cannot show it")
        return judge_error_data.prepare(counts, labels=self.labels)

    def numpyro(self, data: Data) -> None:
        """The generative model in NumPyro."""
        import numpyro

        from bayesjudge.models.common.pattern_counts import PatternCounts
        from bayesjudge.models.judge_error.likelihood import log_pattern

        log_y, log_v = self._answers(data)
        log_p = log_pattern(log_y, log_v, data, enriched=self.labels == "enriched")
        with numpyro.plate("pattern", data.size("pattern"), dim=-1):
            seen = PatternCounts(log_p + data["log_ways"], data["stratum"], data["total"])
            numpyro.sample("n", seen, obs=data.arrays.get("n"))

    def _answers(self, data: Data) -> tuple[Any, Any]:
        """Log P(y) and log P(v | y) of each pattern, each (2, patterns), y = 0 first."""
        import numpyro
        from numpyro import distributions as dist

        from bayesjudge.models.judge_error import likelihood

        dim, judges, clusters = data.facts["unit"], data.size("judge"), data.facts["clusters"]
        with numpyro.plate(dim, data.size(dim), dim=-1):
            theta = numpyro.sample("theta", dist.Beta(*self.accuracy_prior))
        logit_1, logit_0 = numpyro_channel(self.pooling, self.channel, judges, data.size(dim), dim)
        rho = numpyro_run_correlation(judges, data.facts["most_runs"])
        ease = likelihood.numpyro_ease(judges) if self.item_effect else None
        log_y = likelihood.log_label(theta, likelihood.numpyro_accuracy_shift(clusters), data)
        log_v = likelihood.log_verdicts(
            logit_1, logit_0, data, rho=rho, ease=ease, shift=numpyro_leniency(clusters)
        )
        return log_y, log_v

    def pymc(self, data: Data) -> Any:
        """The same model in PyMC."""
        import pymc as pm

        from bayesjudge.models.judge_error import pymc as twin

        dim, judges, clusters = data.facts["unit"], data.size("judge"), data.facts["clusters"]
        coords = {name: list(data.coords[name]) for name in ("judge", dim, "cluster", "pattern")}
        with pm.Model(coords=coords) as model:
            theta = pm.Beta("theta", *map(np.float64, self.accuracy_prior), dims=dim)
            logit_1, logit_0 = pymc_channel(self.pooling, self.channel, dim)
            rho = pymc_run_correlation(data.facts["most_runs"])
            ease = twin.pymc_ease(judges) if self.item_effect else None
            log_y = twin.log_label(theta, twin.pymc_accuracy_shift(clusters), data)
            log_v = twin.log_verdicts(
                logit_1, logit_0, data, rho=rho, ease=ease, shift=pymc_leniency(clusters)
            )
            log_p = twin.log_pattern(log_y, log_v, data, enriched=self.labels == "enriched")
            pm.Potential("n", data["n"].astype(float) * (log_p + data["log_ways"]), dims="pattern")
        return model

    def estimates(
        self, posterior: xr.Dataset, data: Data, *, prob: float = 0.95,
        population: Population = "superpopulation",
    ) -> Estimates:  # fmt: skip
        """Accuracies, differences and judge quality, with equal-tailed intervals."""
        theta = self._unit_accuracy(posterior, data, population, seed=0)
        return results.estimates(theta, posterior, data, prob=prob, method=self.label, population=population)

    @property
    def exchangeable(self) -> tuple[str, ...]:
        """Effects of units and clusters: part of the model, not prior guesses about one number."""
        return ("z_sensitivity", "z_specificity", "accuracy_shift", "leniency")

    def accuracy(
        self, posterior: xr.Dataset, data: Data, *, population: Population = "superpopulation", seed: int = 0
    ) -> xr.DataArray:
        """Draws of each model's accuracy, dims ``chain, draw, model``, for P(best) and P(rank)."""
        return results.overall(self._unit_accuracy(posterior, data, population, seed), data)

    def _unit_accuracy(
        self, posterior: xr.Dataset, data: Data, population: Population, seed: int
    ) -> xr.DataArray:
        if population == "superpopulation":
            return results.unit_accuracy(posterior, data)
        return results.unit_accuracy_of_items(lambda: sum(self._answers(data)), posterior, data, seed=seed)

    def quantities(self, posterior: xr.Dataset, data: Data) -> dict[str, xr.DataArray]:
        """Draws whose sensitivity to the prior is checked: accuracies, differences, Youden's J."""
        dim = data.facts["unit"]
        youden = channel_quality(posterior, dim, data.coords[dim])["youden"]
        return headline(self.accuracy(posterior, data), youden)

    @property
    def statistics(self) -> Mapping[str, Statistic]:
        """Verdict rates, labelled cells, and how often runs and judges disagree."""
        return results.STATISTICS

    def simulate(self, key: Any, data: Data) -> Mapping[str, Any]:
        """One draw from the prior, parameters and counts."""
        from bayesjudge.models.common.pattern_counts import simulate

        return simulate(self, key, data)
