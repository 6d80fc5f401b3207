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

K runs are Beta-binomial, ``BetaBinomial(K, qφ, (1−q)φ)``, written with the correlation ``ρ = 1/(1+φ)`` of two
runs: with ``x₀ = 1`` and ``x_t = 1−ρ+tρ``, the rising factorials give

    P(k of K) = C(K, k) Π_{t<k} (q(1−ρ) + tρ) Π_{t<K−k} ((1−q)(1−ρ) + tρ) / Π_{t<K} (1−ρ+tρ).

The three factors at t = 0 hold ``1−ρ`` each and are cancelled by hand, so one run is exactly Bernoulli(q),
ρ = 0 exactly binomial, and no digits are lost as φ grows, as they would be with log-gamma functions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from bayesjudge.errors import UsageError
from bayesjudge.estimates.posterior import differences, summary_rows

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "ChannelPrior",
    "Labels",
    "Pooling",
    "channel_logit",
    "channel_quality",
    "check_channel",
    "gauss_hermite",
    "headline",
    "jax_runs_log_prob",
    "log_choose",
    "logistic_normal_mean",
    "numpyro_channel",
    "numpyro_leniency",
    "numpyro_run_correlation",
    "pymc_channel",
    "pymc_leniency",
    "pymc_run_correlation",
    "pytensor_runs_log_prob",
    "quality_rows",
    "shared_spread",
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


def log_choose(runs: Any, positives: Any) -> Any:
    """Log binomial coefficient: how many orders of the runs give the same count (a constant of the data).

    Examples
    --------
    >>> round(float(np.exp(log_choose(4, 2))), 9)
    6.0
    """
    from scipy.special import gammaln

    return gammaln(runs + 1.0) - gammaln(positives + 1.0) - gammaln(runs - positives + 1.0)


def jax_runs_log_prob(logit: Any, rho: Any, runs: Any, positives: Any, most: int) -> Any:
    """Log probability of ``positives`` in ``runs`` without the binomial coefficient.

    Arguments broadcast; ``logit`` is that of one run saying 1 and ``most`` the largest number of runs.
    """
    import jax
    import jax.numpy as jnp

    negatives, yes, no = runs - positives, jax.nn.log_sigmoid(logit), jax.nn.log_sigmoid(-logit)
    if most == 1:
        return positives * yes + negatives * no
    total = jnp.where(positives > 0, yes, 0.0) + jnp.where(negatives > 0, no, 0.0)
    total += jnp.where((positives > 0) & (negatives > 0), jnp.log1p(-rho), 0.0)
    for t in range(1, most):
        total += jnp.where(t < positives, jnp.log(jnp.exp(yes) * (1 - rho) + t * rho), 0.0)
        total += jnp.where(t < negatives, jnp.log(jnp.exp(no) * (1 - rho) + t * rho), 0.0)
        total -= jnp.where(t < runs, jnp.log1p((t - 1) * rho), 0.0)
    return total


def pytensor_runs_log_prob(logit: Any, rho: Any, runs: Any, positives: Any, most: int) -> Any:
    """The same in PyTensor, for arrays of floats, with every factor of the Beta-binomial written out."""
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


def channel_quality(posterior: xr.Dataset, dim: str, names: tuple[str, ...]) -> dict[str, xr.DataArray]:
    """Sensitivity, specificity and Youden's J, dims ``chain, draw, judge`` and ``dim``.

    Where answers share effects on the judge (clusters, how easy an answer is to judge), these are the
    probabilities for an answer drawn at random, so the effects are averaged over.
    """
    logits = {name: channel_logit(posterior, name, dim, names) for name in ("sensitivity", "specificity")}
    spread = shared_spread(posterior)
    quality = {name: logistic_normal_mean(logit, spread) for name, logit in logits.items()}
    return {**quality, "youden": quality["sensitivity"] + quality["specificity"] - 1}


def headline(theta: xr.DataArray, youden: xr.DataArray) -> dict[str, xr.DataArray]:
    """Draws of what the answer rests on: every accuracy, every difference, and J of each judge."""
    found = {"accuracy": theta, "youden": youden}
    return found if theta.sizes["model"] == 1 else {**found, "difference": differences(theta, "model")}


def channel_logit(posterior: xr.Dataset, name: str, dim: str, names: tuple[str, ...]) -> Any:
    """Logit of ``sensitivity`` or ``specificity`` without effects that answers share."""
    import xarray as xr

    if f"logit_{name}" in posterior:
        return posterior[f"logit_{name}"]
    if f"z_{name}" in posterior:
        return posterior[f"mu_{name}"] + posterior[f"tau_{name}"] * posterior[f"z_{name}"]
    return posterior[f"mu_{name}"] * xr.DataArray(np.ones(len(names)), dims=dim, coords={dim: list(names)})


def shared_spread(posterior: xr.Dataset) -> Any:
    """Standard deviation of what answers share, in logits; independent normal effects add in squares."""
    parts = [posterior[name] ** 2 for name in ("leniency_spread", "ease_spread") if name in posterior]
    return np.sqrt(sum(parts[1:], parts[0])) if parts else None


def logistic_normal_mean(logit: Any, spread: Any) -> Any:
    """Mean of σ(logit + spread·u) over u ~ N(0, 1); without a spread, σ(logit).

    Examples
    --------
    >>> round(float(logistic_normal_mean(0.0, 2.0)), 12)
    0.5
    """
    if spread is None:
        return 1 / (1 + np.exp(-logit))
    nodes, log_w = gauss_hermite(21)
    return sum(
        np.exp(w) / (1 + np.exp(-(logit + spread * node))) for node, w in zip(nodes, log_w, strict=True)
    )


def quality_rows(
    quality: Mapping[str, xr.DataArray], *, method: str, prob: float, n: Mapping[str, int], group: str = ""
) -> list[dict[str, Any]]:
    """Rows of each judge's quality on each model, and of ΔJ for each pair of models (dim ``model``)."""
    rows = []
    for judge in quality["youden"]["judge"].to_numpy():
        extra = {"judge": str(judge), "group": group}
        alone = {name: draws.sel(judge=judge, drop=True) for name, draws in quality.items()}
        for name, draws in alone.items():
            rows += summary_rows(draws, estimand=name, method=method, prob=prob, n=n, extra=extra,
                                 signed=name == "youden")  # fmt: skip
        rows += summary_rows(differences(alone["youden"], "model"), estimand="delta_youden", method=method,
                             prob=prob, n=n, extra=extra, signed=True)  # fmt: skip
    return rows
