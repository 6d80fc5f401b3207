"""The verdict channel: how a judge turns a true label into verdicts, with its priors in two languages.

For judge j and unit m (a model, or a model within a group)::

    logit q1_jm = μ1_j + τ1_j z1_jm      sensitivity, P(verdict 1 | correct)
    logit q0_jm = μ0_j + τ0_j z0_jm      specificity, P(verdict 0 | wrong)

``μ ~ N(1, 1)``: a judge is probably better than a coin, and J < 0 keeps 8 % of the prior mass (Φ(−√2)).
``τ ~ HalfNormal(0.5)``: judges differ between models by fractions of a logit, seldom by more than one.
Pooling ``shared`` sets τ = 0; ``specific`` gives every unit its own ``logit q ~ N(1, 1.5)``. The non-centred
form is used because labels are few for each unit, where the centred form funnels.

Runs of a judge on one answer correlate by ``ρ ~ Uniform(0, 1)`` given the label (verdict_runs.py): LLM judges
range from coin-flips to deterministic ones, and ρ has both as its limits. Where items come in clusters,
cluster c makes the judge say 1 more often, or less often, whatever the label: ``logit P(v=1|y) + ω t_c``,
``t_c ~ N(0, 1)``, ``ω ~ HalfNormal(1)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from bayesjudge.errors import UsageError

__all__ = [
    "ChannelPrior",
    "Labels",
    "Pooling",
    "check_channel",
    "numpyro_channel",
    "numpyro_leniency",
    "numpyro_run_correlation",
    "pymc_channel",
    "pymc_leniency",
    "pymc_run_correlation",
]

Pooling = Literal["shared", "partial", "specific"]
Labels = Literal["random", "enriched"]


@dataclass(frozen=True, kw_only=True)
class ChannelPrior:
    """Hyper-parameters of the verdict channel, on the logit scale.

    Examples
    --------
    >>> ChannelPrior(spread=1.0).spread
    1.0
    """

    mean: float = 1.0
    scale: float = 1.0
    spread: float = 0.5
    specific_scale: float = 1.5

    def __post_init__(self) -> None:
        for name in ("scale", "spread", "specific_scale"):
            if not getattr(self, name) > 0:
                raise UsageError(f"{name} must be above 0, got {getattr(self, name)}")


def check_channel(pooling: str, labels: str) -> None:
    """Raise `UsageError` unless both options are among those allowed."""
    for option, value, allowed in (
        ("pooling", pooling, get_args(Pooling)),
        ("labels", labels, get_args(Labels)),
    ):
        if value not in allowed:
            raise UsageError(f"{option}={value!r} is not one of {', '.join(allowed)}")


def numpyro_channel(
    pooling: Pooling, prior: ChannelPrior, judges: int, units: int, dim: str
) -> tuple[Any, Any]:
    """Logits of sensitivity and specificity, each (judges, units), sampled in NumPyro."""
    import jax.numpy as jnp
    import numpyro
    from numpyro import distributions as dist

    logits = []
    for name in ("sensitivity", "specificity"):
        with numpyro.plate("judge", judges, dim=-2):
            if pooling == "specific":
                with numpyro.plate(dim, units, dim=-1):
                    logit = numpyro.sample(f"logit_{name}", dist.Normal(prior.mean, prior.specific_scale))
            else:
                logit = numpyro.sample(f"mu_{name}", dist.Normal(prior.mean, prior.scale))
            if pooling == "partial":
                tau = numpyro.sample(f"tau_{name}", dist.HalfNormal(prior.spread))
                with numpyro.plate(dim, units, dim=-1):
                    logit = logit + tau * numpyro.sample(f"z_{name}", dist.Normal(0.0, 1.0))
        logits.append(jnp.broadcast_to(logit, (judges, units)))
    return logits[0], logits[1]


def pymc_channel(pooling: Pooling, prior: ChannelPrior, dim: str) -> tuple[Any, Any]:
    """The same logits inside an open PyMC model; judges and units come from its coords."""
    import pymc as pm
    import pytensor.tensor as pt

    model = pm.modelcontext(None)
    shape = tuple(len(model.coords[name]) for name in ("judge", dim))
    mean, scale, spread, specific = map(
        np.float64, (prior.mean, prior.scale, prior.spread, prior.specific_scale)
    )
    logits = []
    for name in ("sensitivity", "specificity"):
        if pooling == "specific":
            logit = pm.Normal(f"logit_{name}", mean, specific, dims=("judge", dim))
        else:
            logit = pm.Normal(f"mu_{name}", mean, scale, shape=(shape[0], 1))
        if pooling == "partial":
            tau = pm.HalfNormal(f"tau_{name}", spread, shape=(shape[0], 1))
            logit = logit + tau * pm.Normal(f"z_{name}", np.float64(0), np.float64(1), dims=("judge", dim))
        logits.append(pt.broadcast_to(logit, shape))
    return logits[0], logits[1]


def numpyro_run_correlation(judges: int, most_runs: int) -> Any:
    """ρ of each judge, (judges,); 0.0 where no judge saw an answer twice."""
    import numpyro
    from numpyro import distributions as dist

    if most_runs == 1:
        return 0.0
    with numpyro.plate("judge", judges, dim=-2):
        return numpyro.sample("run_correlation", dist.Uniform(0.0, 1.0))[:, 0]


def pymc_run_correlation(most_runs: int) -> Any:
    """The same inside an open PyMC model."""
    import pymc as pm

    if most_runs == 1:
        return np.float64(0)
    shape = (len(pm.modelcontext(None).coords["judge"]), 1)
    return pm.Uniform("run_correlation", np.float64(0), np.float64(1), shape=shape)[:, 0]


def numpyro_leniency(clusters: int) -> Any:
    """Shift ω t_c of the logit of P(v=1|y) in each cluster, (clusters,); one 0 without clusters."""
    import jax.numpy as jnp
    import numpyro
    from numpyro import distributions as dist

    if not clusters:
        return jnp.zeros(1)
    spread = numpyro.sample("leniency_spread", dist.HalfNormal(1.0))
    with numpyro.plate("cluster", clusters, dim=-1):
        return spread * numpyro.sample("leniency", dist.Normal(0.0, 1.0))


def pymc_leniency(clusters: int) -> Any:
    """The same inside an open PyMC model."""
    import pymc as pm

    if not clusters:
        return np.zeros(1)
    spread = pm.HalfNormal("leniency_spread", np.float64(1))
    return spread * pm.Normal("leniency", np.float64(0), np.float64(1), dims="cluster")
