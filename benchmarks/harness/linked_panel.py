"""Posteriors of `judge_elo(battle_effect=True)` by way of the nearest normal: minutes instead of hours.

Thousands of battles a model make the likelihood of strengths, ties, effects and loadings nearly normal; what
is not normal is the hierarchy above it, which is cheap. So the likelihood is replaced by its second-order
expansion at its maximum, the hierarchy is sampled as it is, and the draws are weighted by the exact over the
expanded density (Pareto-smoothed; Vehtari et al. 2024). Weights whose k-hat passes 0.7 fail the gate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import xarray as xr
from numpyro import distributions as dist
from numpyro import handlers

from bayesjudge.inference import ManyFits, fit_many
from bayesjudge.inference.engines.starts import find_modes
from bayesjudge.inference.gate import LEAST_ESS, MOST_PARETO_K
from bayesjudge.inference.programs import accelerator
from bayesjudge.inference.programs.at_points import slopes
from bayesjudge.inference.programs.density import Density, density
from bayesjudge.inference.tree import posterior_dataset
from bayesjudge.model import Data
from bayesjudge.models.common.davidson import LOG_TIE
from bayesjudge.models.judge_elo import JudgeElo
from bayesjudge.models.judge_elo import likelihood as elo_density
from bayesjudge.models.judge_elo.likelihood import numpyro_links, numpyro_loadings

__all__ = ["OneFit", "fit_linked"]

#: Draws that are weighted, of all that were sampled.
WEIGHTED = 2000
#: Curvature given to directions that no battle tells of (a shift of all strengths), so that steps exist.
FLAT = 1e-4
#: Gradient of the log likelihood below which its maximum is found; one standard error moves it by ten.
SETTLED = 1e-3


class OneFit(NamedTuple):
    """One posterior and its data, and whether it may be read as the posterior (an empty ``gate``)."""

    posterior: xr.Dataset
    data: Data
    rhat: float
    ess: float
    gate: str
    pareto_k: float | None = None

    @property
    def figures(self) -> dict[str, Any]:
        """What is kept of it."""
        shown = {"rhat": self.rhat, "ess": self.ess, "gate": self.gate}
        return shown if self.pareto_k is None else {**shown, "pareto_k": self.pareto_k}


class _Point(NamedTuple):
    """What the likelihood depends on; flattened in this order."""

    strength: Any
    eye: Any
    loading: Any
    vote_log_tie: Any
    verdict_log_tie: Any
    effects: Any


@dataclass(frozen=True, kw_only=True)
class _NearestNormal:
    """`judge_elo` with the expansion (``normal_at``, ``normal_precision``) in place of its likelihood."""

    exact: JudgeElo

    @property
    def label(self) -> str:
        return self.exact.label

    def numpyro(self, data: Data) -> None:
        theta, eye = self.exact._strengths(data)  # its own hierarchy, not a copy
        point = _Point(
            theta, eye, jax.scipy.special.logit(numpyro_loadings(data)),
            numpyro.sample("vote_log_tie", dist.Normal(*LOG_TIE)), _verdict_ties(data),
            elo_density.numpyro_effects(data),
        )  # fmt: skip
        off = _flat(point) - data["normal_at"]
        numpyro.factor("likelihood", -0.5 * off @ data["normal_precision"] @ off)


def _verdict_ties(data: Data) -> Any:
    with numpyro.plate("verdict_judge", data.size("verdict_judge"), dim=-1):
        return numpyro.sample("verdict_log_tie", dist.Normal(*LOG_TIE))


def fit_linked(model: JudgeElo, tables: Sequence[Any], *, draws: int, tune: int, seed: int) -> list[OneFit]:
    """Fit tables of the same models and judges; ``draws`` and ``tune`` are of the hierarchy's chains."""
    accelerator.prepare()
    prepared = [model.prepare(table) for table in tables]
    longest = max(data.size("vote_pattern") for data in prepared)
    prepared = [data.padded("vote_pattern", longest) for data in prepared]
    near = _NearestNormal(exact=model)
    expanded = _expanded(prepared)
    fits = fit_many(near, expanded, draws=draws, tune=tune, seed=seed)  # type: ignore[arg-type] # no twin needed
    ratio = _log_ratio(density(model, prepared[0]), density(near, expanded[0]))  # type: ignore[arg-type] # as above
    return [_weighted(fits, k, data, ratio, seed=seed + k) for k, data in enumerate(prepared)]


