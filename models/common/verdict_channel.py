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
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import expit

from bayesjudge.estimates.posterior import differences, quantity
from bayesjudge.priors import InUse, Slot
from bayesjudge.priors.slot import PROBABILITY

if TYPE_CHECKING:
    import xarray as xr


Pooling = Literal["shared", "partial", "specific"]
Labels = Literal["random", "weighted", "reweighted", "enriched"]


#: Of each model's accuracy.
FLAT = Slot("Beta(1, 1)", PROBABILITY, "flat: nothing is known of the models before their answers")


def channel_slots(pooling: Pooling) -> dict[str, Slot]:
    """Priors of the channel under a pooling."""
    rates = ("sensitivity", "specificity")
    if pooling == "specific":
        each = "every unit by itself: better than a coin, with room for a perfect judge"
        return {name: Slot("LogitNormal(1, 1.5)", PROBABILITY, each) for name in rates}
    better = "probably better than a coin, with room for a judge that is nearly perfect on one side"
    slots = {name: Slot("LogitNormal(1.5, 1.5)", PROBABILITY, better) for name in rates}
    if pooling == "partial":
        far = "models differ by about a logit, seldom by under a half or over two; avoids 0 on purpose"
        slots |= {f"{name}_spread": Slot("LogNormal(0, 0.4)", "logits", far) for name in rates}
    return slots


def numpyro_channel(pooling: Pooling, prior: InUse, judges: int, units: int, dim: str) -> tuple[Any, Any]:
    """Logits of sensitivity and specificity, each (judges, units), sampled in NumPyro."""
    import jax.numpy as jnp
    import numpyro
    from numpyro import distributions as dist

    logits = []
    for name in ("sensitivity", "specificity"):
        with numpyro.plate("judge", judges, dim=-2):
            if pooling == "specific":
                with numpyro.plate(dim, units, dim=-1):
                    logit = numpyro.sample(f"logit_{name}", prior.numpyro(name, logit=True))
            else:
                logit = numpyro.sample(f"mu_{name}", prior.numpyro(name, logit=True))
            if pooling == "partial":
                tau = numpyro.sample(f"tau_{name}", prior.numpyro(f"{name}_spread"))
                with numpyro.plate(dim, units, dim=-1):
                    logit = logit + tau * numpyro.sample(f"z_{name}", dist.Normal(0.0, 1.0))
        logits.append(jnp.broadcast_to(logit, (judges, units)))
    return logits[0], logits[1]


def pymc_channel(pooling: Pooling, prior: InUse, dim: str) -> tuple[Any, Any]:
    """The same logits inside an open PyMC model; judges and units come from its coords."""
    import pymc as pm
    import pytensor.tensor as pt

    model = pm.modelcontext(None)
    shape = tuple(len(model.coords[name]) for name in ("judge", dim))
    logits = []
    for name in ("sensitivity", "specificity"):
        if pooling == "specific":
            logit = prior.pymc(f"logit_{name}", name, logit=True, dims=("judge", dim))
        else:
            logit = prior.pymc(f"mu_{name}", name, logit=True, shape=(shape[0], 1))
        if pooling == "partial":
            tau = prior.pymc(f"tau_{name}", f"{name}_spread", shape=(shape[0], 1))
            logit = logit + tau * pm.Normal(f"z_{name}", np.float64(0), np.float64(1), dims=("judge", dim))
        logits.append(pt.broadcast_to(logit, shape))
    return logits[0], logits[1]


def channel_quality(posterior: xr.Dataset, dim: str, names: tuple[str, ...]) -> dict[str, xr.DataArray]:
    """Sensitivity, specificity and Youden's J, dims ``chain, draw, judge`` and ``dim``."""
    logits = {name: channel_logit(posterior, name, dim, names) for name in ("sensitivity", "specificity")}
    quality = {name: expit(logit) for name, logit in logits.items()}
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
    gaps = quantity(differences(quality["youden"], "system"), signed=True, **says)
    return {**found, "youden": quantity(quality["youden"], signed=True, headline=True, **says), "delta_youden": gaps}
