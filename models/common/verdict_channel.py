"""The verdict channel: how a judge turns a true label into verdicts, with its priors in two languages.

For judge j and unit m (a model, or a model within a group)::

    logit q1_jm ~ N(μ1_j, τ1_j)      sensitivity, P(verdict 1 | correct)
    logit q0_jm ~ N(μ0_j, τ0_j)      specificity, P(verdict 0 | wrong)

``μ ~ N(1.5, 1.5)``: a judge is probably better than a coin (J < 0 keeps 8 % of the prior mass, Φ(−√2)) and
may be nearly perfect on one side, as judges that compare with a reference answer are; N(1, 1) held those
down. ``τ ~ LogNormal(0, .4)``: error rates differ between models by about a logit, seldom by less than a
half or by more than two. The prior avoids 0 on purpose (Chung, Rabe-Hesketh, Dorie, Gelman & Liu 2013):
answers of one item are not independent, and evidence that counts them so draws τ to 0, which pulls a model
unlike the others to their mean. Pooling ``shared`` sets τ = 0; ``specific`` gives every unit its own
``logit q ~ N(1, 1.5)``. What a unit adds is sampled after a guess at what its labels say (units.py): of few labels
z is in units of τ, of thousands in units of what they leave open. In units of τ those were a ridge: with 9,000 labels
55 to 165 leapfrog steps a draw, and a failed gate in one fit of four.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from bayesjudge.estimates.posterior import NEARLY, differences, quantity, reached
from bayesjudge.model import Data
from bayesjudge.models.common.units import Guess
from bayesjudge.priors import InUse, Slot
from bayesjudge.priors.slot import PROBABILITY

if TYPE_CHECKING:
    import xarray as xr


#: The rates of a channel.
RATES = ("sensitivity", "specificity")

Pooling = Literal["shared", "partial", "specific"]
Labels = Literal["random", "weighted", "reweighted", "enriched"]


#: Of each model's accuracy.
FLAT = Slot("Beta(1, 1)", PROBABILITY, "flat: nothing is known of the models before their answers")


def channel_slots(pooling: Pooling) -> dict[str, Slot]:
    """Priors of the channel under a pooling."""
    if pooling == "specific":
        each = "every unit by itself: better than a coin, with room for a perfect judge"
        return {name: Slot("LogitNormal(1, 1.5)", PROBABILITY, each) for name in RATES}
    better = "probably better than a coin, with room for a judge that is nearly perfect on one side"
    slots = {name: Slot("LogitNormal(1.5, 1.5)", PROBABILITY, better) for name in RATES}
    if pooling == "partial":
        far = "models differ by about a logit, seldom by under a half or over two; avoids 0 on purpose"
        slots |= {f"{name}_spread": Slot("LogNormal(0, 0.4)", "logits", far) for name in RATES}
    return slots


def channel_guess(right: NDArray[Any], wrong: NDArray[Any]) -> dict[str, Guess]:
    """What labels say of each rate of the channel, in every unit.

    right, wrong: Labelled answers with verdict 0 and with verdict 1, (units, 2).
    """
    hits, n = (right[:, 1], wrong[:, 0]), (right.sum(1), wrong.sum(1))
    return {name: Guess.of_counts(*counts) for name, *counts in zip(RATES, hits, n, strict=True)}


def numpyro_channel(pooling: Pooling, prior: InUse, judges: int, units: int, dim: str) -> tuple[Any, Any]:
    """Logits of sensitivity and specificity, each (judges, units), sampled in NumPyro."""
    import jax.numpy as jnp
    import numpyro
    from numpyro import distributions as dist

    logits = []
    for name in RATES:
        with numpyro.plate("judge", judges, dim=-2):
            if pooling == "specific":
                with numpyro.plate(dim, units, dim=-1):
                    logit = numpyro.sample(f"logit_{name}", prior.numpyro(name, logit=True))
            else:
                logit = numpyro.sample(f"mu_{name}", prior.numpyro(name, logit=True))
            if pooling == "partial":
                tau = numpyro.sample(f"tau_{name}", prior.numpyro(f"{name}_spread"))
                own = Guess.kept(prior.arrays, name).around(logit).units(tau)
                with numpyro.plate(dim, units, dim=-1):
                    logit = logit + own.effect(numpyro.sample(f"z_{name}", dist.Normal(own.centre, own.width)))
        logits.append(jnp.broadcast_to(logit, (judges, units)))
    return logits[0], logits[1]


def pymc_channel(pooling: Pooling, prior: InUse, dim: str) -> tuple[Any, Any]:
    """The same logits inside an open PyMC model; judges and units come from its coords."""
    import pymc as pm
    import pytensor.tensor as pt

    model = pm.modelcontext(None)
    shape = tuple(len(model.coords[name]) for name in ("judge", dim))
    logits = []
    for name in RATES:
        if pooling == "specific":
            logit = prior.pymc(f"logit_{name}", name, logit=True, dims=("judge", dim))
        else:
            logit = prior.pymc(f"mu_{name}", name, logit=True, shape=(shape[0], 1))
        if pooling == "partial":
            tau = prior.pymc(f"tau_{name}", f"{name}_spread", shape=(shape[0], 1))
            own = Guess.kept(prior.arrays, name).around(logit).units(tau)
            logit = logit + own.effect(pm.Normal(f"z_{name}", own.centre, own.width, dims=("judge", dim)))
        logits.append(pt.broadcast_to(logit, shape))
    return logits[0], logits[1]


def channel_quality(posterior: xr.Dataset, data: Data, dim: str) -> dict[str, xr.DataArray]:
    """Sensitivity, specificity and Youden's J, dims ``chain, draw, judge`` and ``dim``."""
    quality = {name: expit(channel_logit(posterior, data, name, dim)) for name in RATES}
    return {**quality, "youden": quality["sensitivity"] + quality["specificity"] - 1}