def _expanded(prepared: Sequence[Data]) -> list[Data]:
    """Maximum of each likelihood and minus its second derivatives there, in data of the hierarchy alone."""
    first = prepared[0]
    blank = _blank(first)

    def minus(x: Any, arrays: Any) -> Any:
        return FLAT / 2 * (x @ x) - _log_likelihood(_shaped(x, blank), first.with_arrays(arrays))

    start, found = np.asarray(_flat(blank))[None], []
    for data in prepared:
        mode = find_modes(slopes(minus, accelerator.to_device(data.arrays)), start)
        if not mode.gradient_norm[0] < SETTLED:
            raise RuntimeError(f"no maximum of the likelihood: its gradient is {mode.gradient_norm[0]:.2g}")
        start, (covariance,) = mode.at, mode.covariance
        hierarchy = {name: data[name] for name in ("taste_power", "information")}
        kept = {**hierarchy, "normal_at": start[0], "normal_precision": np.linalg.inv(covariance)}
        dims = {"taste_power": ("judge",), "information": (), "normal_at": ("number",),
                "normal_precision": ("number", "other")}  # fmt: skip
        found.append(replace(data, arrays=kept, dims=dims, ragged=(), observed="normal_at", weights=None,
                             also_observed=()))  # fmt: skip
    return found


def _log_likelihood(point: _Point, data: Data) -> Any:
    """Of votes and joint outcomes, by the model's own functions."""
    sites = {"loading": jax.nn.sigmoid(point.loading), "vote_log_tie": point.vote_log_tie,
             "verdict_log_tie": point.verdict_log_tie, "effects": point.effects}  # fmt: skip

    def run() -> None:
        votes = elo_density.numpyro_votes(point.strength, data)
        effects = elo_density.numpyro_effects(data)
        numpyro_links(votes, elo_density.numpyro_verdict_outcomes(point.eye, effects, data), data)

    trace = handlers.trace(handlers.substitute(run, data=sites)).get_trace()
    observed = [site for site in trace.values() if site.get("is_observed")]
    return sum(site["fn"].log_prob(site["value"]).sum() for site in observed)


def _log_ratio(exact: Density, near: Density) -> Any:
    """(draws (S, d), data, expanded data) -> log of exact over expanded density, up to a constant (S,).

    Both models have the same latent sites, so one vector means the same in both.
    """

    def one(z: Any, arrays: Any, expanded: Any) -> Any:
        return near.potential(z, expanded) - exact.potential(z, arrays)

    program = jax.jit(
        lambda draws, arrays, expanded: jax.lax.map(lambda z: one(z, arrays, expanded), draws, batch_size=4)
    )
    return lambda draws, data, expanded: np.asarray(
        program(draws, accelerator.to_device(data.arrays), accelerator.to_device(expanded.arrays))
    )


def _weighted(fits: ManyFits, k: int, data: Data, ratio: Any, *, seed: int) -> OneFit:
    """Draws taken in proportion to their smoothed weights."""
    from arviz_stats.base import array_stats

    every = np.asarray(fits.flat[k])
    every = every.reshape(-1, every.shape[-1])
    chosen = every[np.linspace(0, len(every) - 1, WEIGHTED).astype(int)]
    log_weight, pareto_k = array_stats.psislw(-ratio(jnp.asarray(chosen), data, fits.data[k]))
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    picked = chosen[np.random.default_rng(seed).choice(WEIGHTED, WEIGHTED, p=weight)]
    posterior = posterior_dataset(density(fits.model, fits.data[k]), fits.data[k], picked[None])
    gate, effective = fits.gate(k), float(1 / (weight**2).sum())
    reasons = [*gate.reasons, *([f"k-hat {pareto_k:.2f}"] if not pareto_k <= MOST_PARETO_K else []),
               *([f"{effective:.0f} effective weights"] if effective < LEAST_ESS else [])]  # fmt: skip
    return OneFit(posterior, data, gate.figures["rhat"], min(gate.figures["ess"], effective),
                  "; ".join(reasons), pareto_k=float(pareto_k))  # fmt: skip


def _blank(data: Data) -> _Point:
    judges, models = data.size("judge"), data.size("model")
    return _Point(
        jnp.zeros(models), jnp.zeros((judges, models)), jnp.zeros(judges + 1), jnp.asarray(LOG_TIE[0]),
        jnp.full(judges, LOG_TIE[0]), jnp.zeros((judges, len(data.coords["effect"]))),
    )  # fmt: skip


def _flat(point: _Point) -> Any:
    return jnp.concatenate([jnp.ravel(part) for part in point])


def _shaped(x: Any, like: _Point) -> _Point:
    ends = np.cumsum([np.size(part) for part in like])[:-1]
    parts = [part.reshape(np.shape(own)) for part, own in zip(jnp.split(x, ends), like, strict=True)]
    return _Point(*parts)
