"""The verdict channel: how a judge turns a true label into verdicts, with its priors in two languages.

For judge j and unit m (a model, or a model within a group)::

    logit q1_jm = μ1_j + τ1_j z1_jm      sensitivity, P(verdict 1 | correct)
    logit q0_jm = μ0_j + τ0_j z0_jm      specificity, P(verdict 0 | wrong)

``μ ~ N(1.5, 1.5)``: a judge is probably better than a coin (J < 0 keeps 8 % of the prior mass, Φ(−√2)) and
may be nearly perfect on one side, as judges that compare with a reference answer are; N(1, 1) held those
down. ``τ ~ LogNormal(0, .4)``: error rates differ between models by about a logit, seldom by less than a
half or by more than two. The prior avoids 0 on purpose (Chung, Rabe-Hesketh, Dorie, Gelman & Liu 2013):
answers of one item are not independent, and evidence that counts them so draws τ to 0, which pulls a model
unlike the others to their mean. Pooling ``shared`` sets τ = 0; ``specific`` gives every unit its own
``logit q ~ N(1, 1.5)``. The non-centred form is used because labels are few for each unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bayesjudge.errors import require_positive
from bayesjudge.estimates.posterior import differences, quantity

if TYPE_CHECKING:
    import xarray as xr


Pooling = Literal["shared", "partial", "specific"]
Labels = Literal["random", "weighted", "reweighted", "enriched"]


@dataclass(frozen=True, kw_only=True)
class ChannelPrior:
    """Hyper-parameters of the verdict channel, on the logit scale.

    specific_mean, specific_scale: Of every unit's own logit under ``pooling="specific"``.
    """

    mean: float = 1.5
    scale: float = 1.5
    spread: tuple[float, float] = (0.0, 0.4)
    specific_mean: float = 1.0
    specific_scale: float = 1.5

    def __post_init__(self) -> None:
        scales = {"scale": self.scale, "spread[1]": self.spread[1], "specific_scale": self.specific_scale}
        require_positive(**scales)


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
                    logit = numpyro.sample(f"logit_{name}", dist.Normal(prior.specific_mean, prior.specific_scale))
            else:
                logit = numpyro.sample(f"mu_{name}", dist.Normal(prior.mean, prior.scale))
            if pooling == "partial":
                tau = numpyro.sample(f"tau_{name}", dist.LogNormal(*prior.spread))
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
    mean, scale = np.float64(prior.mean), np.float64(prior.scale)
    specific = np.float64(prior.specific_mean), np.float64(prior.specific_scale)
    logits = []
    for name in ("sensitivity", "specificity"):
        if pooling == "specific":
            logit = pm.Normal(f"logit_{name}", *specific, dims=("judge", dim))
        else:
            logit = pm.Normal(f"mu_{name}", mean, scale, shape=(shape[0], 1))
        if pooling == "partial":
            tau = pm.LogNormal(f"tau_{name}", *map(np.float64, prior.spread), shape=(shape[0], 1))
            logit = logit + tau * pm.Normal(f"z_{name}", np.float64(0), np.float64(1), dims=("judge", dim))
        logits.append(pt.broadcast_to(logit, shape))
    return logits[0], logits[1]


def channel_quality(posterior: xr.Dataset, dim: str, names: tuple[str, ...]) -> dict[str, xr.DataArray]:
    """Sensitivity, specificity and Youden's J, dims ``chain, draw, judge`` and ``dim``."""
    logits = {name: channel_logit(posterior, name, dim, names) for name in ("sensitivity", "specificity")}
    quality = {name: 1 / (1 + np.exp(-logit)) for name, logit in logits.items()}
    return {**quality, "youden": quality["sensitivity"] + quality["specificity"] - 1}


def channel_logit(posterior: xr.Dataset, name: str, dim: str, names: tuple[str, ...]) -> Any:
    """Logit of ``sensitivity`` or ``specificity`` of each unit."""
    import xarray as xr

    if f"logit_{name}" in posterior:
        return posterior[f"logit_{name}"]
    if f"z_{name}" in posterior:
        return posterior[f"mu_{name}"] + posterior[f"tau_{name}"] * posterior[f"z_{name}"]
    return posterior[f"mu_{name}"] * xr.DataArray(np.ones(len(names)), dims=dim, coords={dim: list(names)})


def quality_quantities(
    quality: Mapping[str, xr.DataArray],
    *,
    n: Mapping[str, float],
    reach: Mapping[str, Mapping[str, tuple[float, float]]] | None = None,
    note: str = "",
) -> dict[str, xr.DataArray]:
    """Each judge's quality on each model, and ΔJ for each pair of models, with the columns of their rows."""
    says: dict[str, Any] = {"n": n, "note": note}
    found = {name: quantity(draws, reach=(reach or {}).get(name), **says) for name, draws in quality.items()}
    gaps = quantity(differences(quality["youden"], "model"), signed=True, **says)
    return {**found, "youden": quantity(quality["youden"], signed=True, headline=True, **says), "delta_youden": gaps}
