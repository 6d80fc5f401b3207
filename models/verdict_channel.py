"""The verdict channel: how a judge turns a true label into verdicts, with its priors in two languages.

For judge j and unit m (a model, or a model within a group)::

    logit q1_jm = μ1_j + τ1_j z1_jm      sensitivity, P(verdict 1 | correct)
    logit q0_jm = μ0_j + τ0_j z0_jm      specificity, P(verdict 0 | wrong)

``μ ~ N(1, 1)``: a judge is probably better than a coin, and J < 0 keeps prior mass of a few percent.
``τ ~ HalfNormal(0.5)``: judges differ between models by fractions of a logit, seldom by more than one.
Pooling ``shared`` sets τ = 0; ``specific`` gives every unit its own ``logit q ~ N(1, 1.5)``. The non-centred
form is used because labels are few for each unit, where the centred form funnels.

K runs of a judge on one answer are Beta-binomial given the label (``BetaBinomial(K, qφ, (1−q)φ)``), written
with the correlation ``ρ = 1/(1+φ)`` of two runs. ``ρ ~ Uniform(0, 1)``: LLM judges range from coin-flips to
deterministic ones, and ρ has both as its limits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from bayesjudge.errors import UsageError

__all__ = ["ChannelPrior", "Pooling", "log_choose", "numpyro_channel", "pymc_channel"]

Pooling = Literal["shared", "partial", "specific"]


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


def check_pooling(pooling: str) -> None:
    """Raise `UsageError` unless the pooling is one of the three."""
    if pooling not in get_args(Pooling):
        raise UsageError(f"pooling={pooling!r} is not one of {', '.join(get_args(Pooling))}")


def log_choose(runs: Any, positives: Any) -> Any:
    """Log binomial coefficient: how many orders of the runs give the same count (a constant of the data)."""
    from scipy.special import gammaln

    return gammaln(runs + 1.0) - gammaln(positives + 1.0) - gammaln(runs - positives + 1.0)


def numpyro_channel(pooling: Pooling, prior: ChannelPrior, judges: int, units: int, dim: str) -> tuple[Any, Any]:
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
    mean, scale, spread, specific = map(np.float64, (prior.mean, prior.scale, prior.spread, prior.specific_scale))
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


def jax_runs_log_prob(logit: Any, rho: Any, runs: Any, positives: Any, most: int) -> Any:
    """Log Beta-binomial probability of ``positives`` in ``runs``, term by term, exact at ρ = 0 and for one run.

    The rising factorials of the Beta-binomial, each factor scaled by ρ, need no log-gamma function and
    so lose no digits as φ = (1−ρ)/ρ grows. Arguments broadcast; ``most`` is the largest number of runs.
    """
    import jax
    import jax.numpy as jnp

    if most == 1:
        return positives * jax.nn.log_sigmoid(logit) + (runs - positives) * jax.nn.log_sigmoid(-logit)
    yes, no = jax.nn.sigmoid(logit) * (1 - rho), jax.nn.sigmoid(-logit) * (1 - rho)
    total = 0.0
    for t in range(most):
        total += jnp.where(t < positives, jnp.log(yes + t * rho), 0.0)
        total += jnp.where(t < runs - positives, jnp.log(no + t * rho), 0.0)
        total -= jnp.where(t < runs, jnp.log((1 - rho) + t * rho), 0.0)
    return total


def pytensor_runs_log_prob(logit: Any, rho: Any, runs: Any, positives: Any, most: int) -> Any:
    """The same in PyTensor."""
    import pytensor.tensor as pt

    if most == 1:
        return -positives * pt.softplus(-logit) - (runs - positives) * pt.softplus(logit)
    one, zero = np.float64(1), np.float64(0)
    yes, no = pt.sigmoid(logit) * (one - rho), pt.sigmoid(-logit) * (one - rho)
    total = zero
    for t in map(np.float64, range(most)):
        total = total + pt.switch(t < positives, pt.log(yes + t * rho), zero)
        total = total + pt.switch(t < runs - positives, pt.log(no + t * rho), zero)
        total = total - pt.switch(t < runs, pt.log((one - rho) + t * rho), zero)
    return total


def gauss_hermite(nodes: int = 21) -> tuple[Any, Any]:
    """Nodes and log weights that integrate against a standard normal.

    Examples
    --------
    >>> x, log_w = gauss_hermite(21)
    >>> round(float(np.exp(log_w) @ x**4), 10)
    3.0
    """
    x, w = np.polynomial.hermite_e.hermegauss(nodes)
    return x, np.log(w) - 0.5 * math.log(2 * math.pi)
