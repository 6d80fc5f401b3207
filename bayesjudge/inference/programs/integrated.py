"""A posterior whose units' own effects are integrated out, and draws of these given the rest.

Units (items) that are independent given what they share, each with an effect of its own, are summed over a lattice
of it, equal units once: log p(shared) + Σ_u copies_u log ∫ p(z, y_u | shared) dz. In coordinates
in which z is about N(0, 1) whatever the rest is (`models/common/units.py`) the trapezoidal rule converges
exponentially (Trefethen & Weideman 2014): 49 nodes are right to 2e-5 where a spread is 18 logits. What is left has a
handful of dimensions, however many units there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.distributions import biject_to

from bayesjudge.inference.programs.density import Arrays, Density, density, replay
from bayesjudge.model import Distinct, Model

#: The lattice.
REACH = 10.0
NODES = np.linspace(-REACH, REACH, 49)
STEP = float(NODES[1] - NODES[0])


@dataclass(frozen=True, eq=False, kw_only=True)
class Integrated:
    """The density of what units share, and what is needed to draw the units' effects.

    target: The density.
    on_lattice: ``(flat (d,), shifts (P,), arrays) -> (log density with its constant (), terms (nodes, P))``.
    """

    distinct: Distinct
    target: Density
    on_lattice: Callable[[Any, Any, Arrays], tuple[Any, Any]]


def lattice_size(distinct: Distinct) -> int:
    """Observations of the distinct units, each at all nodes."""
    data = distinct.data
    return data.size(data.dims[data.observed][0]) * len(NODES)


_CACHE: dict[Density, Integrated] = {}


def integrated(model: Model, distinct: Distinct) -> Integrated:
    """The density with the units' effects integrated out; its program is that of every data set of one shape."""
    whole = density(model, distinct.data)
    if whole not in _CACHE:
        _CACHE[whole] = _built(model, distinct, whole)
    return replace(_CACHE[whole], distinct=distinct)


def _built(model: Model, distinct: Distinct, whole: Density) -> Integrated:
    places = whole.unravel(np.arange(whole.size))
    left = np.setdiff1d(np.arange(whole.size), places[distinct.site])
    names = {name: np.searchsorted(left, at) for name, at in places.items() if name != distinct.site}
    run = replay(model, distinct.data)
    terms = (distinct.site, *distinct.data.observations)

    def on_lattice(flat: Any, shifts: Any, arrays: Arrays) -> tuple[Any, Any]:
        point = jnp.zeros(whole.size).at[left].set(flat)
        shared, units = whole.constrain(point, arrays), arrays["copies"].shape[0]

        def at(effects: Any) -> tuple[Any, Any]:
            """Log density of what is shared (), and of every unit with its effect (P,)."""
            trace = run(jax.random.key(0), {**shared, distinct.site: effects}, arrays)
            logs = {name: site["fn"].log_prob(site["value"]) for name, site in trace.items() if name in whole.dims}
            moved = [biject_to(trace[name]["fn"].support) for name in names]
            free = zip(moved, (point[places[name]] for name in names), (shared[name] for name in names), strict=True)
            rest = sum(logs[name].sum() for name in names) + sum(
                move.log_abs_det_jacobian(x, y).sum() for move, x, y in free
            )
            return rest, sum(logs[name].reshape(-1, units).sum(0) for name in terms)

        alone, logs = jax.vmap(lambda node: at(node + shifts), out_axes=(None, 0))(jnp.asarray(NODES))
        mass = jax.nn.logsumexp(logs, axis=0) + np.log(STEP)
        return alone + (arrays["copies"] * mass).sum(), logs

    def potential(flat: Any, arrays: Arrays) -> Any:
        return -on_lattice(flat, jnp.zeros(arrays["copies"].shape), arrays)[0]

    def unravel(flat: Any) -> dict[str, Any]:
        return {name: flat[at] for name, at in names.items()}

    target = replace(
        whole, size=len(left), potential=potential, unravel=unravel, start=np.asarray(whole.start)[left], shared=()
    )
    return Integrated(distinct=distinct, target=target, on_lattice=jax.jit(on_lattice))


def completed(
    posterior: Integrated, full: Density, drawn: tuple[Any, Any], arrays: Arrays, rng: np.random.Generator
) -> tuple[Any, float]:
    """Draws (chains, draws, d) of all unknowns, and the largest error of the integral that they show.

    The lattice of every draw and unit is shifted by a part of a step of its own: draws from its nodes are then draws
    from the density itself, and the integral over it differs from the one sampled from by the error of either.

    full: Density of all units.
    drawn: Draws of what units share, (chains, draws, d'), and their log density.
    """
    flat, lp = drawn
    distinct = posterior.distinct
    copies = np.asarray(distinct.data["copies"])
    kinds = len(copies)
    points, known = flat.reshape(-1, flat.shape[-1]), lp.reshape(-1)
    places, found, worst = full.unravel(np.arange(full.size)), np.empty((len(points), full.size)), 0.0
    for name, at in posterior.target.unravel(np.arange(posterior.target.size)).items():
        found[:, places[name].ravel()] = points[:, np.ravel(at)]
    for draw, point in enumerate(points):
        shifts = STEP * (rng.random(kinds) - 0.5)
        value, logs = posterior.on_lattice(point, shifts, arrays)
        weight = np.exp(np.asarray(logs) - np.max(logs, axis=0))
        share = np.cumsum(weight / weight.sum(axis=0), axis=0)
        lost = copies @ (weight[[0, -1]].sum(axis=0) / weight.sum(axis=0))
        worst = max(worst, abs(float(value) - known[draw]), float(lost))
        # One look-up for all units: the shares of unit kind k lie between k and k + 1.
        ladder = (np.minimum(share, 1.0).T + np.arange(kinds)[:, None]).ravel()
        place = np.searchsorted(ladder, distinct.which + rng.random(len(distinct.which)))
        chosen = np.minimum(place - distinct.which * len(NODES), len(NODES) - 1)
        found[draw, places[distinct.site]] = NODES[chosen] + shifts[distinct.which]
    return found.reshape(*flat.shape[:-1], -1), worst
