"""`pointwise_scores` in NumPyro, for scores as numbers and as levels."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpyro
from numpyro import distributions as dist

from bayesjudge.model import Data
from bayesjudge.models.common.davidson import OutcomeCounts
from bayesjudge.models.common.effect_units import Guess
from bayesjudge.models.pointwise_scores.levels import jax_lean, jax_log_levels
from bayesjudge.models.pointwise_scores.moments import CellMeans, ScaledChiSquares

__all__ = ["gaussian", "ordinal"]


def gaussian(data: Data) -> None:
    """Moments of numbers; every spread has a half-normal prior in units of the scores' own spread."""
    unit, blocks = data["scale"][0], data.size("block")
    mean = numpyro.sample("mean_score", dist.Normal(data["location"][0], 2 * unit))
    shared = numpyro.sample("response_spread", dist.HalfNormal(unit))
    trial: Any = 0.0
    own: Any = jnp.zeros(blocks)
    with numpyro.plate("block", blocks, dim=-1):
        noise = numpyro.sample("noise", dist.HalfNormal(unit))
        if blocks > 1:
            mean = mean + numpyro.sample("leniency", dist.Normal(0.0, 0.5 * unit))
            own = numpyro.sample("interaction_spread", dist.HalfNormal(0.5 * unit))
            log_scale = numpyro.sample("log_scale", dist.Normal(0.0, 0.5))
            shared = shared * jnp.exp(log_scale - log_scale.mean())
        if data.facts["trials"]:
            trial = numpyro.sample("trial_spread", dist.HalfNormal(0.25 * unit))
    with numpyro.plate("target", data.size("target"), dim=-1):
        cells = CellMeans(
            jnp.broadcast_to(mean, (blocks,)), jnp.broadcast_to(shared, (blocks,)), own, noise, data["n"]
        )
        numpyro.sample("mean", cells, obs=data.arrays.get("mean"))
    variance = jnp.stack([noise**2, noise**2 + data["complete"] * trial**2], axis=-1)
    with numpyro.plate("block", blocks, dim=-2), numpyro.plate("source", 2, dim=-1):
        squares = ScaledChiSquares(variance, data["freedom"])
        numpyro.sample("squares", squares, obs=data.arrays.get("squares"))


def ordinal(data: Data) -> None:
    """Counts of levels; the latent variable's residual is standard logistic for the mean judge."""
    spread = numpyro.sample("response_spread", dist.Gamma(2.0, 2.0 / 3.0))
    cuts = _cuts(data)
    leniency, scale, own = _judges(data)
    rough = data["share"] @ _middles(cuts)
    guess = _scored(rough + leniency, cuts, scale, data)
    units = guess.blurred(own).over(0).around(-rough).units(spread)
    with numpyro.plate("response", data.size("response"), dim=-1):
        z = numpyro.sample("response_effect", dist.Normal(units.centre, units.width))
    margin = units.effect(z) + leniency
    if data.size("block") > 1:
        units = _scored(margin, cuts, scale, data).units(own)
        with (
            numpyro.plate("block", data.size("block"), dim=-2),
            numpyro.plate("response", data.size("response"), dim=-1),
        ):
            z = numpyro.sample("interaction", dist.Normal(units.centre, units.width))
        margin = margin + units.effect(z)
    log_p = jnp.moveaxis(jax_log_levels(margin, cuts, scale), 0, -1).reshape(-1, data.size("level"))
    with numpyro.plate("cell", data.size("cell"), dim=-2), numpyro.plate("level", data.size("level"), dim=-1):
        numpyro.sample("levels", OutcomeCounts(log_p, data["total"]), obs=data.arrays.get("levels"))


def _judges(data: Data) -> tuple[Any, Any, Any]:
    """Leniency, scale of the latent variable and spread of the interaction of every block, (blocks, 1)."""
    if data.size("block") == 1:
        return jnp.zeros((1, 1)), jnp.ones((1, 1)), jnp.zeros((1, 1))
    with numpyro.plate("block", data.size("block"), dim=-1):
        leniency = numpyro.sample("leniency", dist.Normal(0.0, 1.0))
        log_scale = numpyro.sample("log_noise", dist.Normal(0.0, 0.5))
        own = numpyro.sample("interaction_spread", dist.Gamma(2.0, 2.0))
    return leniency[:, None], jnp.exp(log_scale - log_scale.mean())[:, None], own[:, None]


def _middles(cuts: Any) -> Any:
    """Where the levels lie on the latent scale, (levels,): half-way between cuts, or a unit past the last."""
    return jnp.concatenate([cuts[:1] - 1, (cuts[1:] + cuts[:-1]) / 2, cuts[-1:] + 1])


def _scored(margin: Any, cuts: Any, scale: Any, data: Data) -> Guess:
    """What the levels say of how the latent means differ from ``margin``, (blocks, responses)."""
    shape = (data.size("block"), data.size("response"), data.size("level"))
    n = jnp.moveaxis(jnp.reshape(data["seen"], shape), -1, 0)
    p, lean = jax_lean(margin, cuts, scale)
    return Guess(information=n.sum(0) * (p * lean**2).sum(0), pull=(n * lean).sum(0))


def _cuts(data: Data) -> Any:
    """Ordered cuts: their middle, and the gaps between neighbours."""
    middle = numpyro.sample("middle", dist.Normal(0.0, 3.0))
    with numpyro.plate("gap", data.size("gap"), dim=-1):
        gaps = numpyro.sample("gaps", dist.Gamma(2.0, 1.5))
    steps = jnp.concatenate([jnp.zeros(1), jnp.cumsum(gaps)])
    return middle + steps - steps.mean()
