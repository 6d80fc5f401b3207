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
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from bayesjudge.counts import VerdictCounts, count_verdicts
from bayesjudge.errors import UsageError
from bayesjudge.estimates import Estimates
from bayesjudge.model import Data, Statistic
from bayesjudge.models import judge_error_data, judge_error_results
from bayesjudge.models.verdict_channel import (
    ChannelPrior,
    Pooling,
    check_pooling,
    gauss_hermite,
    jax_runs_log_prob,
    numpyro_channel,
    pymc_channel,
    pytensor_runs_log_prob,
)

if TYPE_CHECKING:
    import xarray as xr

    from bayesjudge.tables import Verdicts

__all__ = ["JudgeError"]

Labels = Literal["random", "enriched"]


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
        stratum or verdict and inform sensitivity and specificity only (enriched).
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
        check_pooling(self.pooling)
        if self.labels not in get_args(Labels):
            raise UsageError(f"labels={self.labels!r} is not one of {', '.join(get_args(Labels))}")
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
        import jax.numpy as jnp
        import numpyro
        from numpyro import distributions as dist

        from bayesjudge.models.pattern_counts import PatternCounts

        dim, judges, units = data.facts["unit"], data.size("judge"), data.size(data.facts["unit"])
        with numpyro.plate(dim, units, dim=-1):
            theta = numpyro.sample("theta", dist.Beta(*self.accuracy_prior))
        logit_1, logit_0 = numpyro_channel(self.pooling, self.channel, judges, units, dim)
        rho = ease = spread_y = spread_v = 0.0
        u = t = jnp.zeros(1)
        with numpyro.plate("judge", judges, dim=-2):
            if data.facts["most_runs"] > 1:
                rho = numpyro.sample("run_correlation", dist.Uniform(0.0, 1.0))[:, 0]
            if self.item_effect:
                ease = numpyro.sample("ease_spread", dist.HalfNormal(1.0))[:, 0]
        if data.facts["clustered"]:
            spread_y = numpyro.sample("cluster_spread_accuracy", dist.HalfNormal(1.0))
            spread_v = numpyro.sample("cluster_spread_leniency", dist.HalfNormal(1.0))
            with numpyro.plate("cluster", data.size("cluster"), dim=-1):
                u = numpyro.sample("cluster_accuracy", dist.Normal(0.0, 1.0))
                t = numpyro.sample("cluster_leniency", dist.Normal(0.0, 1.0))

        unit, cluster = data["unit"], data["cluster"]
        logit_y = (jnp.log(theta) - jnp.log1p(-theta))[unit] + spread_y * u[cluster]
        shift = (spread_v * t)[cluster][:, None]
        nodes, log_w = gauss_hermite(21) if self.item_effect else (np.zeros(1), np.zeros(1))
        by_label = []
        for y, logit in ((1, logit_1.T[unit] + shift), (0, logit_0.T[unit] - shift)):
            logit = logit + ease * nodes[:, None, None]
            says_yes = logit if y else -logit
            runs = jax_runs_log_prob(says_yes, rho, data["runs"], data["positives"], data.facts["most_runs"])
            by_label.append(runs.sum(-1))
        log_v = [_log_mean(column, log_w, jnp) for column in by_label]
        log_y = [-jnp.logaddexp(0.0, -logit_y), -jnp.logaddexp(0.0, logit_y)]
        joint = [v + (0.0 if self.labels == "enriched" else ly) for v, ly in zip(log_v, log_y, strict=True)]
        either = jnp.logaddexp(log_v[0] + log_y[0], log_v[1] + log_y[1])
        log_p = jnp.where(data["label"] == 1, joint[0], jnp.where(data["label"] == 0, joint[1], either))
        with numpyro.plate("pattern", log_p.shape[0], dim=-1):
            numpyro.sample("n", PatternCounts(log_p + data["log_ways"], data["stratum"], data["total"]),
                           obs=data.arrays.get("n"))  # fmt: skip

    def pymc(self, data: Data) -> Any:
        """The same model in PyMC."""
        import pymc as pm
        import pytensor.tensor as pt

        dim, one = data.facts["unit"], np.float64(1)
        coords = {name: list(data.coords[name]) for name in ("judge", dim, "cluster", "pattern")}
        with pm.Model(coords=coords) as model:
            theta = pm.Beta("theta", *map(np.float64, self.accuracy_prior), dims=dim)
            logit_1, logit_0 = pymc_channel(self.pooling, self.channel, dim)
            rho = ease = np.float64(0)
            shape = (data.size("judge"), 1)
            if data.facts["most_runs"] > 1:
                rho = pm.Uniform("run_correlation", np.float64(0), one, shape=shape)[:, 0]
            if self.item_effect:
                ease = pm.HalfNormal("ease_spread", one, shape=shape)[:, 0]
            logit_y, shift = pt.log(theta / (one - theta))[data["unit"]], np.zeros((1, 1))
            if data.facts["clustered"]:
                spread_y = pm.HalfNormal("cluster_spread_accuracy", one)
                spread_v = pm.HalfNormal("cluster_spread_leniency", one)
                u = pm.Normal("cluster_accuracy", np.float64(0), one, dims="cluster")
                t = pm.Normal("cluster_leniency", np.float64(0), one, dims="cluster")
                logit_y = logit_y + spread_y * u[data["cluster"]]
                shift = (spread_v * t)[data["cluster"]][:, None]
            nodes, log_w = gauss_hermite(21) if self.item_effect else (np.zeros(1), np.zeros(1))
            log_v = []
            for y, logit in ((1, logit_1.T[data["unit"]] + shift), (0, logit_0.T[data["unit"]] - shift)):
                eased = logit[None] + ease * nodes[:, None, None]
                runs = pytensor_runs_log_prob(eased if y else -eased, rho, data["runs"].astype(float),
                                              data["positives"].astype(float), data.facts["most_runs"])  # fmt: skip
                log_v.append(pt.logsumexp(runs.sum(-1) + log_w[:, None], axis=0))
            log_y = [-pt.softplus(-logit_y), -pt.softplus(logit_y)]
            joint = [v if self.labels == "enriched" else v + ly for v, ly in zip(log_v, log_y, strict=True)]
            either = pt.logaddexp(log_v[0] + log_y[0], log_v[1] + log_y[1])
            label = data["label"]
            log_p = pt.switch(pt.eq(label, 1), joint[0], pt.switch(pt.eq(label, 0), joint[1], either))
            pm.Potential("n", data["n"].astype(float) * (log_p + data["log_ways"]), dims="pattern")
        return model

    def estimates(self, posterior: xr.Dataset, data: Data, *, prob: float = 0.95) -> Estimates:
        """Accuracies, differences and judge quality, with equal-tailed intervals."""
        return judge_error_results.estimates(posterior, data, prob=prob, method=self.label)

    @property
    def statistics(self) -> Mapping[str, Statistic]:
        """Verdict rates and labelled cells, by model."""
        return judge_error_results.STATISTICS

    def simulate(self, key: Any, data: Data) -> Mapping[str, Any]:
        """One draw from the prior, parameters and counts."""
        from bayesjudge.models.pattern_counts import simulate

        return simulate(self, key, data)


def _log_mean(log_values: Any, log_weights: Any, jnp: Any) -> Any:
    """Log of the weighted mean over quadrature nodes (first axis)."""
    from jax.scipy.special import logsumexp

    if log_values.shape[0] == 1:
        return log_values[0]
    return logsumexp(log_values + jnp.asarray(log_weights)[:, None], axis=0)