def channel_logit(posterior: xr.Dataset, data: Data, name: str, dim: str) -> Any:
    """Logit of ``sensitivity`` or ``specificity`` of each unit."""
    import xarray as xr

    if f"logit_{name}" in posterior:
        return posterior[f"logit_{name}"]
    mu, units = posterior[f"mu_{name}"], list(data.coords[dim])
    if f"z_{name}" not in posterior:
        return mu * xr.DataArray(np.ones(len(units)), dims=dim, coords={dim: units})
    known = Guess.kept(data.arrays, name)
    known = Guess(
        information=xr.DataArray(np.broadcast_to(known.information, len(units)), dims=dim),
        pull=xr.DataArray(np.broadcast_to(known.pull, len(units)), dims=dim),
    )
    return mu + known.around(mu).units(posterior[f"tau_{name}"]).effect(posterior[f"z_{name}"])


def quality_quantities(
    quality: Mapping[str, xr.DataArray],
    *,
    n: Mapping[str, float],
    labels: Mapping[str, Mapping[str, tuple[float, float]]] | None = None,
    note: str = "",
) -> dict[str, xr.DataArray]:
    """Each judge's quality on each model, and ΔJ for each pair of models, with the columns of their rows."""
    says: dict[str, Any] = {"n": n, "note": note}
    found = {name: quantity(draws, **_reach((labels or {}).get(name, {})), **says) for name, draws in quality.items()}
    gaps = quantity(differences(quality["youden"], "system"), signed=True, **says)
    return {**found, "youden": quantity(quality["youden"], signed=True, headline=True, **says), "delta_youden": gaps}


def _reach(labels: Mapping[str, tuple[float, float]]) -> dict[str, Any]:
    """How far the intervals of a rate reach: to 1 where no label shows an error, to 0 where all do.

    Where no label says anything of a rate, what is known of other units ends short of both: it reaches them if it
    nearly does.
    """
    silent = [name for name, counts in labels.items() if sum(counts) < 1e-9]
    return {"reach": reached(labels) | dict.fromkeys(silent, (0.0, 1.0)), "within": dict.fromkeys(silent, NEARLY)}
