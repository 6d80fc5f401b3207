"""Coefficients of a design: b of common terms, u of terms that pool, in NumPyro, in PyMC and in draws.

logit = x b + Σ_g u_g,      u_g ~ N(0, s_g)

Where data hold a guess at what counts say of the effects, given b, these are sampled in its units (units.py), and else
in units of s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.models.common.units import Guess

if TYPE_CHECKING:
    import xarray as xr

    from bayesjudge.model import Data
    from bayesjudge.priors import InUse

type Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Coefficients:
    """Names of the coefficients, in the order of the columns of their design.

    Each slot is an axis too, whose labels are those of its coefficients.

    of: What they move: ``z_of`` are the effects that pool, along an axis that no slot can have the name of.
    common: The slot of each common term, whose coefficients are ``b_slot``.
    pooled: The slot of each spread, ``tau_slot``.
    level: The common slot with the prior of a probability, if there is one.
    single: The level is one number, ``mu_of``.
    """

    of: str
    common: tuple[str, ...]
    pooled: tuple[str, ...]
    level: str = ""
    single: bool = False

    @property
    def axis(self) -> str:
        """Of the effects that pool."""
        return f"{self.of}|group"

    def _site(self, slot: str) -> str:
        return f"mu_{self.of}" if self.single and slot == self.level else f"b_{slot}"

    def _sizes(self, data: Data) -> list[int]:
        return [len(data.coords[slot]) for slot in (*self.common, *self.pooled)]

    def numpyro(self, data: Data, prior: InUse) -> Any:
        """All of them, (P,), sampled in NumPyro."""
        import jax.numpy as jnp
        import numpyro
        from numpyro import distributions as dist

        found = []
        for slot in self.common:
            site, of = self._site(slot), prior.numpyro(slot, logit=slot == self.level)
            if site.startswith("mu_"):
                found.append(numpyro.sample(site, of)[None])
                continue
            with numpyro.plate(slot, len(data.coords[slot]), dim=-1):
                found.append(numpyro.sample(site, of))
        if self.pooled:
            spreads = [numpyro.sample(f"tau_{slot}", prior.numpyro(slot)) for slot in self.pooled]
            each = jnp.repeat(jnp.stack(spreads), np.array(self._sizes(data)[len(self.common) :]))
            own = self._guess(data, partial(jnp.concatenate, found), jnp.stack(spreads)).units(each)
            with numpyro.plate(self.axis, each.shape[0], dim=-1):
                found.append(own.effect(numpyro.sample(f"z_{self.of}", dist.Normal(own.centre, own.width))))
        return jnp.concatenate(found)

    def pymc(self, data: Data, prior: InUse, matrix: Array) -> Any:
        """The logit of every row of a design, inside an open PyMC model with the axes."""
        import pymc as pm
        import pytensor.tensor as pt

        found = []
        for slot in self.common:
            site = self._site(slot)
            dims = None if site.startswith("mu_") else slot
            found.append(pt.atleast_1d(prior.pymc(site, slot, logit=slot == self.level, dims=dims)))
        if self.pooled:
            spreads = pt.stack([prior.pymc(f"tau_{slot}", slot) for slot in self.pooled])
            each = pt.repeat(spreads, np.array(self._sizes(data)[len(self.common) :]))
            own = self._guess(data, partial(pt.concatenate, found), spreads).units(each)
            found.append(own.effect(pm.Normal(f"z_{self.of}", own.centre, own.width, dims=self.axis)))
        return pt.dot(matrix, pt.concatenate(found))

    def guess(self, of_rows: Guess, matrix: Array, sizes: Sequence[int]) -> dict[str, Array]:
        """What rows of a design say of its effects that pool, as arrays of data.

        of_rows: A guess at the logit of each row.
        sizes: How many columns of the design each slot has.
        """
        fixed, *terms = np.split(matrix, np.cumsum([0, *sizes])[len(self.common) : -1], axis=1)
        x = np.concatenate(terms, axis=1)
        weighed = of_rows.information[:, None] * x
        found = Guess(information=(weighed * x).sum(axis=0), pull=of_rows.pull @ x)
        # Variance that effects of another term, of spread 1, add to where the rows of an effect seem to place it.
        known = np.maximum(found.information, np.finfo(float).tiny)[:, None]
        moved = np.stack([((weighed.T @ other / known) ** 2).sum(axis=1) for other in terms], axis=1)
        term = np.repeat(np.arange(len(terms)), [other.shape[1] for other in terms])
        moved[np.arange(len(term)), term] = 0.0
        return {**found.keep(self.of), **dict(zip(self._kept, (weighed.T @ fixed, moved), strict=True))}

    @property
    def _kept(self) -> tuple[str, str]:
        """Arrays of what common coefficients take off the pull on each effect, and of how far other terms move it."""
        return f"common_{self.of}", f"moved_{self.of}"

    def _guess(self, data: Data, common: Callable[[], Any], spreads: Any) -> Guess:
        """At the effects that pool, given the common coefficients (..., C), if there are any, and spreads (..., T)."""
        kept = Guess.kept(data.arrays, self.of)
        if self._kept[0] not in data.arrays:
            return kept
        taken_off, moved = (data[name] for name in self._kept)
        grow = 1.0 + spreads**2 @ moved.T * kept.information
        return Guess(information=kept.information / grow, pull=(kept.pull - common() @ taken_off.T) / grow)

    def axes(self) -> tuple[str, ...]:
        """Those that a PyMC model needs."""
        singles = {self.level} if self.single else set[str]()
        return (*(slot for slot in self.common if slot not in singles), *([self.axis] if self.pooled else []))

    def draws(self, posterior: xr.Dataset, data: Data) -> Array:
        """Draws (D, P), those that pool in logits too."""
        parts = [np.zeros((posterior.sizes["chain"] * posterior.sizes["draw"], 0))]
        parts += [flat(posterior[self._site(slot)]) for slot in self.common]
        if self.pooled:
            spreads = np.concatenate([flat(posterior[f"tau_{slot}"]) for slot in self.pooled], axis=1)
            each = np.repeat(spreads, self._sizes(data)[len(self.common) :], axis=1)
            own = self._guess(data, partial(np.concatenate, parts, axis=1), spreads).units(each)
            parts.append(own.effect(flat(posterior[f"z_{self.of}"])))
        return np.concatenate(parts, axis=1)


def effect_facts(data: Data) -> dict[str, Any]:
    """What formulas took their columns for: the scale of numbers, gaps, and columns of too many categories."""
    scale = {name: {"mean": mean, "sd": sd} for name, mean, sd in data.facts["scale"]}
    return {"scale": scale, "missing": dict(data.facts["missing"]), "too_many": dict(data.facts["too_many"])}


def flat(draws: xr.DataArray) -> Array:
    """Draws (D, P) of one parameter, chain after chain."""
    values = draws.transpose("chain", "draw", ...).to_numpy()
    return values.reshape(values.shape[0] * values.shape[1], -1)
