"""A posterior whose units' own effects are integrated out, and draws of these given the rest.

Units (items) that are independent given what they share, each with an effect or two of its own, are summed over a
lattice of these effects, equal units once: log p(shared) + Σ_u copies_u log ∫ p(z, y_u | shared) dz. In coordinates
in which z is about N(0, 1) whatever the rest is (`models/common/units.py`) the trapezoidal rule converges
exponentially (Trefethen & Weideman 2014): 49 nodes are right to 1e-5 where a spread is 18 logits. What is left has a
handful of dimensions, however many units there are.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from numpyro.distributions import biject_to

from bayesjudge.inference.programs.density import Arrays, Density, density, replay
from bayesjudge.model import Distinct, Model

#: Half the width of the lattice, and its nodes: of a single effect, and of each of two.
REACH, NODES = 10.0, (49, 33)


@dataclass(frozen=True, eq=False, kw_only=True)
class Integrated:
    """The density of what units share, and what is needed to draw the units' effects.

    whole: Density of all unknowns of the distinct units.
    target: That of what they share.
    on_lattice: ``(flat (d,), shifts (sites, P), arrays) -> (log density with its constant (), terms (nodes, P))``.
    """

    distinct: Distinct
    whole: Density
    target: Density
    nodes: NDArray[np.float64]
    on_lattice: Callable[[Any, Any, Arrays], tuple[Any, Any]]


def lattice_size(distinct: Distinct) -> int:
    """Observations of the distinct units, each at all nodes."""
    data, sites = distinct.data, len(distinct.sites)
    nodes: int = NODES[sites - 1] ** sites
    return data.size(data.dims[data.observed][0]) * nodes


_CACHE: dict[tuple[Any, ...], Integrated] = {}


def integrated(model: Model, distinct: Distinct) -> Integrated:
    """The density with the units' effects integrated out; its program is that of every data set of one shape."""
    whole = density(model, distinct.data)
    key = (id(whole), distinct.sites)
    if key not in _CACHE:
        _CACHE[key] = _built(model, distinct, whole)
    return replace(_CACHE[key], distinct=distinct)


def _built(model: Model, distinct: Distinct, whole: Density) -> Integrated:
    sites, places = distinct.sites, whole.unravel(np.arange(whole.size))
    left = np.setdiff1d(np.arange(whole.size), np.concatenate([places[name] for name in sites]))
    names = {name: np.searchsorted(left, at) for name, at in places.items() if name not in sites}
    axis = np.linspace(-REACH, REACH, NODES[len(sites) - 1])
    nodes = np.array(list(itertools.product(*[axis] * len(sites))))
    run = replay(model, distinct.data)
    terms = (*sites, *distinct.data.observations)

    def on_lattice(flat: Any, shifts: Any, arrays: Arrays) -> tuple[Any, Any]:
        point = jnp.zeros(whole.size).at[left].set(flat)
        shared, units = whole.constrain(point, arrays), arrays["copies"].shape[0]

        def at(effects: Any) -> tuple[Any, Any]:
            """Log density of what is shared (), and of every unit with these effects (P,)."""
            trace = run(jax.random.key(0), {**shared, **dict(zip(sites, effects, strict=True))}, arrays)
            logs = {name: site["fn"].log_prob(site["value"]) for name, site in trace.items() if name in whole.dims}
            moved = [biject_to(trace[name]["fn"].support) for name in names]
            free = zip(moved, (point[places[name]] for name in names), (shared[name] for name in names), strict=True)
            rest = sum(logs[name].sum() for name in names) + sum(
                move.log_abs_det_jacobian(x, y).sum() for move, x, y in free
            )
            return rest, sum(logs[name].reshape(-1, units).sum(0) for name in terms)

        alone, logs = jax.vmap(lambda node: at(node[:, None] + shifts), out_axes=(None, 0))(jnp.asarray(nodes))
        mass = jax.nn.logsumexp(logs, axis=0) + len(sites) * np.log(axis[1] - axis[0])
        return alone + (arrays["copies"] * mass).sum(), logs

    def potential(flat: Any, arrays: Arrays) -> Any:
        return -on_lattice(flat, jnp.zeros((len(sites), 1)), arrays)[0]

    def unravel(flat: Any) -> dict[str, Any]:
        return {name: flat[at] for name, at in names.items()}

    target = replace(
        whole, size=len(left), potential=potential, unravel=unravel, start=np.asarray(whole.start)[left], shared=()
    )
    return Integrated(distinct=distinct, whole=whole, target=target, nodes=nodes, on_lattice=jax.jit(on_lattice))


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
    nodes, distinct = posterior.nodes, posterior.distinct
    copies, sites = np.asarray(distinct.data["copies"]), distinct.sites
    kinds = len(copies)
    step = nodes[1, -1] - nodes[0, -1]
    edge = (abs(nodes) == REACH).any(axis=1)
    points, known = flat.reshape(-1, flat.shape[-1]), lp.reshape(-1)
    effects, worst = np.empty((len(points), len(sites), len(distinct.which))), 0.0
    for draw, point in enumerate(points):
        shifts = step * (rng.random((len(sites), kinds)) - 0.5)
        value, logs = posterior.on_lattice(point, shifts, arrays)
        weight = np.exp(np.asarray(logs) - np.max(logs, axis=0))
        share = np.cumsum(weight / weight.sum(axis=0), axis=0)
        lost = copies @ (weight[edge].sum(axis=0) / weight.sum(axis=0))
        worst = max(worst, abs(float(value) - known[draw]), float(lost))
        # One look-up for all units: the shares of unit kind k lie between k and k + 1.
        ladder = (np.minimum(share, 1.0).T + np.arange(kinds)[:, None]).ravel()
        place = np.searchsorted(ladder, distinct.which + rng.random(len(distinct.which)))
        chosen = np.minimum(place - distinct.which * len(nodes), len(nodes) - 1)
        effects[draw] = nodes[chosen].T + shifts[:, distinct.which]
    places = full.unravel(np.arange(full.size))
    found = np.empty((len(points), full.size))
    for name, at in posterior.target.unravel(np.arange(posterior.target.size)).items():
        found[:, places[name].ravel()] = points[:, np.ravel(at)]
    for k, name in enumerate(sites):
        found[:, places[name]] = effects[:, k]
    return found.reshape(*flat.shape[:-1], -1), worst
