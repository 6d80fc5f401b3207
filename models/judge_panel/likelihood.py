"""The density of `judge_panel` in JAX: parameters, and the logit of every label given the votes.

P(annotator a marks y) = σ(λ_a),   λ_a = μ + τ z_a,   μ ~ N(2.5, 0.7),  τ ~ HalfNormal(0.5)
    P(marks) = Σ_y P(y) Π_a P(mark_a | y)

Annotators err alike on right and wrong answers, and independently given the label: with a handful of marks on
each answer no more can be learned. σ(2.5) = .92, and 95 % of the prior for μ lies between .75 and .98. Dawid
& Skene (1979) is the same with an error rate for each label.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from numpyro import distributions as dist
from numpyro.distributions import constraints
from numpyro.util import is_prng_key

from bayesjudge.model import Data
from bayesjudge.models.common.units import Guess, Units
from bayesjudge.models.judge_panel.priors import OWN_WEIGHT
from bayesjudge.priors import InUse


def sample_sites(prior: InUse, data: Data) -> dict[str, Any]:
    """Every parameter, sampled in NumPyro."""

    def drawn(*names: str) -> dict[str, Any]:
        return {name: numpyro.sample(name, prior.numpyro(name)) for name in names}

    sites = drawn("intercept", "model_spread")
    sites["weight_mean"] = numpyro.sample("weight_mean", prior.numpyro("weight"))
    sites |= drawn("weight_spread", "model_rate_slope", "item_rate_slope")
    model, weight = (own for _, own in placed(sites, data.arrays).values())
    with numpyro.plate("system", data.size("system")):
        sites["z_model"] = numpyro.sample("z_model", dist.Normal(model.centre, model.width))
    with numpyro.plate("judge", data.size("judge")):
        sites["z_weight"] = numpyro.sample("z_weight", dist.Normal(weight.centre, weight.width))
    if OWN_WEIGHT in prior.chosen:
        sites |= drawn(OWN_WEIGHT)
        with numpyro.plate("judge", data.size("judge"), dim=-2), numpyro.plate("system", data.size("system"), dim=-1):
            sites["z_own_weight"] = numpyro.sample("z_own_weight", dist.Normal(0.0, 1.0))
    return sites


def placed(sites: Mapping[str, Any], arrays: Mapping[str, Any]) -> dict[str, tuple[Any, Units]]:
    """Means of models' levels and of votes' weights, and units of what each model and judge adds (units.py).

    Sites may have axes of draws before.
    """
    level = sites["intercept"][..., None] + sites["model_rate_slope"][..., None] * arrays["model_rate"]
    means = {"model": level, "weight": sites["weight_mean"][..., None]}
    return {
        name: (mean, Guess.kept(arrays, name).around(mean).units(sites[f"{name}_spread"][..., None]))
        for name, mean in means.items()
    }


def coefficients(sites: Mapping[str, Any], arrays: Mapping[str, Any], effect: Any = None) -> dict[str, Any]:
    """What the logit is linear in, with annotators' λ where there are several; sites may have axes of draws before.

    ``level`` (M,) is α_m + γ ℓ_m, ``effect`` (P,) what the formula or groups add, ``weight`` β_j (J,) or β_jm (M, J),
    ``slope`` δ.
    """
    at = placed(sites, arrays)
    level, weight = (mean + own.effect(sites[f"z_{name}"]) for name, (mean, own) in at.items())
    if "z_own_weight" in sites:
        own = sites["own_weight_spread"][..., None, None] * sites["z_own_weight"]
        weight = weight[..., None, :] + own.swapaxes(-1, -2)
    found = {"level": level, **({} if effect is None else {"effect": effect})}
    found |= {"weight": weight, "slope": sites["item_rate_slope"]}
    if "z_annotator" in sites:
        spread = sites["annotator_spread"][..., None]
        found["annotator_logit"] = sites["annotator_mean"][..., None] + spread * sites["z_annotator"]
    return found


def row_logits(found: Mapping[str, Any], arrays: Mapping[str, Any], rows: str) -> Any:
    """Logit of P(y = 1) of every row ``answer_...``, ``cell_...`` or ``sampled_...``, from `coefficients`."""
    kind, votes, rate = (arrays[f"{rows}_{name}"] for name in ("kind", "votes", "rate"))
    weight, level = found["weight"], found["level"][arrays["kind_system"]]
    if "effect" in found:
        level = level + arrays["kind_design"] @ found["effect"]
    by_vote = votes @ weight if weight.ndim == 1 else (votes * weight[arrays["kind_system"][kind]]).sum(-1)
    return level[kind] + by_vote + found["slope"] * rate


def numpyro_annotators(prior: InUse, annotators: int) -> Any:
    """λ of each annotator, (annotators,), sampled in NumPyro."""
    mean = numpyro.sample("annotator_mean", prior.numpyro("annotator_accuracy", logit=True))
    spread = numpyro.sample("annotator_spread", prior.numpyro("annotator_spread"))
    with numpyro.plate("annotator", annotators, dim=-1):
        return mean + spread * numpyro.sample("z_annotator", dist.Normal(0.0, 1.0))


class Marks(dist.Distribution):  # type: ignore[misc]
    """Marks of every annotator on an answer, (answers, annotators).

    logit: Logit of P(y = 1).
    given: 1 where the annotator marked the answer; other marks are 0 and carry no density.
    """

    arg_constraints: dict[str, Any] = {}  # noqa: RUF012 - the name and type NumPyro asks for
    support = constraints.independent(constraints.nonnegative_integer, 1)

    def __init__(self, logit: Any, accuracy: Any, given: Any) -> None:
        self.logit, self.accuracy, self.given = logit, accuracy, given
        super().__init__(batch_shape=jnp.shape(logit), event_shape=jnp.shape(accuracy))

    def log_prob(self, value: Any) -> Any:
        """Log of Σ_y P(y) Π_a P(mark_a | y); 0 for an answer without marks."""
        sign = (2 * value - 1) * self.given
        right, wrong = jax.nn.log_sigmoid(self.accuracy), jax.nn.log_sigmoid(-self.accuracy)
        either = (jnp.where(sign > 0, right, 0.0) + jnp.where(sign < 0, wrong, 0.0)).sum(-1)
        other = (jnp.where(sign > 0, wrong, 0.0) + jnp.where(sign < 0, right, 0.0)).sum(-1)
        return jnp.logaddexp(jax.nn.log_sigmoid(self.logit) + either, jax.nn.log_sigmoid(-self.logit) + other)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        """A true label for every answer, then marks that agree with it as often as their annotators do."""
        assert is_prng_key(key)  # noqa: S101 - the check every NumPyro distribution makes
        key_y, key_mark = jax.random.split(key)
        shape = (*sample_shape, *self.batch_shape)
        y = jax.random.bernoulli(key_y, jax.nn.sigmoid(self.logit), shape)[..., None]
        agrees = jax.random.bernoulli(key_mark, jax.nn.sigmoid(self.accuracy), (*shape, *self.event_shape))
        return jnp.where(self.given > 0, agrees == y, False).astype(jnp.int64)


def pymc_marks(prior: InUse, logit: Any, data: Data) -> Any:
    """Log probability of every answer's marks inside an open PyMC model, with the annotators' priors."""
    import pymc as pm
    import pytensor.tensor as pt

    mean = prior.pymc("annotator_mean", "annotator_accuracy", logit=True)
    spread = prior.pymc("annotator_spread", "annotator_spread")
    z = pm.Normal("z_annotator", np.float64(0), np.float64(1), dims="annotator")
    accuracy = mean + spread * z
    given, mark = data["mark_given"].astype(float), data["mark"].astype(float)
    by_label = []
    for y, log_y in ((1.0, -pt.softplus(-logit)), (0.0, -pt.softplus(logit))):
        agrees = mark if y else np.float64(1) - mark
        each = agrees * -pt.softplus(-accuracy) + (np.float64(1) - agrees) * -pt.softplus(accuracy)
        by_label.append(log_y + (given * each).sum(axis=1))
    return pt.logaddexp(*by_label)
